//! Words as they are typed to a POSIX shell. Knows no flag.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::printable;

/// `words` as one line to paste: a shell makes the same words of it.
pub(super) fn line<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> String {
    words.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

fn word(word: &OsStr) -> String {
    let shown = printable::os_str(word);
    if shown.as_bytes() != word.as_bytes() {
        in_octal(word.as_bytes())
    } else if is_plain(&shown) {
        shown
    } else {
        format!("'{}'", shown.replace('\'', r"'\''"))
    }
}

/// No shell reads anything else into it. A first `=` is a command's path to zsh.
fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=,+@%".contains(c);
    !word.is_empty() && !word.starts_with('=') && word.chars().all(plain)
}

/// What cannot be shown on a terminal, in the quotes that name bytes by number.
fn in_octal(bytes: &[u8]) -> String {
    let inside: String = bytes
        .iter()
        .map(|&byte| match byte {
            b'\'' | b'\\' => format!("\\{}", char::from(byte)),
            b' '..=b'~' => char::from(byte).to_string(),
            _ => format!("\\{byte:03o}"),
        })
        .collect();
    format!("$'{inside}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_more_into_them() {
        for (word, typed) in [
            (&b"out.img"[..], "out.img"),
            (b"--size=5G", "--size=5G"),
            (b"vmlinuz:/boot/", "vmlinuz:/boot/"),
            ("Größe".as_bytes(), "Größe"),
            (b"", "''"),
            (b"my files", "'my files'"),
            (b"it's", r"'it'\''s'"),
            (b"$HOME", "'$HOME'"),
            (b"~root", "'~root'"),
            (b"=ls", "'=ls'"),
            (b"a*", "'a*'"),
            (b"back\\slash", r"'back\slash'"),
            (b"two\nlines", r"$'two\012lines'"),
            (b"it's\x1b[2J", r"$'it\'s\033[2J'"),
            (b"latin-\xE9", r"$'latin-\351'"),
            ("turn\u{202E}ed".as_bytes(), r"$'turn\342\200\256ed'"),
        ] {
            assert_eq!(super::word(OsStr::from_bytes(word)), typed);
        }
    }
}
