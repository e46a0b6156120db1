//! What a consumer does not read, in words. Decides nothing.

use thiserror::Error;

use crate::event::ProblemKind;
use crate::plan::problem::{Blame, Figures};
use crate::units::as_typed;

/// Why a request does not suit its profile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// An option asks for what the consumer does not read.
    #[error("{why}; {remedy}")]
    Option {
        /// What the consumer demands.
        why: &'static str,
        /// What to do.
        remedy: String,
    },
    /// The size is another than the consumer's.
    #[error("is {} to the byte, not {}; {}", as_typed(*needed), as_typed(*bytes), other_size(*bytes, *needed, *placed))]
    OtherSize {
        /// The size asked for, or that of the place.
        bytes: u64,
        /// The only one.
        needed: u64,
        /// Whether it is the size of the place.
        placed: bool,
    },
    /// The size is no multiple of what it must be.
    #[error(
        "{} is no multiple of {unit_bytes} bytes, a sector of a CD; {} --size {needed}",
        told(&bytes.to_string(), *placed),
        if *placed { "add" } else { "use" }
    )]
    NotWholeUnits {
        /// The size.
        bytes: u64,
        /// What it must be a multiple of.
        unit_bytes: u64,
        /// One near it.
        needed: u64,
        /// Whether it is the size of the place.
        placed: bool,
    },
    /// The size is more than the consumer reads.
    #[error(
        "{} is too large: {why}; {}",
        told(&as_typed(*bytes), *placed),
        if *placed { format!("add --size {}", as_typed(*most)) } else { format!("use --size {} or less", as_typed(*most)) }
    )]
    SizeOverLimit {
        /// The size.
        bytes: u64,
        /// The most.
        most: u64,
        /// Why there is no more.
        why: &'static str,
        /// Whether it is the size of the place.
        placed: bool,
    },
    /// The tree takes more than the consumer reads.
    #[error(
        "the source needs more than {}, and {why}; {remedy}",
        as_typed(*most)
    )]
    TreeOverLimit {
        /// The most.
        most: u64,
        /// Why there is no more.
        why: &'static str,
        /// What to do.
        remedy: &'static str,
    },
}

impl Refusal {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Option { .. } | Self::OtherSize { .. } | Self::NotWholeUnits { .. } => {
                Blame::CommandLine
            }
            Self::SizeOverLimit { .. } | Self::TreeOverLimit { .. } => Blame::Format,
        }
    }

    /// What programs call it.
    pub fn problem_kind(&self) -> ProblemKind {
        match self {
            Self::Option { .. } => ProblemKind::OptionsDisagree,
            Self::OtherSize { .. } => ProblemKind::NoSuchVolume,
            Self::NotWholeUnits { .. } => ProblemKind::SizeNotWholeSectors,
            Self::SizeOverLimit { .. } => ProblemKind::SizeOverLimit,
            Self::TreeOverLimit { .. } => ProblemKind::NoSize,
        }
    }

    /// The numbers in it.
    pub fn figures(&self) -> Figures {
        let none = Figures::default();
        match *self {
            Self::Option { .. } => none,
            Self::OtherSize { bytes, needed, .. } | Self::NotWholeUnits { bytes, needed, .. } => {
                Figures { bytes: Some(bytes), needed_bytes: Some(needed), ..none }
            }
            Self::SizeOverLimit { bytes, most, .. } => {
                Figures { bytes: Some(bytes), limit_bytes: Some(most), ..none }
            }
            Self::TreeOverLimit { most, .. } => Figures { limit_bytes: Some(most), ..none },
        }
    }
}

/// A size as it was asked for, or as the place has it.
fn told(size: &str, placed: bool) -> String {
    if placed { format!("the size of the place, {size},") } else { format!("--size {size}") }
}

/// What to do about a size that is not the only one.
fn other_size(bytes: u64, needed: u64, placed: bool) -> String {
    match placed {
        false => "leave out --size".to_owned(),
        true if bytes > needed => format!("add --size {}", as_typed(needed)),
        true => "take a larger one".to_owned(),
    }
}
