//! What stops a plan, in words for the person at the keyboard: path, fact, limit, remedy.

use std::collections::HashSet;
use std::fmt;

use thiserror::Error;

use super::count::MAX_FILE_BYTES;
use super::misfit::Misfit;
use super::profile::Profile;
use super::profile::names::Unreadable;
use crate::event::ProblemKind;
use crate::fat::name::NameFault;
use crate::fat::record::MAX_RECORDS;
use crate::source::{MetAt, Refusal};

/// Whose fault a problem is, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blame {
    /// The system: this process has met a limit of its own.
    System,
    /// The command line: no image and no source could make sense of it.
    CommandLine,
    /// The image: too small, or not legal as asked for.
    Format,
    /// The source: names, special files, unreadable entries.
    Source,
}

impl Blame {
    /// A name for programs; it stays as it is from version to version.
    pub fn id(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::CommandLine => "command line",
            Self::Format => "format",
            Self::Source => "source",
        }
    }
}

/// The numbers of a problem, for programs that mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Bytes of what is at fault: a file, or the size that was asked for.
    pub bytes: Option<u64>,
    /// The most that it may have.
    pub limit_bytes: Option<u64>,
    /// A size of the image that would do.
    pub needed_bytes: Option<u64>,
    /// Directory records that are needed, those of long names included.
    pub records: Option<u64>,
    /// The most that there may be.
    pub limit_records: Option<u64>,
}

/// One reason why an image cannot be built.
#[derive(Debug, Error)]
pub enum Problem {
    /// The scan refused an entry.
    #[error(transparent)]
    Source(Refusal),
    /// FAT cannot hold a name.
    #[error("{met_at}: {fault}; rename it, or use --invalid-names replace or skip")]
    Name {
        /// The entry.
        met_at: MetAt,
        /// The rule.
        fault: NameFault,
    },
    /// A name is no text.
    #[error(
        "{0}: name is not valid UTF-8 and has no form in FAT; rename it, or use --invalid-names replace or skip"
    )]
    NotUnicode(MetAt),
    /// Two names of one directory are one name to readers of FAT.
    #[error("{met_at}: {why}; rename one, or use --clash rename or skip")]
    Clash {
        /// The one that comes later.
        met_at: MetAt,
        /// Which other it meets, and how.
        why: String,
    },
    /// A device name under `--windows-safe`.
    #[error("{0}: Windows takes this name for a device; rename it, or leave out --windows-safe")]
    DeviceName(MetAt),
    /// A name that the consumer of the image cannot open.
    #[error("{met_at}: --profile {profile}: {fault}; rename it")]
    Unreadable {
        /// The entry.
        met_at: MetAt,
        /// The profile.
        profile: Profile,
        /// What is wrong.
        fault: Unreadable,
    },
    /// A file of 4 GiB or more.
    #[error(
        "{met_at}: is {size_bytes} bytes long; a file on FAT has at most 4294967295; split or compress it"
    )]
    FileTooLarge {
        /// The file.
        met_at: MetAt,
        /// Its bytes.
        size_bytes: u64,
    },
    /// Too many entries or too long names in one directory.
    #[error(
        "{}: takes {records} directory entries, long names included; a directory on FAT has at most {MAX_RECORDS}; spread its contents over several",
        met_at.as_ref().map_or("root directory of the image".to_owned(), MetAt::to_string)
    )]
    DirectoryTooLarge {
        /// The directory; `None` for the root.
        met_at: Option<MetAt>,
        /// Records that it would need.
        records: u64,
    },
    /// The volume as asked for does not exist, or does not hold the tree.
    #[error(transparent)]
    Misfit(Misfit),
    /// The same, of the volume that a profile wants.
    #[error("--profile {profile}: {misfit}")]
    ProfileMisfit {
        /// The profile.
        profile: Profile,
        /// What is wrong.
        misfit: Misfit,
    },
}

