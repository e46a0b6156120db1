//! What the user named as output, and what can be said of it before any work. Opens nothing but
//! devices, to ask how large they are.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::device::Device;
use super::in_place;
use super::usage::Usage;
use crate::event::ProblemKind;
use crate::jobs::Jobs;
use crate::printable;
use crate::units::as_typed;

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
    /// Whether a block device may lose what it holds.
    pub force: bool,
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
    Device(Device),
    /// A part of an image file that is there.
    Part {
        path: PathBuf,
        bytes: Range<u64>,
        /// As people know it.
        name: String,
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
    /// The image has its name, and everything is complete; what was to be done then failed.
    #[error(
        "{name}: the image is complete and has its name, but {what}: {}",
        printable::error(error)
    )]
    Unsettled {
        /// The output as text.
        name: String,
        /// What that means.
        what: String,
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
    /// Nobody said that what a block device holds may go.
    #[error(
        "{}: is a block device of {}, and would lose all that it holds; add --force to overwrite it",
        printable::path(path),
        as_typed(*bytes)
    )]
    NeedsForce {
        /// The device.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A block device that must not be written.
    #[error("{}: is read-only", printable::path(.0))]
    ReadOnly(PathBuf),
    /// A block device that somebody uses.
    #[error("{}: is in use{}", printable::path(path), told(usage.as_ref()))]
    InUse {
        /// The device.
        path: PathBuf,
        /// By whom, where the system tells.
        usage: Option<Usage>,
    },
    /// A device or file that was exchanged while the source was read.
    #[error("{}: is not what it was when the build began", printable::path(.0))]
    Changed(PathBuf),
    /// The place is smaller than the image.
    #[error(
        "{name}: has {}, and the image needs {}; leave out --size for an image of just that size",
        as_typed(*bytes),
        as_typed(*needed)
    )]
    TooSmall {
        /// The output as text.
        name: String,
        /// What it has.
        bytes: u64,
        /// What the image has.
        needed: u64,
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
            Self::Unsettled { .. } => ProblemKind::OutputRefused,
            Self::IsDirectory(_) | Self::Terminal(_) | Self::Unsupported { .. } => {
                ProblemKind::OutputUnsuitable
            }
            Self::NeedsForce { .. } | Self::ReadOnly(_) | Self::InUse { .. } | Self::Changed(_) => {
                ProblemKind::OutputRefused
            }
            Self::TooSmall { .. } => ProblemKind::TooSmall,
            Self::NoDirectory { .. } => ProblemKind::OutputFolderMissing,
            Self::CannotPreallocate { .. } => ProblemKind::CannotReserve,
        }
    }

    /// The output as text for messages.
    pub fn output_name(&self) -> String {
        match self {
            Self::Io { name, .. }
            | Self::Unsettled { name, .. }
            | Self::Terminal(name)
            | Self::TooSmall { name, .. } => name.clone(),
            Self::IsDirectory(path)
            | Self::NeedsForce { path, .. }
            | Self::ReadOnly(path)
            | Self::InUse { path, .. }
            | Self::Changed(path)
            | Self::Unsupported { path, .. }
            | Self::NoDirectory { path, .. }
            | Self::CannotPreallocate { path, .. } => printable::path(path),
        }
    }
}

