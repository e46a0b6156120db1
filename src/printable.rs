//! Names and errors of the system as text for one line of a terminal. Knows no meaning of either.

use std::ffi::OsStr;
use std::fmt::Write;
use std::io;
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
            if character.is_control() || breaks_lines(character) {
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

/// Line and paragraph separators, and marks that turn the direction of the text around them.
fn breaks_lines(character: char) -> bool {
    matches!(character, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// What the system said, without the number that its text carries already.
pub fn error(error: &io::Error) -> String {
    // Libraries add paths of files that nobody has heard of.
    let wrapped = error.get_ref().and_then(|outer| outer.source());
    if let Some(inner) = wrapped.and_then(|inner| inner.downcast_ref()) {
        return self::error(inner);
    }
    let text = match error.raw_os_error() {
        Some(_) => error.to_string(),
        None => match error.kind() {
            io::ErrorKind::Other => error.to_string(),
            // The library's own words for it are "entity not found".
            io::ErrorKind::NotFound => "no such file or directory".to_owned(),
            kind => io::Error::from(kind).to_string(),
        },
    };
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_lowercase().chain(characters).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn errors_of_the_system_are_plain_words() {
        let error = std::io::Error::from_raw_os_error(2);
        assert_eq!(super::error(&error), "no such file or directory");
    }

    #[test]
    fn of_an_error_that_a_library_wraps_the_cause_is_told() {
        let missing = tempfile::tempfile_in("/none of ours").unwrap_err();
        assert_eq!(super::error(&missing), "no such file or directory");
        #[derive(Debug, thiserror::Error)]
        #[error("at a place that nobody has heard of")]
        struct AtPlace(#[source] std::io::Error);
        let wrapped = std::io::Error::other(AtPlace(std::io::Error::from_raw_os_error(5)));
        assert_eq!(super::error(&wrapped), "input/output error");
    }

    #[test]
    fn what_would_break_the_line_is_escaped() {
        assert_eq!(super::bytes("Größe 日.txt".as_bytes()), "Größe 日.txt");
        assert_eq!(super::bytes(b"a\nb\x1b[2J"), "a\\nb\\u{1b}[2J");
        assert_eq!(super::bytes(b"latin-\xE9-name"), "latin-\\xe9-name");
    }
}
