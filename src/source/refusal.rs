//! What in a source stops a build, in words for the person who called it.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use thiserror::Error;

use super::manifest::ManifestFault;
use super::met::MetAt;
use crate::event::ProblemKind;
use crate::printable;

/// An entry of the source that cannot go in.
#[derive(Debug, Error)]
#[error("{met_at}: {kind}")]
pub struct Refusal {
    /// Where it was met.
    pub met_at: MetAt,
    /// Why it cannot go in.
    pub kind: RefusalKind,
}

/// Why an entry cannot go in.
#[derive(Debug, Error)]
pub enum RefusalKind {
    /// The source itself, or an entry of it, cannot be read.
    #[error("cannot be read: {}{}", printable::error(.0), nearer(.0))]
    Unreadable(io::Error),
    /// A file was given as a source without a place to go.
    #[error(
        "is a file, not a directory; say where it goes: --from {}:/{}; a manifest begins with #mtree or is named *.mtree",
        printable::path(.0), .0.file_name().map(printable::os_str).unwrap_or_default()
    )]
    FileWithoutDestination(PathBuf),
    /// A FIFO, socket or device was given as a source without a place to go.
    #[error("is a {0}; a source is a directory or a file, and a manifest has to be a file")]
    SpecialSource(&'static str),
    /// A line of a manifest that cannot be understood.
    #[error(transparent)]
    Manifest(ManifestFault),
    /// What a manifest names is not there, or may not be read.
    #[error(
        "contents {}: {}{}",
        printable::path(contents),
        printable::error(error),
        where_to_look(contents, error)
    )]
    ContentsUnreadable {
        /// As the manifest has it.
        contents: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file of a manifest has something else as its contents.
    #[error("contents {}: is a {found}, not a file", printable::path(contents))]
    ContentsNotFile {
        /// As the manifest has it.
        contents: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A directory of a manifest has something else to take its time from.
    #[error("contents {}: is a {found}, not a directory", printable::path(contents))]
    ContentsNotDirectory {
        /// As the manifest has it.
        contents: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A file has another size than its manifest says.
    #[error(
        "contents {}: is {found} bytes long, not {said} as size= says",
        printable::path(contents)
    )]
    ContentsSize {
        /// As the manifest has it.
        contents: PathBuf,
        /// Bytes by the manifest.
        said: u64,
        /// Bytes of the file.
        found: u64,
    },
    /// A symbolic link in a manifest.
    #[error(
        "is a symbolic link, which FAT cannot hold; list what it leads to with type=file and contents=, or leave links out with --symlinks skip"
    )]
    ListedLink,
    /// A file that is to be stored and that an output replaces.
    #[error("is a source and an output as well; name another file for the output")]
    IsOutput,
    /// The same of what a manifest names.
    #[error("contents {}: is a source and an output as well; name another file for the output",
        printable::path(.0))]
    ContentsIsOutput(PathBuf),
    /// Something else took its place during the walk.
    #[error(
        "was replaced while the source was walked; build again when nothing changes the source"
    )]
    Replaced,
    /// An entry that its directory still named during the walk.
    #[error("vanished while the source was walked; build again when nothing changes the source")]
    Vanished,
    /// A directory whose entries changed while they were listed.
    #[error("changed while the source was walked; build again when nothing changes the source")]
    Changed,
    /// Something that is read once, such as a pipe, given as a source.
    #[error("is {0}; a source is a file or a directory: write it to a file first")]
    Passing(&'static str),
    /// FIFO, socket or device.
    #[error("is a {0}, which FAT cannot hold; remove it, or leave such out with --special skip")]
    Special(&'static str),
    /// A symbolic link under [`super::LinkPolicy::Error`].
    #[error("is a symbolic link; --symlinks follow stores what it leads to")]
    Link,
    /// A link whose target is not there.
    #[error(
        "is a link to {}, and {}there is no {}; {}",
        printable::path(target),
        inside(root),
        printable::path(missing),
        remedy(root)
    )]
    DanglingLink {
        /// What the link says.
        target: PathBuf,
        /// The first part of the way that does not exist, as seen from inside the source.
        missing: PathBuf,
        /// The source inside which it was looked for; `None` on the host.
        root: Option<PathBuf>,
    },
    /// A link that climbs out of the source.
    #[error(
        "is a link to {}, which leads out of {}; {}", printable::path(target),
        printable::path(root), remedy(&Some(PathBuf::new()))
    )]
    EscapingLink {
        /// What the link says.
        target: PathBuf,
        /// The source that it leaves.
        root: PathBuf,
    },
    /// A link that leads to itself or to a directory that it lies in.
    #[error(
        "is a link to {}, which {}leads in a circle; {}",
        printable::path(target),
        inside(root),
        remedy(root)
    )]
    LinkLoop {
        /// What the link says.
        target: PathBuf,
        /// The source inside which it was followed; `None` on the host.
        root: Option<PathBuf>,
    },
    /// Links to directories that hold links to directories, and so on.
    #[error(
        "links to directories multiply the source past 100000 directories; leave all links out with --symlinks skip"
    )]
    LinksMultiply,
    /// Two sources bring a file of the same name.
    #[error(
        "comes to the same place as {0}; rename one, or let the later source win with --overlay"
    )]
    SamePlace(MetAt),
    /// Two sources bring a file and a directory of the same name.
    #[error("comes to the same place as {0}, and only one of them is a directory; rename one")]
    FileAgainstDirectory(MetAt),
    /// More than 4,294,967,295 entries, or 4 GiB of names.
    #[error("holds more entries than a FAT volume can")]
    TooManyEntries,
}

