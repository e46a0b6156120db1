//! What in a source stops a build, in words for the person who called it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::printable;

/// An entry of the source that cannot go in.
#[derive(Debug, Error)]
#[error("{}: {kind}", printable::path(path))]
pub struct Refusal {
    /// Where it was met.
    pub path: PathBuf,
    /// Why it cannot go in.
    pub kind: RefusalKind,
}

/// Why an entry cannot go in.
#[derive(Debug, Error)]
pub enum RefusalKind {
    /// The source itself, or an entry of it, cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// A file was given as a source without a place to go.
    #[error("is a file, not a directory; say where it goes: --from {}:/{}",
        printable::path(.0), .0.file_name().map(printable::os_str).unwrap_or_default())]
    FileWithoutDestination(PathBuf),
    /// FIFO, socket or device.
    #[error("is a {0}, which FAT cannot hold; remove it, or leave such out with --special skip")]
    Special(&'static str),
    /// A symbolic link under [`super::LinkPolicy::Error`].
    #[error("is a symbolic link; --symlinks follow stores what it leads to")]
    Link,
    /// A link whose target is not there.
    #[error(
        "is a link to {}, and there is no {}; remove it, or leave such out with --dangling skip",
        printable::path(target),
        printable::path(missing)
    )]
    DanglingLink {
        /// What the link says.
        target: PathBuf,
        /// The first part of the way that does not exist.
        missing: PathBuf,
    },
    /// A link that climbs out of the source.
    #[error(
        "is a link to {}, which leads out of {}; remove it, or follow it with --symlinks host",
        printable::path(target),
        printable::path(root)
    )]
    EscapingLink {
        /// What the link says.
        target: PathBuf,
        /// The source that it leaves.
        root: PathBuf,
    },
    /// A link that leads to itself or to a directory that it lies in.
    #[error(
        "is a link to {}, which leads back to itself; remove it, or leave all links out with --symlinks skip",
        printable::path(.0)
    )]
    LinkLoop(PathBuf),
    /// Links to directories that hold links to directories, and so on.
    #[error(
        "links to directories multiply the source past 100000 directories; leave all links out with --symlinks skip"
    )]
    LinksMultiply,
    /// Two sources bring a file of the same name.
    #[error(
        "comes to the same place as {}; rename one, or let the later source win with --overlay",
        printable::path(.0)
    )]
    SamePlace(PathBuf),
    /// Two sources bring a file and a directory of the same name.
    #[error("comes to the same place as {}, and only one of them is a directory; rename one",
        printable::path(.0))]
    FileAgainstDirectory(PathBuf),
    /// More than 4,294,967,295 entries, or 4 GiB of names.
    #[error("holds more entries than a FAT volume can")]
    TooManyEntries,
}