fn told(usage: Option<&Usage>) -> String {
    match usage {
        None => "; end what has it open".to_owned(),
        Some(Usage::Mounted(at)) => {
            let at = printable::path(at);
            format!(": it, or a partition of it, is mounted at {at}; unmount it first")
        }
        Some(Usage::Swap(name)) => {
            let name = printable::path(name);
            format!(": the system swaps to {name}; end that first (swapoff)")
        }
        Some(Usage::Held(holder)) => {
            let holder = printable::bytes(holder.as_bytes());
            format!(": it, or a partition of it, is part of {holder}; take that apart first")
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

    /// The file, FIFO or device `path`; of a link its target, which need not exist.
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
        if is_descriptor(path).map_err(io)? {
            return Ok(Self::of(Place::Special(path.to_path_buf())));
        }
        let target = end_of_links(path).map_err(io)?;
        let place = match fs::symlink_metadata(&target) {
            Ok(found) => Self::existing(path, target, &found)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = directory_of(&target);
                match fs::metadata(directory) {
                    Ok(found) if found.is_dir() => {}
                    Err(error) if !is_no_path(&error) => return Err(io(error)),
                    _ => return Err(no_directory(directory)),
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

    /// These bytes of the image file `path`, under the `name` that people know them by. What lies around
    /// them stays.
    pub fn part(path: PathBuf, bytes: Range<u64>, name: String) -> Self {
        Self::of(Place::Part { path, bytes, name })
    }

    fn of(place: Place) -> Self {
        Self {
            place,
            sync: false,
            preallocate: false,
            jobs: None,
            direct: Direct::default(),
            if_changed: false,
            force: false,
        }
    }

    fn existing(path: &Path, target: PathBuf, found: &Metadata) -> Result<Place, OutputError> {
        let file_type = found.file_type();
        let path = path.to_path_buf();
        if file_type.is_dir() {
            Err(OutputError::IsDirectory(path))
        } else if file_type.is_block_device() {
            let error =
                |error| OutputError::Io { name: printable::path(&target), replaces: false, error };
            Ok(Place::Device(Device::find(target.clone()).map_err(error)?))
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
        matches!(self.place, Place::StandardOutput | Place::Special(_))
    }

    /// The block device, if it is one.
    pub fn device(&self) -> Option<&Device> {
        match &self.place {
            Place::Device(device) => Some(device),
            _ => None,
        }
    }

    /// The bytes of the file at its path that the image is to fill, where others lie around them.
    pub(super) fn part_bytes(&self) -> Option<Range<u64>> {
        match &self.place {
            Place::Part { bytes, .. } => Some(bytes.clone()),
            _ => None,
        }
    }

    /// Whether the image takes the place of what is there while it is written.
    pub fn is_in_place(&self) -> bool {
        matches!(self.place, Place::Device(_) | Place::Part { .. })
    }

    /// Looks whether the output can be written now, as far as can be told without writing: whether a
    /// block device may be, and nobody uses it.
    ///
    /// # Errors
    /// When it cannot.
    pub fn check(&self) -> Result<(), OutputError> {
        in_place::check(self)
    }

    /// Looks whether an image of so many bytes has room in a place that does not grow.
    ///
    /// # Errors
    /// When it has not.
    pub fn check_room(&self, image_bytes: u64) -> Result<(), OutputError> {
        let bytes = match &self.place {
            Place::Device(device) => device.bytes(),
            Place::Part { bytes, .. } => bytes.end.saturating_sub(bytes.start),
            _ => return Ok(()),
        };
        if image_bytes <= bytes {
            return Ok(());
        }
        Err(OutputError::TooSmall { name: self.name(), bytes, needed: image_bytes })
    }

    /// The output as text for messages.
    pub fn name(&self) -> String {
        match &self.place {
            Place::StandardOutput => "standard output".to_owned(),
            Place::Special(path) | Place::File { path, .. } => printable::path(path),
            Place::Device(device) => printable::path(&device.path),
            Place::Part { name, .. } => name.clone(),
        }
    }

    /// The path, if it has one.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::StandardOutput => None,
            Place::Special(path) | Place::File { path, .. } | Place::Part { path, .. } => {
                Some(path)
            }
            Place::Device(device) => Some(&device.path),
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
fn is_descriptor(path: &Path) -> io::Result<bool> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let folder = directory_of(&path);
        let of_a_process = folder.starts_with("/proc") && folder.ends_with("fd");
        if of_a_process || folder == Path::new("/dev/fd") {
            return Ok(true);
        }
        match link_target(&path)? {
            Some(target) => path = folder.join(target),
            None => return Ok(false),
        }
    }
    Ok(false)
}

fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match link_target(&path)? {
            Some(target) => path = directory_of(&path).join(target),
            None => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Where the link `path` leads; `None` if it is no link, or nothing is there.
fn link_target(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::read_link(path) {
        Ok(target) => Ok(Some(target)),
        Err(error) if is_no_path(&error) || error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a path leads nowhere.
fn is_no_path(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
