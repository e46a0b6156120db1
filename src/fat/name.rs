//! Long names: what may stand in one, when a name needs none, and which two names are the same.
//! Knows nothing of what to do with a bad name.

use thiserror::Error;
use unicode_normalization::UnicodeNormalization;

use super::short::{ShortName, is_legal_short_byte};

/// UTF-16 units that one part of a long name holds.
pub const UNITS_PER_PART: usize = 13;

/// UTF-16 units of the longest name.
pub const MAX_UNITS: usize = 255;

/// Bit of `DIR_NTRes` that shows the base in small letters.
const BASE_IN_SMALL_LETTERS: u8 = 0x08;
/// Bit of `DIR_NTRes` that shows the extension in small letters.
const EXTENSION_IN_SMALL_LETTERS: u8 = 0x10;

/// Why FAT cannot hold a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NameFault {
    /// Nothing but dots.
    #[error("name consists of dots only")]
    OnlyDots,
    /// Windows and Linux drop it when they look the name up.
    #[error("name ends with a dot, which readers of FAT drop")]
    TrailingDot,
    /// Windows drops it when it looks the name up.
    #[error("name ends with a blank, which readers of FAT drop")]
    TrailingBlank,
    /// One of `" * / : < > ? \ |` or a control character.
    #[error("name holds {0:?}, which FAT forbids")]
    Forbidden(char),
    /// U+FFFF pads long names.
    #[error("name holds U+FFFF, with which FAT pads names")]
    PaddingUnit,
    /// More than 255 units.
    #[error("name is {0} UTF-16 units long; FAT holds at most 255")]
    TooLong(usize),
}

/// How a name that fits 8.3 apart from its case can be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainName {
    /// Its letters made capital.
    pub short: ShortName,
    /// The bits that show it as written; `None` for a part that mixes cases, which takes a long
    /// name.
    pub case_bits: Option<u8>,
}

/// What is wrong with `name` as a long name, if anything.
///
/// # Errors
/// The first fault found.
pub fn check(name: &str) -> Result<(), NameFault> {
    if name.bytes().all(|byte| byte == b'.') {
        return Err(NameFault::OnlyDots);
    }
    match name.chars().find(|character| is_forbidden(*character) || *character == '\u{FFFF}') {
        Some('\u{FFFF}') => return Err(NameFault::PaddingUnit),
        Some(bad) => return Err(NameFault::Forbidden(bad)),
        None => {}
    }
    if name.ends_with('.') {
        return Err(NameFault::TrailingDot);
    }
    if name.ends_with(' ') {
        return Err(NameFault::TrailingBlank);
    }
    match units(name) {
        ..=MAX_UNITS => Ok(()),
        length => Err(NameFault::TooLong(length)),
    }
}

/// Whether no long name may hold `character`.
pub fn is_forbidden(character: char) -> bool {
    matches!(character, ..' ' | '"' | '*' | '/' | ':' | '<' | '>' | '?' | '\\' | '|')
}

/// UTF-16 units of `name`.
pub fn units(name: &str) -> usize {
    if name.is_ascii() { name.len() } else { name.chars().map(char::len_utf16).sum() }
}

/// Records that the long form of `name` takes beside the short one.
pub fn long_parts(name: &str) -> usize {
    units(name).div_ceil(UNITS_PER_PART)
}

/// `name` as a short name, if it is one but for the case of its letters.
pub fn plain(name: &str) -> Option<PlainName> {
    // Most names that are none are seen at once.
    if name.len() > 8 + 1 + 3 {
        return None;
    }
    let (base, extension) = match name.split_once('.') {
        Some((_, "")) => return None,
        Some((base, extension)) => (base, extension),
        None => (name, ""),
    };
    let legal = |part: &str| part.bytes().all(|b| is_legal_short_byte(b.to_ascii_uppercase()));
    if !(1..=8).contains(&base.len()) || extension.len() > 3 || !legal(base) || !legal(extension) {
        return None;
    }
    let case_bits = small_letters(base).zip(small_letters(extension)).map(|(base, extension)| {
        let base = if base { BASE_IN_SMALL_LETTERS } else { 0 };
        let extension = if extension { EXTENSION_IN_SMALL_LETTERS } else { 0 };
        base | extension
    });
    Some(PlainName { short: ShortName::from_parts(base, extension), case_bits })
}