impl RefusalKind {
    /// What programs call it.
    pub fn problem_kind(&self) -> ProblemKind {
        match self {
            Self::Unreadable(_) | Self::ContentsUnreadable { .. } => ProblemKind::Unreadable,
            Self::FileWithoutDestination(_) => ProblemKind::FileWithoutDestination,
            Self::Manifest(_) => ProblemKind::ManifestIllegal,
            Self::ContentsNotFile { .. }
            | Self::ContentsNotDirectory { .. }
            | Self::ContentsSize { .. } => ProblemKind::ContentsUnexpected,
            Self::IsOutput | Self::ContentsIsOutput(_) => ProblemKind::SourceIsOutput,
            Self::Replaced | Self::Vanished | Self::Changed => ProblemKind::SourceChanged,
            Self::Passing(_) | Self::Special(_) | Self::SpecialSource(_) => {
                ProblemKind::SpecialFile
            }
            Self::Link | Self::ListedLink => ProblemKind::Link,
            Self::DanglingLink { .. } => ProblemKind::DanglingLink,
            Self::EscapingLink { .. } => ProblemKind::EscapingLink,
            Self::LinkLoop { .. } => ProblemKind::LinkLoop,
            Self::LinksMultiply => ProblemKind::LinksMultiply,
            Self::SamePlace(_) => ProblemKind::SamePlace,
            Self::FileAgainstDirectory(_) => ProblemKind::FileAgainstDirectory,
            Self::TooManyEntries => ProblemKind::TooManyEntries,
        }
    }

    /// Whether this process has met a limit of its own, which says nothing of the entry.
    pub fn is_limit_of_process(&self) -> bool {
        match self {
            Self::Unreadable(error) | Self::ContentsUnreadable { error, .. } => {
                is_limit_of_process(error)
            }
            _ => false,
        }
    }

    /// Whether a link leads nowhere, out of the source or in a circle, so that there is nothing that
    /// could be stored for it.
    pub fn is_lost_link(&self) -> bool {
        matches!(
            self,
            Self::DanglingLink { .. } | Self::EscapingLink { .. } | Self::LinkLoop { .. }
        )
    }
}

/// What to do about a path that is longer than the system takes.
fn nearer(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::InvalidFilename => {
            "; a path has at most 4095 bytes: give a directory on the way as a source of its own, --from DIRECTORY:/PATH"
        }
        _ => "",
    }
}

/// Whether the process has met a limit of its own: no more memory or descriptors, or none in the
/// whole system.
pub fn is_limit_of_process(error: &io::Error) -> bool {
    let limits = [Errno::NOMEM, Errno::NFILE, Errno::MFILE].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|code| limits.contains(&code))
}

fn inside(root: &Option<PathBuf>) -> String {
    root.as_ref().map(|root| format!("inside {} ", printable::path(root))).unwrap_or_default()
}

fn remedy(root: &Option<PathBuf>) -> &'static str {
    match root {
        Some(_) => {
            "leave such links out with --dangling skip, or follow them on this machine with --symlinks host"
        }
        None => "leave such links out with --dangling skip",
    }
}

/// What to do about contents that are not there.
fn where_to_look(contents: &Path, error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound if contents.is_relative() => {
            "; contents=, or without it the entry's own path, begins at the working directory; optional leaves out what is missing"
        }
        io::ErrorKind::NotFound => "; optional leaves out what is missing",
        _ => "",
    }
}
