//! What the user named as output, and what can be said of it before any work. Opens nothing.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::event::ProblemKind;
use crate::jobs::Jobs;
use crate::printable;

/// As many links in a row as Linux follows.
const MAX_LINKS: u32 = 40;

/// Where the image goes, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    place: Place,
    /// Whether the image is on the disk when the build ends.
    pub sync: bool,
    /// Whether room for the whole image is reserved first.
    pub preallocate: bool,
    /// How many threads read and write; `None` for as many as suit the way of writing.
    pub jobs: Option<Jobs>,
    /// Whether a file is written past the page cache.
    pub direct: Direct,
    /// Whether an image that is there and would come out the same is left as it is, its time too.
    pub if_changed: bool,
}

/// Whether a file is written past the page cache; where the file system refuses, it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direct {
    /// When more is to be written than the system keeps in memory before it turns to the disk.
    #[default]
    Auto,
    /// Whenever it can be done.
    Always,
    /// Not at all.
    Never,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    StandardOutput,
    /// A FIFO or character device.
    Special(PathBuf),
    File {
        path: PathBuf,
        old_mode: Option<u32>,
    },
}

/// An output that cannot be written.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The system refused.
    #[error("{}: {}", .name, explain(.error, *.replaces))]
    Io {
        /// The output as text.
        name: String,
        /// Whether there is an older file that stays until the new one is complete.
        replaces: bool,
        /// What the system said.
        error: io::Error,
    },
    /// A directory has the name.
    #[error("{}: is a directory; name a file in it", printable::path(.0))]
    IsDirectory(PathBuf),
    /// A person looks at it.
    #[error("{0} is a terminal; send the image to a file or a pipe")]
    Terminal(String),
    /// Not a place for a file.
    #[error("{}: is a {what}; write a file and copy it there", printable::path(path))]
    Unsupported {
        /// The output.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The folder is not there.
    #[error(
        "{}: there is no directory {}; make it first",
        printable::path(path),
        printable::path(directory)
    )]
    NoDirectory {
        /// The output.
        path: PathBuf,
        /// Its folder.
        directory: PathBuf,
    },
    /// Room was to be reserved, and the file system cannot.
    #[error(
        "{}: this file system cannot reserve room for the image ({}); leave out --preallocate",
        printable::path(path),
        printable::error(error)
    )]
    CannotPreallocate {
        /// The output.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl OutputError {
    /// What programs call it.
    pub fn problem_kind(&self) -> ProblemKind {
        match self {
            Self::Io { error, .. } => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ProblemKind::NoRoom,
                io::ErrorKind::FileTooLarge => ProblemKind::FileSizeLimit,
                io::ErrorKind::BrokenPipe => ProblemKind::ReaderGone,
                _ => ProblemKind::OutputRefused,
            },
            Self::IsDirectory(_) | Self::Terminal(_) | Self::Unsupported { .. } => {
                ProblemKind::OutputUnsuitable
            }
            Self::NoDirectory { .. } => ProblemKind::OutputFolderMissing,
            Self::CannotPreallocate { .. } => ProblemKind::CannotReserve,
        }
    }

    /// The output as text for messages.
    pub fn output_name(&self) -> String {
        match self {
            Self::Io { name, .. } | Self::Terminal(name) => name.clone(),
            Self::IsDirectory(path)
            | Self::Unsupported { path, .. }
            | Self::NoDirectory { path, .. }
            | Self::CannotPreallocate { path, .. } => printable::path(path),
        }
    }
}

fn explain(error: &io::Error, replaces: bool) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull if !replaces => "no room left for it",
        io::ErrorKind::StorageFull => {
            "no room left for it; the old one stays until the new one is complete, so both need room"
        }
        io::ErrorKind::QuotaExceeded => "the quota leaves no room for it",
        io::ErrorKind::FileTooLarge => {
            "the file system or a limit of this process (ulimit -f) allows no file of this size"
        }
        io::ErrorKind::BrokenPipe => "the reader went away before all of it was written",
        _ => return format!("cannot be written: {}", printable::error(error)),
    };
    remedy.to_owned()
}