/// Whether a part has small letters; `None` if it mixes them with capital ones.
fn small_letters(part: &str) -> Option<bool> {
    let small = part.bytes().any(|byte| byte.is_ascii_lowercase());
    let capital = part.bytes().any(|byte| byte.is_ascii_uppercase());
    (!(small && capital)).then_some(small)
}

/// Two names in one directory whose keys are equal are one name to some reader: Windows and
/// Linux ignore case, macOS ignores normalisation too.
///
/// Letters are mapped one to one, so ß and SS stay apart. Stricter than any single reader: it
/// joins ı with I and the Kelvin sign with K.
pub fn clash_key(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // Decomposed first: some letters with a mark have a single character in one case only.
    name.nfd().map(fold).nfc().collect()
}

fn fold(character: char) -> char {
    // A mark whose capital is a letter of its own; it would join two names that no reader joins.
    if character == '\u{345}' {
        return character;
    }
    let mut capital = character.to_uppercase();
    let capital = match (capital.next(), capital.next()) {
        (Some(single), None) => single,
        _ => character,
    };
    let mut small = capital.to_lowercase();
    match (small.next(), small.next()) {
        (Some(single), None) => single,
        _ => capital,
    }
}

/// Whether Windows takes `name`, whatever its extension, for a device.
pub fn is_device(name: &str) -> bool {
    let base = name.split('.').next().unwrap_or_default().trim_end_matches(' ');
    let base = base.to_ascii_uppercase();
    let numbered = |prefix| {
        base.strip_prefix(prefix).is_some_and(|rest| {
            matches!(rest, "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
        })
    };
    matches!(base.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" | "CLOCK$")
        || numbered("COM")
        || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_fat_cannot_hold_are_told_with_the_rule() {
        let a256 = "a".repeat(256);
        let smileys = "😀".repeat(128);
        for (name, fault) in [
            ("trail.txt ", NameFault::TrailingBlank),
            ("trail.", NameFault::TrailingDot),
            ("...", NameFault::OnlyDots),
            ("", NameFault::OnlyDots),
            ("a:b", NameFault::Forbidden(':')),
            ("a\\b", NameFault::Forbidden('\\')),
            ("tab\there", NameFault::Forbidden('\t')),
            ("x\u{FFFF}", NameFault::PaddingUnit),
            (&a256, NameFault::TooLong(256)),
            (&smileys, NameFault::TooLong(256)),
        ] {
            assert_eq!(check(name), Err(fault), "{name:?}");
        }
        for name in ["a+b.txt", " lead", "..foo", "ab\u{7F}", "日本語", &"a".repeat(255)] {
            assert_eq!(check(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn keys_ignore_case_and_normalisation_and_nothing_else() {
        for (one, other) in [
            ("readme.txt", "README.TXT"),
            ("\u{E9}", "e\u{301}"),
            ("Übung", "übung"),
            ("ЖУК", "жук"),
            ("I\u{307}x", "i\u{307}x"),
            ("J\u{30C}", "\u{1F0}"),
        ] {
            assert_eq!(clash_key(one), clash_key(other), "{one} {other}");
        }
        for (one, other) in [("Straße", "STRASSE"), ("a", "b"), ("\u{FF21}", "A")] {
            assert_ne!(clash_key(one), clash_key(other), "{one} {other}");
        }
    }

    /// Whatever a reader joins by mapping single characters, composed or not, the key joins.
    #[test]
    fn no_pair_of_single_characters_that_differ_in_case_has_two_keys() {
        for character in '\u{80}'..=char::MAX {
            let alone = character.to_string();
            let folded: String = std::iter::once(fold(character)).collect();
            assert_eq!(clash_key(&alone), clash_key(&folded), "{character:?}");
            let composed: String = alone.nfc().map(fold).collect();
            assert_eq!(clash_key(&alone), clash_key(&composed), "{character:?}");
        }
    }

    #[test]
    fn windows_devices_are_known_with_any_extension() {
        for name in ["con", "CON.txt", "nul.tar.gz", "Com1", "lpt9.x", "COM²", "aux ", "CLOCK$"] {
            assert!(is_device(name), "{name}");
        }
        for name in ["console", "com0", "com10", "lpt", "nul_", ".con"] {
            assert!(!is_device(name), "{name}");
        }
    }
}
