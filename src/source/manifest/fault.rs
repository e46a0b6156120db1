//! What is wrong with a line of a manifest, in words for the person who wrote it.

use thiserror::Error;

use super::syntax::{MAX_LINE_BYTES, MAX_PATH_BYTES};
use crate::printable;

/// What is wrong with a line of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestFault {
    /// It is no text, so that nothing after it is read.
    #[error("holds a NUL byte, so that this is no mtree manifest")]
    NulByte,
    /// A control character that is written as it is.
    #[error("holds the control character {0:#04x}; write it as \\{0:03o}")]
    ControlCharacter(u8),
    /// Endless, or no text.
    #[error("is longer than {MAX_LINE_BYTES} bytes")]
    LongLine,
    /// The last line ends with a backslash.
    #[error("ends with \\ and no line follows")]
    NothingFollows,
    /// Readers of the format differ on what this is.
    #[error(
        "has a # within a word; write \\# if it is part of a name, or a blank before it if a comment begins"
    )]
    CommentInWord,
    /// A backslash before what makes no escape.
    #[error("{} is no escape of mtree; write \\\\ for a backslash and \\s for a blank",
        printable::bytes(.0))]
    Escape(Vec<u8>),
    /// An escape that stands for the end of a string.
    #[error("holds an escaped NUL, which no name can")]
    EscapedNul,
    /// A word that begins with a slash.
    #[error("{} is neither /set nor /unset; paths of a manifest begin with ./", printable::bytes(.0))]
    Command(Vec<u8>),
    /// A path whose first slash is escaped.
    #[error("{} is an absolute path; paths of a manifest begin with ./", printable::bytes(.0))]
    Absolute(Vec<u8>),
    /// `..` among the names of a path.
    #[error("{} holds .., which a path of a manifest cannot", printable::bytes(.0))]
    UpInPath(Vec<u8>),
    /// Escapes that leave nothing.
    #[error("names nothing")]
    NoName,
    /// More than systems open.
    #[error("gives a path of more than {MAX_PATH_BYTES} bytes")]
    LongPath,
    /// More `..` than directories.
    #[error(
        ".. leads out of the image; there is one too many, or a directory above lacks type=dir"
    )]
    ClimbsOut,
    /// A name without a directory after a path with one.
    #[error(
        "{} comes after a full path, and readers of mtree differ on where it is then; write ./ and the whole path",
        printable::bytes(.0)
    )]
    Placeless(Vec<u8>),
    /// Neither the line nor `/set` says what it is.
    #[error("has no type; add type=file or type=dir")]
    NoType,
    /// It cannot be both.
    #[error("has type=link and contents=; give what the link leads to as type=file")]
    LinkWithContents,
    /// A keyword that needs a value.
    #[error("{0} needs a value: {0}=...")]
    NoValue(&'static str),
    /// A keyword with a value that means nothing.
    #[error("{keyword}={} is no {keyword}: {wanted}", printable::bytes(value))]
    Value {
        /// The keyword.
        keyword: &'static str,
        /// As written.
        value: Vec<u8>,
        /// What it should be.
        wanted: &'static str,
    },
}
