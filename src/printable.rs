//! File names as text for one line of a terminal. Knows no meaning of the name.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

/// `path` with control characters and bytes that are no UTF-8 escaped, so that a hostile name can
/// neither break a line nor move the cursor.
pub fn path(path: &Path) -> String {
    os_str(path.as_os_str())
}

/// The same for one name or argument.
pub fn os_str(name: &OsStr) -> String {
    bytes(name.as_encoded_bytes())
}

/// The same for bytes that are UTF-8 for the most part.
pub fn bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_would_break_the_line_is_escaped() {
        assert_eq!(super::bytes("Größe 日.txt".as_bytes()), "Größe 日.txt");
        assert_eq!(super::bytes(b"a\nb\x1b[2J"), "a\\nb\\u{1b}[2J");
        assert_eq!(super::bytes(b"latin-\xE9-name"), "latin-\\xe9-name");
    }
}
