//! The bytes of a file, exactly as many as were planned, from the very file that was scanned.
//! Knows no image.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, SeekFrom, open, openat, openat2, seek};
use rustix::io::Errno;
use thiserror::Error;

use super::tree::{NodeId, NodeKind, Tree, identity_of, os_name};
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
    /// It has bytes and says that it has none.
    #[error("tells a size of 0 and has contents, as files under /proc do; store a copy of it")]
    SizeUntold,
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

/// Opens what a tree names, one directory after the other. No link is followed on the way from the
/// source to a file: what took the place of a directory since the scan cannot lead elsewhere.
#[derive(Debug)]
pub struct Opener<'a> {
    tree: &'a Tree,
    folder: Option<Folder>,
}

/// The directory whose files are being opened, see [`Tree::folder_key`].
#[derive(Debug)]
struct Folder {
    key: (NodeId, u32),
    descriptor: OwnedFd,
}

impl<'a> Opener<'a> {
    /// For the nodes of `tree`; quick when they come in the order of their numbers.
    pub fn new(tree: &'a Tree) -> Self {
        Self { tree, folder: None }
    }

    /// Opens a file, never anything that blocks, and makes sure before the first byte is read that
    /// it is the one that was scanned.
    ///
    /// # Errors
    /// When it is gone, is another, or may not be read.
    pub fn open(&mut self, id: NodeId) -> Result<Content<'a>, ContentError> {
        let node = self.tree.node(id);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.descriptor(id, flags)?;
        let sparse = matches!(node.kind, NodeKind::File { sparse: true, .. });
        let planned_bytes = node.size_bytes();
        let content = Content { tree: self.tree, id, file, planned_bytes, at: 0, sparse };
        match content.file.metadata() {
            Ok(found) if found.is_file() && identity_of(&found).is_of(&node.identity) => {
                Ok(content)
            }
            Ok(_) => Err(content.error(ContentErrorKind::Replaced)),
            Err(error) => Err(content.error(ContentErrorKind::Unreadable(error))),
        }
    }

    /// Makes sure that what has no bytes to copy, a directory or an empty file, is still there.
    ///
    /// # Errors
    /// When it is not what was scanned.
    pub fn confirm(&mut self, id: NodeId) -> Result<(), ContentError> {
        let node = self.tree.node(id);
        if !node.is_directory() {
            let content = self.open(id)?;
            return match (&content.file).read(&mut [0]) {
                // It has grown, or the kernel makes it up and tells no size.
                Ok(1..) => Err(content.failed(ContentErrorKind::SizeUntold)),
                _ => content.finish(),
            };
        }
        // What a link leads to is opened by what lies in it.
        if node.through_link || self.tree.location(id).is_none() {
            return Ok(());
        }
        let error = |kind| ContentError { path: self.tree.content_path(id), kind };
        let found = self.descriptor(id, OFlags::PATH | OFlags::DIRECTORY)?.metadata();
        match found {
            Ok(found) if node.merged || identity_of(&found).is_of(&node.identity) => Ok(()),
            Ok(_) => Err(error(ContentErrorKind::Replaced)),
            Err(cause) => Err(error(ContentErrorKind::Unreadable(cause))),
        }
    }

    fn descriptor(&mut self, id: NodeId, flags: OFlags) -> Result<File, ContentError> {
        let error = |cause: Errno| ContentError {
            path: self.tree.content_path(id),
            kind: match cause {
                Errno::NOENT => ContentErrorKind::Vanished,
                // A link, a file or a socket where something else was.
                Errno::LOOP | Errno::NOTDIR | Errno::XDEV | Errno::NXIO => {
                    ContentErrorKind::Replaced
                }
                cause => ContentErrorKind::Unreadable(cause.into()),
            },
        };
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let key = self.tree.folder_key(id);
        if let Some(folder) = self.folder.as_ref().filter(|held| Some(held.key) == key) {
            let name = os_name(self.tree.name(id));
            let opened = openat(&folder.descriptor, name, flags, Mode::empty());
            return opened.map(File::from).map_err(error);
        }
        let location = self.tree.location(id).ok_or(Errno::NOENT).map_err(error)?;
        let descriptor = open_folder(location.root, &location.folder).map_err(error)?;
        let opened = openat(&descriptor, location.name, flags, Mode::empty());
        if let Some(key) = key {
            self.folder = Some(Folder { key, descriptor });
        }
        opened.map(File::from).map_err(error)
    }
}

