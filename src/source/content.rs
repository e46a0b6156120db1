//! The bytes of a file, exactly as many as were planned, from the very file that was scanned.
//! Knows no image.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::Errno;
use thiserror::Error;

use super::tree::{Identity, NodeId, NodeKind, Tree};
use crate::printable;

/// A file whose bytes are not to be had as planned.
#[derive(Debug, Error)]
#[error("{}: {kind}", printable::path(path))]
pub struct ContentError {
    /// The file.
    pub path: PathBuf,
    /// What happened to it.
    pub kind: ContentErrorKind,
}

/// What happened to a file between the scan and the end of its copy.
#[derive(Debug, Error)]
pub enum ContentErrorKind {
    /// It is gone.
    #[error("vanished while the image was built; build again when nothing changes the source")]
    Vanished,
    /// Its name leads to another file now.
    #[error(
        "was replaced by another file while the image was built; build again when nothing changes the source"
    )]
    Replaced,
    /// It is shorter.
    #[error(
        "shrank from {planned} to {now} bytes while the image was built; build again when nothing changes the source"
    )]
    Shrank {
        /// Bytes when scanned.
        planned: u64,
        /// Bytes now.
        now: u64,
    },
    /// It is longer.
    #[error(
        "grew from {planned} to {now} bytes while the image was built; build again when nothing changes the source"
    )]
    Grew {
        /// Bytes when scanned.
        planned: u64,
        /// Bytes now.
        now: u64,
    },
    /// It was written to.
    #[error("changed while the image was built; build again when nothing changes the source")]
    Changed,
    /// The system refused.
    #[error("cannot be read: {}", printable::error(.0))]
    Unreadable(io::Error),
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// So many bytes to be fetched with [`Content::read`].
    Data(u64),
    /// So many zero bytes that the host does not store.
    Hole(u64),
}

/// An open file of the tree.
#[derive(Debug)]
pub struct Content {
    file: File,
    path: PathBuf,
    planned_bytes: u64,
    identity: Identity,
    /// Where the next part begins.
    at: u64,
    sparse: bool,
}

impl Content {
    /// Opens a file, never anything that blocks: what took the place of the file may be a FIFO.
    ///
    /// # Errors
    /// When it is gone or may not be read.
    pub fn open(tree: &Tree, id: NodeId) -> Result<Self, ContentError> {
        let path = tree.content_path(id);
        let node = tree.node(id);
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(error) => return Err(ContentError { kind: open_error(&path, error), path }),
        };
        let sparse = matches!(node.kind, NodeKind::File { sparse: true, .. });
        let planned_bytes = node.size_bytes();
        Ok(Self { file, path, planned_bytes, identity: node.identity, at: 0, sparse })
    }

    /// The next part, or `None` at the end. A part of data is to be read before the next call.
    ///
    /// # Errors
    /// When the system cannot tell where data are.
    pub fn next_part(&mut self) -> Result<Option<Part>, ContentError> {
        let left = self.planned_bytes - self.at;
        if left == 0 {
            return Ok(None);
        }
        if !self.sparse {
            self.at = self.planned_bytes;
            return Ok(Some(Part::Data(left)));
        }
        let data_at = match seek(&self.file, SeekFrom::Data(self.at)) {
            Ok(data_at) => data_at.min(self.planned_bytes),
            // Nothing but a hole up to the end.
            Err(Errno::NXIO) => self.planned_bytes,
            // The file system knows no holes: all is data.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                self.sparse = false;
                return self.next_part();
            }
            Err(error) => return Err(self.failed(error.into())),
        };
        if data_at > self.at {
            let hole = data_at - self.at;
            self.at = data_at;
            return Ok(Some(Part::Hole(hole)));
        }
        let hole_at = seek(&self.file, SeekFrom::Hole(self.at))
            .and_then(|hole_at| seek(&self.file, SeekFrom::Start(self.at)).map(|_| hole_at))
            .map_err(|error| self.failed(error.into()))?
            .clamp(self.at + 1, self.planned_bytes);
        let data = hole_at - self.at;
        self.at = hole_at;
        Ok(Some(Part::Data(data)))
    }

    /// Reads into `buffer`, as much as the system gives at once and at least one byte.
    ///
    /// # Errors
    /// When the file ends early or cannot be read.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ContentError> {
        loop {
            match self.file.read(buffer) {
                Ok(0) => return Err(self.failed(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// Ends the copy: the file must still be what was scanned. Asked once, after the last byte, so
    /// that no change since the scan can hide.
    ///
    /// # Errors
    /// When it is not.
    pub fn finish(self) -> Result<(), ContentError> {
        let found = match self.file.metadata() {
            Ok(found) => found,
            Err(error) => return Err(self.error(ContentErrorKind::Unreadable(error))),
        };
        match difference(&found, self.identity, self.planned_bytes) {
            None => Ok(()),
            Some(kind) => Err(self.error(kind)),
        }
    }

    /// Why a read failed: most likely because the file is not what was scanned.
    fn failed(&self, error: io::Error) -> ContentError {
        let found = self.file.metadata().ok();
        let changed = found.and_then(|found| difference(&found, self.identity, self.planned_bytes));
        self.error(changed.unwrap_or(ContentErrorKind::Unreadable(error)))
    }

    fn error(&self, kind: ContentErrorKind) -> ContentError {
        ContentError { path: self.path.clone(), kind }
    }
}

/// An empty file is never opened; this asks whether it is still empty.
///
/// # Errors
/// When it is not what was scanned.
pub fn confirm_unopened(tree: &Tree, id: NodeId) -> Result<(), ContentError> {
    let path = tree.content_path(id);
    let node = tree.node(id);
    let kind = match fs::symlink_metadata(&path) {
        Ok(found) => difference(&found, node.identity, node.size_bytes()),
        Err(error) => Some(open_error(&path, error)),
    };
    match kind {
        None => Ok(()),
        Some(kind) => Err(ContentError { path, kind }),
    }
}

fn difference(found: &Metadata, identity: Identity, planned: u64) -> Option<ContentErrorKind> {
    if (found.dev(), found.ino()) != (identity.device, identity.inode) || !found.is_file() {
        return Some(ContentErrorKind::Replaced);
    }
    let now = found.size();
    if now < planned {
        return Some(ContentErrorKind::Shrank { planned, now });
    }
    if now > planned {
        return Some(ContentErrorKind::Grew { planned, now });
    }
    let modified = (found.mtime(), found.mtime_nsec());
    let scanned = (identity.modified_seconds, i64::from(identity.modified_nanoseconds));
    (modified != scanned).then_some(ContentErrorKind::Changed)
}

fn open_error(path: &Path, error: io::Error) -> ContentErrorKind {
    match error.kind() {
        io::ErrorKind::NotFound => ContentErrorKind::Vanished,
        // A link or a socket stands there now: neither can be opened.
        _ if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) => {
            ContentErrorKind::Replaced
        }
        _ => ContentErrorKind::Unreadable(error),
    }
}
