//! Sources into the tree: walks directories, and makes sure that they are those that were met.
//! Opens nothing but directories.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::{DirEntry, DirEntryExt, WalkDir};

use super::growing::{Found, GrowingTree, Landing, Spot};
use super::refusal::RefusalKind;
use super::tree::{Identity, NodeId, Origin, Tree, identity_of};
use super::{Place, Sources, Stopped};
use crate::event::{NoticeKind, Observer};

pub(super) struct Walk<'a> {
    pub(super) sources: &'a Sources,
    pub(super) watch: &'a dyn Observer,
    pub(super) tree: GrowingTree,
    /// Device and inode of the outputs of this build that exist already, and of links to them.
    pub(super) outputs: Vec<(u64, u64)>,
    /// Directories that links led to.
    pub(super) linked_directories: u32,
    first: bool,
}

/// A directory that is still to be walked, and what must not be left on the way into it.
pub(super) struct Pending {
    pub(super) path: PathBuf,
    pub(super) node: NodeId,
    pub(super) root: Arc<Path>,
    pub(super) identity: Identity,
}

/// The directory that the walk went into last.
struct Opened {
    path: PathBuf,
    depth: usize,
    identity: Identity,
    confirmed: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(sources: &'a Sources, watch: &'a dyn Observer) -> Self {
        let identity = |found: io::Result<Metadata>| found.ok().map(|m| (m.dev(), m.ino()));
        let paths = sources.leave_out.iter();
        let outputs = paths.flat_map(|path| [fs::metadata(path), fs::symlink_metadata(path)]);
        Self {
            sources,
            watch,
            tree: GrowingTree::new(),
            outputs: outputs.filter_map(identity).collect(),
            linked_directories: 0,
            first: true,
        }
    }

    pub(super) fn finish(self) -> Tree {
        self.tree.finish()
    }