/// Opens the directory `path`, which lies under `root`, without following a link on the way.
fn open_folder(root: &Path, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root_descriptor = open(root, flags, Mode::empty())?;
    let below = match path.strip_prefix(root) {
        Ok(below) if !below.as_os_str().is_empty() => below,
        // The source itself.
        Ok(_) => return Ok(root_descriptor),
        Err(_) => return Err(Errno::XDEV),
    };
    let no_links = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match openat2(&root_descriptor, below, flags, Mode::empty(), no_links) {
        // Kernels before 5.6, and sandboxes that have not heard of the call: step by step.
        Err(Errno::NOSYS | Errno::PERM) => {
            let mut descriptor = root_descriptor;
            for step in below {
                descriptor = openat(&descriptor, step, flags | OFlags::NOFOLLOW, Mode::empty())?;
            }
            Ok(descriptor)
        }
        other => other,
    }
}

/// An open file of the tree.
#[derive(Debug)]
pub struct Content<'a> {
    tree: &'a Tree,
    id: NodeId,
    file: File,
    planned_bytes: u64,
    /// Where the next part begins.
    at: u64,
    sparse: bool,
}

impl Content<'_> {
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
            Err(error) => return Err(self.failed(ContentErrorKind::Unreadable(error.into()))),
        };
        if data_at > self.at {
            let hole = data_at - self.at;
            self.at = data_at;
            return Ok(Some(Part::Hole(hole)));
        }
        let hole_at = seek(&self.file, SeekFrom::Hole(self.at))
            .and_then(|hole_at| seek(&self.file, SeekFrom::Start(self.at)).map(|_| hole_at))
            .map_err(|error| self.failed(ContentErrorKind::Unreadable(error.into())))?
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
                Ok(0) => {
                    return Err(self.failed(ContentErrorKind::Unreadable(
                        io::ErrorKind::UnexpectedEof.into(),
                    )));
                }
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(ContentErrorKind::Unreadable(error))),
            }
        }
    }

    /// Ends the copy: the file must still be what was scanned. Asked after the last byte, so that no
    /// change since the scan can hide.
    ///
    /// # Errors
    /// When it is not.
    pub fn finish(self) -> Result<(), ContentError> {
        let found = match self.file.metadata() {
            Ok(found) => found,
            Err(error) => return Err(self.error(ContentErrorKind::Unreadable(error))),
        };
        match self.difference(&found) {
            None => Ok(()),
            Some(kind) => Err(self.error(kind)),
        }
    }

    /// Why a read failed: most likely because the file is not what was scanned.
    fn failed(&self, otherwise: ContentErrorKind) -> ContentError {
        let changed = self.file.metadata().ok().and_then(|found| self.difference(&found));
        self.error(changed.unwrap_or(otherwise))
    }

    fn difference(&self, found: &Metadata) -> Option<ContentErrorKind> {
        let (planned, now) = (self.planned_bytes, found.size());
        if now < planned {
            return Some(ContentErrorKind::Shrank { planned, now });
        }
        if now > planned {
            return Some(ContentErrorKind::Grew { planned, now });
        }
        let same = identity_of(found) == self.tree.node(self.id).identity;
        (!same).then_some(ContentErrorKind::Changed)
    }

    fn error(&self, kind: ContentErrorKind) -> ContentError {
        ContentError { path: self.tree.content_path(self.id), kind }
    }
}
