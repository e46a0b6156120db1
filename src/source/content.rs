//! The bytes of a file, exactly as many as were planned, from the very file that was scanned.
//! Knows no image.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, SeekFrom, openat, seek};
use rustix::io::Errno;
use thiserror::Error;

use super::beneath::Root;
use super::seen::Seen;
use super::tree::{NodeId, Tree, os_name};
use crate::event::ProblemKind;
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

impl ContentErrorKind {
    /// What programs call it.
    pub fn problem_kind(&self) -> ProblemKind {
        match self {
            Self::Vanished
            | Self::Replaced
            | Self::Shrank { .. }
            | Self::Grew { .. }
            | Self::Changed => ProblemKind::SourceChanged,
            Self::SizeUntold => ProblemKind::SizeUntold,
            Self::Unreadable(_) => ProblemKind::Unreadable,
        }
    }
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
    /// The source that was read from last.
    root: Option<Root>,
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
        Self { tree, root: None, folder: None }
    }

    /// Opens a file, never anything that blocks. Whether it is the one that was scanned is asked
    /// once, by [`Content::finish`]: a question before the first byte could not tell more, and would
    /// cost each small file a system call.
    ///
    /// # Errors
    /// When it is gone, or may not be read.
    pub fn open(&mut self, id: NodeId) -> Result<Content<'a>, ContentError> {
        let node = self.tree.node(id);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.descriptor(id, flags)?;
        let (range, sparse) = (0..node.size_bytes(), node.is_sparse());
        Ok(Content { tree: self.tree, id, file, range, sparse })
    }

    /// Makes sure that what has no bytes to copy, a directory or an empty file, is still there.
    ///
    /// # Errors
    /// When it is not what was scanned.
    pub fn confirm(&mut self, id: NodeId) -> Result<(), ContentError> {
        let node = self.tree.node(id);
        if !node.is_directory() {
            let content = self.open(id)?;
            return match content.read_at(0, &mut [0]) {
                // It has grown, or the kernel makes it up and tells no size.
                Ok(1..) => Err(content.failed(ContentErrorKind::SizeUntold)),
                Ok(0) => content.finish(),
                Err(error) => Err(content.failed(ContentErrorKind::Unreadable(error))),
            };
        }
        // What a link leads to is opened by what lies in it.
        if node.through_link || self.tree.location(id).is_none() {
            return Ok(());
        }
        let error = |kind| ContentError { path: self.tree.content_path(id), kind };
        let found = self.descriptor(id, OFlags::PATH | OFlags::DIRECTORY)?.metadata();
        match found {
            Ok(found) if node.merged || Seen::from(&found).identity.is_of(&node.identity) => Ok(()),
            Ok(_) => Err(error(ContentErrorKind::Replaced)),
            Err(cause) => Err(error(ContentErrorKind::Unreadable(cause))),
        }
    }

    fn descriptor(&mut self, id: NodeId, flags: OFlags) -> Result<File, ContentError> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = self.open_node(id, flags);
        opened.map(File::from).map_err(|cause| ContentError {
            path: self.tree.content_path(id),
            kind: match cause {
                Errno::NOENT => ContentErrorKind::Vanished,
                // A link, a file or a socket where something else was.
                Errno::LOOP | Errno::NOTDIR | Errno::XDEV | Errno::NXIO => {
                    ContentErrorKind::Replaced
                }
                cause => ContentErrorKind::Unreadable(cause.into()),
            },
        })
    }

    fn open_node(&mut self, id: NodeId, flags: OFlags) -> Result<OwnedFd, Errno> {
        let key = self.tree.folder_key(id);
        if let Some(folder) = self.folder.as_ref().filter(|held| Some(held.key) == key) {
            let name = os_name(self.tree.name(id));
            return openat(&folder.descriptor, name, flags, Mode::empty());
        }
        let location = self.tree.location(id).ok_or(Errno::NOENT)?;
        let root = match self.root.take().filter(|root| root.path() == location.root) {
            Some(root) => root,
            None => Root::open(location.root)?,
        };
        // Not two at once: descriptors may be few.
        self.folder = None;
        let descriptor = self.root.insert(root).directory(&location.folder, OFlags::PATH)?;
        let opened = openat(&descriptor, location.name, flags, Mode::empty());
        if let Some(key) = key {
            self.folder = Some(Folder { key, descriptor });
        }
        opened
    }
}

/// An open file of the tree, or a range of one.
#[derive(Debug)]
pub struct Content<'a> {
    tree: &'a Tree,
    id: NodeId,
    file: File,
    /// The bytes that are still to come.
    range: Range<u64>,
    sparse: bool,
}

impl Content<'_> {
    /// The file, for whoever takes its bytes without reading them.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Leaves of what is to come only the bytes of `range`, counted from the file's beginning.
    pub fn narrow(&mut self, range: Range<u64>) {
        let (start, end) = (self.range.start, self.range.end);
        self.range = range.start.clamp(start, end)..range.end.clamp(start, end);
    }

    /// The next part, or `None` at the end. A part of data is to be read before the next call.
    ///
    /// # Errors
    /// When the system cannot tell where data are.
    pub fn next_part(&mut self) -> Result<Option<Part>, ContentError> {
        let Range { start, end } = self.range;
        if start >= end {
            return Ok(None);
        }
        if !self.sparse {
            return Ok(Some(Part::Data(end - start)));
        }
        let data_at = match seek(&self.file, SeekFrom::Data(start)) {
            Ok(data_at) => data_at.min(end),
            // Nothing but a hole up to the end.
            Err(Errno::NXIO) => end,
            // The file system knows no holes: all is data.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                self.sparse = false;
                return self.next_part();
            }
            Err(error) => return Err(self.failed(ContentErrorKind::Unreadable(error.into()))),
        };
        if data_at > start {
            self.range.start = data_at;
            return Ok(Some(Part::Hole(data_at - start)));
        }
        let hole_at = seek(&self.file, SeekFrom::Hole(start))
            .map_err(|error| self.failed(ContentErrorKind::Unreadable(error.into())))?
            .clamp(start + 1, end);
        Ok(Some(Part::Data(hole_at - start)))
    }

    /// Reads into `buffer`, as much as the system gives at once and at least one byte.
    ///
    /// # Errors
    /// When the file ends early or cannot be read.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ContentError> {
        match self.read_at(self.range.start, buffer) {
            Ok(0) => {
                let early = io::ErrorKind::UnexpectedEof.into();
                Err(self.failed(ContentErrorKind::Unreadable(early)))
            }
            Ok(read) => {
                self.range.start += read as u64;
                Ok(read)
            }
            Err(error) => Err(self.failed(ContentErrorKind::Unreadable(error))),
        }
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read_at(buffer, at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Ends the copy: the file must be what was scanned. Asked after the last byte, so that no
    /// change since the scan can hide; of a file that is copied in pieces, after the last byte of
    /// each.
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
        let node = self.tree.node(self.id);
        let identity = Seen::from(found).identity;
        if !found.is_file() || !identity.is_of(&node.identity) {
            return Some(ContentErrorKind::Replaced);
        }
        let (planned, now) = (node.size_bytes(), found.size());
        if now < planned {
            return Some(ContentErrorKind::Shrank { planned, now });
        }
        if now > planned {
            return Some(ContentErrorKind::Grew { planned, now });
        }
        (identity != node.identity).then_some(ContentErrorKind::Changed)
    }

    fn error(&self, kind: ContentErrorKind) -> ContentError {
        ContentError { path: self.tree.content_path(self.id), kind }
    }
}
