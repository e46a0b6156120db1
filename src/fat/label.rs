//! The volume label: what may stand in it. Knows not where it is stored.

use thiserror::Error;

/// Bytes of a label, blank-padded.
pub const LABEL_BYTES: usize = 11;

/// A legal volume label: upper case, one to eleven ASCII characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label([u8; LABEL_BYTES]);

/// Why a text is no volume label.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LabelFault {
    /// Nothing but blanks.
    #[error("is empty; leave the label out for a volume without one")]
    Empty,
    /// The text that stands for "no label" in a boot sector.
    #[error("stands for \"no label\"; leave the label out for a volume without one")]
    NoName,
    /// More than eleven bytes.
    #[error("is {length} bytes long; a label has at most 11")]
    TooLong {
        /// Bytes of the text.
        length: usize,
    },
    /// Readers drop it.
    #[error("begins with a blank, which readers drop")]
    LeadingBlank,
    /// Not a character of a label.
    #[error(
        "holds {character:?}; a label takes ASCII letters, digits, blanks and $ % ' - _ @ ~ ` ! ( ) {{ }} ^ # &"
    )]
    Forbidden {
        /// The first such character.
        character: char,
    },
}

impl Label {
    /// Takes `text` as a label, small letters made capital: most readers show and match no other.
    ///
    /// # Errors
    /// Anything that the format forbids, or that readers would not show as written.
    pub fn new(text: &str) -> Result<Self, LabelFault> {
        let forbidden = |c: &char| !c.is_ascii() || c.is_ascii_control() || FORBIDDEN.contains(*c);
        if text.trim_end_matches(' ').is_empty() {
            return Err(LabelFault::Empty);
        }
        if let Some(character) = text.chars().find(forbidden) {
            return Err(LabelFault::Forbidden { character });
        }
        if text.len() > LABEL_BYTES {
            return Err(LabelFault::TooLong { length: text.len() });
        }
        if text.starts_with(' ') {
            return Err(LabelFault::LeadingBlank);
        }
        let mut bytes = [b' '; LABEL_BYTES];
        for (to, from) in bytes.iter_mut().zip(text.bytes()) {
            *to = from.to_ascii_uppercase();
        }
        if bytes == *b"NO NAME    " {
            return Err(LabelFault::NoName);
        }
        Ok(Self(bytes))
    }

    /// As stored, blank-padded.
    pub fn bytes(&self) -> [u8; LABEL_BYTES] {
        self.0
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(String::from_utf8_lossy(&self.0).trim_end())
    }
}

/// Characters that the specification forbids in short names but for the blank.
const FORBIDDEN: &str = "\"*+,./:;<=>?[\\]|";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_padded_and_made_capital() {
        assert_eq!(Label::new("my data").map(|label| label.bytes()), Ok(*b"MY DATA    "));
        assert_eq!(Label::new("ABCDEFGHIJK").map(|label| label.bytes()), Ok(*b"ABCDEFGHIJK"));
        assert_eq!(Label::new("A{}").map(|label| label.to_string()), Ok("A{}".to_owned()));
    }

    #[test]
    fn what_the_format_forbids_is_refused_with_the_reason() {
        assert_eq!(Label::new(""), Err(LabelFault::Empty));
        assert_eq!(Label::new("  "), Err(LabelFault::Empty));
        assert_eq!(Label::new("no name"), Err(LabelFault::NoName));
        assert_eq!(Label::new(" A"), Err(LabelFault::LeadingBlank));
        assert_eq!(Label::new("ABCDEFGHIJKL"), Err(LabelFault::TooLong { length: 12 }));
        for character in "\"*+,./:;<=>?[\\]|\t\u{7F}é日".chars() {
            let text = format!("A{character}B");
            assert_eq!(Label::new(&text), Err(LabelFault::Forbidden { character }));
        }
    }
}