    /// Lays one more source over the tree.
    pub(super) fn add(&mut self, place: &Place) -> Result<(), Stopped> {
        if !std::mem::take(&mut self.first) {
            self.tree.expect_meetings();
        }
        let path = &place.path;
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => {
                self.tree.refuse(path, RefusalKind::Unreadable(error));
                return Ok(());
            }
        };
        if self.outputs.contains(&(metadata.dev(), metadata.ino())) {
            self.tree.refuse(path, RefusalKind::IsOutput);
            return Ok(());
        }
        let identity = identity_of(&metadata);
        if metadata.is_dir() {
            let Some(node) = self.destination(&place.destination, identity, path) else {
                return Ok(());
            };
            self.tree.merge_directory(node, identity);
            let root = Arc::from(path.as_path());
            return self.walk(Pending { path: path.clone(), node, root, identity });
        }
        let Some((name, directories)) = place.destination.split_last() else {
            self.tree.refuse(path, RefusalKind::FileWithoutDestination(path.clone()));
            return Ok(());
        };
        if let Some(parent) = self.destination(directories, identity, path) {
            let mut typed = path.as_os_str().to_owned();
            typed.push(":");
            for name in &place.destination {
                typed.push("/");
                typed.push(name);
            }
            match fs::canonicalize(path) {
                Ok(content) => {
                    let root = Arc::from(content.parent().unwrap_or(path));
                    let origin = Origin::Exactly { root, listed: PathBuf::from(typed), content };
                    self.place_file(origin, parent, name, &metadata, false);
                }
                Err(error) => {
                    self.tree.refuse(path, RefusalKind::Unreadable(error));
                }
            }
        }
        Ok(())
    }

    /// The directory at `names`, made where no source brought it; then with the time of the
    /// source that needs it.
    fn destination(
        &mut self,
        names: &[impl AsRef<OsStr>],
        identity: Identity,
        path: &Path,
    ) -> Option<NodeId> {
        let found = Found {
            identity: Identity { device: 0, inode: 0, ..identity },
            file: None,
            through_link: false,
        };
        let mut node = NodeId::ROOT;
        for name in names {
            let spot = Spot { parent: node, name: name.as_ref().as_bytes(), origin: 0 };
            node = match self.tree.directory_at(spot.parent, spot.name) {
                Some(there) => there,
                None => match self.tree.place(spot, found, self.sources.overlay, path) {
                    Landing::New(id) | Landing::Met(id) => id,
                    Landing::Refused => return None,
                },
            };
        }
        Some(node)
    }

    /// Walks `start` and every directory that a link in it leads to.
    fn walk(&mut self, start: Pending) -> Result<(), Stopped> {
        let mut pending = vec![start];
        while let Some(Pending { path, node, root, identity }) = pending.pop() {
            let under = |base: &Path| Origin::Under { root: Arc::clone(&root), base: base.into() };
            let origin = self.tree.add_origin(under(&path));
            let mut above = vec![(node, origin)];
            let mut opened = Opened { path: path.clone(), depth: 0, identity, confirmed: false };
            let mut entries = WalkDir::new(path).min_depth(1).sort_by_file_name().into_iter();
            while let Some(entry) = entries.next() {
                if self.watch.must_stop() {
                    return Err(Stopped);
                }
                self.watch.advance(1);
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => {
                        let path = error.path().unwrap_or(&opened.path).to_path_buf();
                        self.tree.refuse(&path, RefusalKind::Unreadable(error_of(error)));
                        continue;
                    }
                };
                if entry.depth() == opened.depth + 1 && !opened.confirmed {
                    if !self.is_still(&opened, &root) {
                        // What was read may have been another directory, even one outside.
                        entries.skip_current_dir();
                        continue;
                    }
                    opened.confirmed = true;
                }
                above.truncate(entry.depth());
                let Some((parent, origin)) = above.last().copied() else { continue };
                let spot = Spot { parent, name: entry.file_name().as_bytes(), origin };
                if self.is_output(&entry) {
                    let text = "output of this build left out";
                    self.notice(NoticeKind::OutputLeftOut, entry.path(), text);
                    if entry.file_type().is_dir() {
                        entries.skip_current_dir();
                    }
                } else if entry.file_type().is_symlink() {
                    pending.extend(self.link(&root, &entry, spot));
                } else if entry.file_type().is_dir() {
                    let landing = self.directory(&entry, spot);
                    match landing {
                        Landing::New(id) => above.push((id, origin)),
                        Landing::Met(id) => {
                            above.push((id, self.tree.add_origin(under(entry.path()))));
                        }
                        Landing::Refused => entries.skip_current_dir(),
                    }
                    if let Landing::New(id) | Landing::Met(id) = landing {
                        // Just now it got this identity.
                        let identity = self.tree.node(id).identity;
                        opened = Opened {
                            path: entry.path().to_path_buf(),
                            depth: entry.depth(),
                            identity,
                            confirmed: false,
                        };
                    }
                } else {
                    self.file(&entry, spot);
                }
            }
        }
        Ok(())
    }

    /// Whether a directory is still the one that was met; asked after it was read, at its first
    /// entry. The walk itself would follow a link that took its place.
    fn is_still(&mut self, opened: &Opened, root: &Path) -> bool {
        let path = &opened.path;
        // Only the source itself may be named by a link.
        let found = if path == root { fs::metadata(path) } else { fs::symlink_metadata(path) };
        let refusal = match found {
            Ok(found) if found.is_dir() && identity_of(&found).is_of(&opened.identity) => {
                return true;
            }
            Ok(_) => RefusalKind::Replaced,
            Err(error) => RefusalKind::Unreadable(error),
        };
        self.tree.refuse(path, refusal);
        false
    }

    /// Whether the entry, not what it may link to, is an output.
    fn is_output(&self, entry: &DirEntry) -> bool {
        // The directory tells inode numbers; the system is asked only when one is met.
        self.outputs.iter().any(|(_, inode)| *inode == entry.ino())
            && entry.metadata().is_ok_and(|m| self.outputs.contains(&(m.dev(), m.ino())))
    }

    fn directory(&mut self, entry: &DirEntry, spot: Spot<'_>) -> Landing {
        match entry.metadata() {
            Ok(metadata) if !metadata.is_dir() => {
                self.tree.refuse(entry.path(), RefusalKind::Replaced)
            }
            Ok(metadata) => {
                let identity = identity_of(&metadata);
                let found = Found { identity, file: None, through_link: false };
                self.tree.place(spot, found, self.sources.overlay, entry.path())
            }
            Err(error) => self.tree.refuse(entry.path(), RefusalKind::Unreadable(error_of(error))),
        }
    }
}

pub(super) fn error_of(error: walkdir::Error) -> io::Error {
    error.into_io_error().unwrap_or_else(|| io::Error::other("loop of directories"))
}
