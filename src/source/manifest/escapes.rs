//! Names as mtree writes them, in the encoding of BSD's `vis`, as plain bytes. Knows no lines.

use super::fault::ManifestFault;

/// The bytes that `word` stands for.
///
/// # Errors
/// When a backslash begins no escape, or one stands for NUL.
pub(super) fn decode(word: &[u8]) -> Result<Vec<u8>, ManifestFault> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        if *first != b'\\' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let Some((byte, length)) = escape(after) else {
            // The backslash and what is seen of the reason.
            return Err(ManifestFault::Escape(rest[..rest.len().min(2)].to_vec()));
        };
        bytes.extend(byte);
        rest = &after[length..];
    }
    match bytes.contains(&0) {
        true => Err(ManifestFault::EscapedNul),
        false => Ok(bytes),
    }
}

/// What follows a backslash: the byte that it stands for, none for a marker, and its length.
fn escape(text: &[u8]) -> Option<(Option<u8>, usize)> {
    let plain = |byte| Some((Some(byte), 1));
    match *text {
        [b'0'..=b'7', ..] => {
            let digits = text.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte));
            let (number, length) = digits
                .fold((0, 0), |(n, length), digit| (n * 8 + u32::from(digit - b'0'), length + 1));
            Some((Some(u8::try_from(number).ok()?), length))
        }
        [b'x', first, ..] => {
            let high = hex(first)?;
            match text.get(2).and_then(|second| hex(*second)) {
                Some(low) => Some((Some(high << 4 | low), 3)),
                None => Some((Some(high), 2)),
            }
        }
        [b'M', b'-', byte, ..] => Some((Some(0x80 | byte), 3)),
        [b'M', b'^', byte, ..] => Some((Some(0x80 | control(byte)), 3)),
        [b'^', byte, ..] => Some((Some(control(byte)), 2)),
        [b'a', ..] => plain(0x07),
        [b'b', ..] => plain(0x08),
        [b't', ..] => plain(b'\t'),
        [b'n', ..] => plain(b'\n'),
        [b'v', ..] => plain(0x0B),
        [b'f', ..] => plain(0x0C),
        [b'r', ..] => plain(b'\r'),
        [b'E', ..] => plain(0x1B),
        [b's', ..] => plain(b' '),
        // A mark that stands for nothing.
        [b'$', ..] => Some((None, 1)),
        [b'^', ..] => None,
        [byte, ..] if byte.is_ascii_punctuation() => plain(byte),
        _ => None,
    }
}

fn hex(digit: u8) -> Option<u8> {
    // A digit of 16 is less than 256.
    char::from(digit).to_digit(16).map(|digit| digit as u8)
}

/// Control and this character: `^?` is DEL.
fn control(byte: u8) -> u8 {
    if byte == b'?' { 0x7F } else { byte & 0x1F }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_escape_of_vis_is_read() {
        for (word, bytes) in [
            (&br"plain"[..], &b"plain"[..]),
            (br"a\040b", b"a b"),
            (br"\0407", b" 7"),
            (br"\43\1x", b"#\x01x"),
            (br"gr\303\266\303\237e", "größe".as_bytes()),
            (br"\s\#\\\=\-\.", br" #\=-."),
            (br"\a\b\t\n\v\f\r\E", b"\x07\x08\t\n\x0B\x0C\r\x1B"),
            (br"\x41\x4a\x7\xag", b"AJ\x07\x0Ag"),
            (br"\^A\^?\^[", b"\x01\x7F\x1B"),
            (br"\M-a\M^A\M^?", b"\xE1\x81\xFF"),
            (br"a\$b", b"ab"),
            (b"\xFF\\377", b"\xFF\xFF"),
        ] {
            assert_eq!(decode(word).as_deref(), Ok(bytes), "{}", word.escape_ascii());
        }
    }

    #[test]
    fn what_is_no_escape_is_refused() {
        for (word, told) in [
            (&br"a\q"[..], &br"\q"[..]),
            (br"a\9", br"\9"),
            (br"a\", br"\"),
            (br"\400", br"\4"),
            (br"\xg", br"\x"),
            (br"\x", br"\x"),
            (br"\M", br"\M"),
            (br"\M-", br"\M"),
            (br"\Mx", br"\M"),
            (br"\^", br"\^"),
            (b"\\\xC3\xA4", b"\\\xC3"),
        ] {
            assert_eq!(
                decode(word),
                Err(ManifestFault::Escape(told.to_vec())),
                "{}",
                word.escape_ascii()
            );
        }
        for word in [&br"a\0"[..], br"\000b", br"\^@", br"\x00"] {
            assert_eq!(decode(word), Err(ManifestFault::EscapedNul), "{}", word.escape_ascii());
        }
    }
}