impl Problem {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Misfit(misfit) | Self::ProfileMisfit { misfit, .. } => misfit.blame(),
            Self::FileTooLarge { .. } | Self::DirectoryTooLarge { .. } => Blame::Format,
            Self::Source(refusal) if refusal.kind.is_limit_of_process() => Blame::System,
            Self::Source(_)
            | Self::Name { .. }
            | Self::NotUnicode(_)
            | Self::Clash { .. }
            | Self::DeviceName(_)
            | Self::Unreadable { .. } => Blame::Source,
        }
    }

    /// What programs call it.
    pub fn kind(&self) -> ProblemKind {
        match self {
            Self::Source(refusal) => refusal.kind.problem_kind(),
            Self::Name { .. } => ProblemKind::NameIllegal,
            Self::NotUnicode(_) => ProblemKind::NameNotUnicode,
            Self::Clash { .. } => ProblemKind::NameClash,
            Self::DeviceName(_) => ProblemKind::DeviceName,
            Self::Unreadable { .. } => ProblemKind::NameUnreadable,
            Self::FileTooLarge { .. } => ProblemKind::FileTooLarge,
            Self::DirectoryTooLarge { .. } => ProblemKind::DirectoryTooLarge,
            Self::Misfit(misfit) | Self::ProfileMisfit { misfit, .. } => misfit.problem_kind(),
        }
    }

    /// The entry at fault, or the line of a manifest that is or that names it; `None` where it is the
    /// image as a whole, or its root.
    pub fn met_at(&self) -> Option<&MetAt> {
        match self {
            Self::Source(Refusal { met_at, .. })
            | Self::Name { met_at, .. }
            | Self::NotUnicode(met_at)
            | Self::Clash { met_at, .. }
            | Self::DeviceName(met_at)
            | Self::Unreadable { met_at, .. }
            | Self::FileTooLarge { met_at, .. } => Some(met_at),
            Self::DirectoryTooLarge { met_at, .. } => met_at.as_ref(),
            Self::Misfit(_) | Self::ProfileMisfit { .. } => None,
        }
    }

    /// The numbers in it.
    pub fn figures(&self) -> Figures {
        match self {
            Self::FileTooLarge { size_bytes, .. } => Figures {
                bytes: Some(*size_bytes),
                limit_bytes: Some(MAX_FILE_BYTES),
                ..Figures::default()
            },
            Self::DirectoryTooLarge { records, .. } => Figures {
                records: Some(*records),
                limit_records: Some(MAX_RECORDS),
                ..Figures::default()
            },
            Self::Misfit(misfit) | Self::ProfileMisfit { misfit, .. } => misfit.figures(),
            _ => Figures::default(),
        }
    }

    /// The flag, if any, that lets the build go on without this entry or with it changed.
    pub fn remedy(&self) -> Option<Remedy> {
        use crate::source::RefusalKind;
        match self {
            Self::Name { .. } | Self::NotUnicode(_) => Some(Remedy::InvalidNames),
            Self::Clash { .. } => Some(Remedy::Clash),
            Self::Source(refusal) => match refusal.kind {
                RefusalKind::Special(_) => Some(Remedy::Special),
                RefusalKind::SamePlace(_) => Some(Remedy::Overlay),
                _ if refusal.kind.is_lost_link() => Some(Remedy::Dangling),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A flag that lets a build go on, in the order of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// For files of several sources that come to one place.
    Overlay,
    /// For links that lead nowhere, out of the source, or in a circle.
    Dangling,
    /// For FIFOs, sockets and devices.
    Special,
    /// For names that FAT cannot hold.
    InvalidNames,
    /// For names that are one to FAT.
    Clash,
}

impl Remedy {
    /// The flag as typed.
    pub fn flag(self) -> &'static str {
        match self {
            Self::Overlay => "--overlay",
            Self::Dangling => "--dangling skip",
            Self::Special => "--special skip",
            Self::InvalidNames => "--invalid-names replace",
            Self::Clash => "--clash rename",
        }
    }

    /// What the flag is for, for a line that tells how many.
    pub fn subject(self, count: usize) -> &'static str {
        let one = count == 1;
        match self {
            Self::Overlay if one => "file of two sources",
            Self::Overlay => "files of two sources",
            Self::Dangling if one => "link that leads nowhere",
            Self::Dangling => "links that lead nowhere",
            Self::Special if one => "special file",
            Self::Special => "special files",
            Self::InvalidNames if one => "name that FAT cannot hold",
            Self::InvalidNames => "names that FAT cannot hold",
            Self::Clash if one => "clash of names",
            Self::Clash => "clashes of names",
        }
    }
}

/// Every reason why an image cannot be built, at least one.
#[derive(Debug)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// All of `problems`, each once: several links can lead to one that has any.
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        let mut told = HashSet::new();
        problems.retain(|problem| told.insert(problem.to_string()));
        Self(problems)
    }

    /// The source where any problem is the source's: the user meets those first.
    pub fn blame(&self) -> Blame {
        self.0.iter().map(Problem::blame).max().unwrap_or(Blame::Format)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