impl Output {
    /// Standard output, as a stream.
    pub fn standard_output() -> Self {
        Self::of(Place::StandardOutput)
    }

    /// The file, FIFO or character device `path`; of a link its target, which need not exist.
    ///
    /// # Errors
    /// When no image can be written there, as far as can be told without writing.
    pub fn at(path: &Path) -> Result<Self, OutputError> {
        let io = |error| OutputError::Io { name: printable::path(path), replaces: false, error };
        let no_directory = |directory: &Path| OutputError::NoDirectory {
            path: path.to_path_buf(),
            directory: directory.to_path_buf(),
        };
        // Such a name can only be a directory's.
        let bytes = path.as_os_str().as_bytes();
        let of_directory = [&b"/"[..], b"/.", b"/.."].iter().any(|end| bytes.ends_with(end));
        if of_directory && !path.is_dir() {
            let end = bytes.iter().rposition(|byte| !b"/.".contains(byte));
            let end = end.map_or(0, |last| last + 1);
            return Err(no_directory(Path::new(OsStr::from_bytes(&bytes[..end]))));
        }
        if is_descriptor(path) {
            return Ok(Self::of(Place::Special(path.to_path_buf())));
        }
        let target = end_of_links(path).map_err(io)?;
        let place = match fs::symlink_metadata(&target) {
            Ok(found) => Self::existing(path, target, &found)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = directory_of(&target);
                if !directory.is_dir() {
                    return Err(no_directory(directory));
                }
                Place::File { path: target, old_mode: None }
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(no_directory(directory_of(&target)));
            }
            Err(error) => return Err(io(error)),
        };
        Ok(Self::of(place))
    }

    fn of(place: Place) -> Self {
        Self {
            place,
            sync: false,
            preallocate: false,
            jobs: None,
            direct: Direct::default(),
            if_changed: false,
        }
    }

    fn existing(path: &Path, target: PathBuf, found: &Metadata) -> Result<Place, OutputError> {
        let file_type = found.file_type();
        let path = path.to_path_buf();
        if file_type.is_dir() {
            Err(OutputError::IsDirectory(path))
        } else if file_type.is_block_device() {
            Err(OutputError::Unsupported { path, what: "block device" })
        } else if file_type.is_socket() {
            Err(OutputError::Unsupported { path, what: "socket" })
        } else if file_type.is_fifo() || file_type.is_char_device() {
            Ok(Place::Special(target))
        } else {
            // Whoever made the old image gives the new one no other rights than these.
            Ok(Place::File { path: target, old_mode: Some(found.mode() & 0o777) })
        }
    }

    /// Whether bytes can only be written one after the other.
    pub fn is_stream(&self) -> bool {
        !matches!(self.place, Place::File { .. })
    }

    /// The output as text for messages.
    pub fn name(&self) -> String {
        match &self.place {
            Place::StandardOutput => "standard output".to_owned(),
            Place::Special(path) | Place::File { path, .. } => printable::path(path),
        }
    }

    /// The path, if it has one.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::StandardOutput => None,
            Place::Special(path) | Place::File { path, .. } => Some(path),
        }
    }

    /// The permissions of the file that is replaced.
    pub(super) fn old_mode(&self) -> Option<u32> {
        match self.place {
            Place::File { old_mode, .. } => old_mode,
            _ => None,
        }
    }

    pub(super) fn error(&self, error: io::Error) -> OutputError {
        OutputError::Io { name: self.name(), replaces: self.old_mode().is_some(), error }
    }
}

/// The folder in which `path` lies.
pub(super) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Whether `path` names an open file of a process, as `/dev/stdout` and a shell's `>(...)` do: a
/// stream, whatever it leads to. Its link has a text that is no path.
fn is_descriptor(path: &Path) -> bool {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let folder = directory_of(&path);
        let of_a_process = folder.starts_with("/proc") && folder.ends_with("fd");
        if of_a_process || folder == Path::new("/dev/fd") {
            return true;
        }
        match fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => return false,
        }
    }
    false
}

fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = directory_of(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}
