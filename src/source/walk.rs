//! Sources into the tree, directory by directory, in the order of their names. Opens no
//! file.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;

use super::ahead::{Ahead, Delivered, Ticket};
use super::beneath::Root;
use super::entries::kind_of;
use super::growing::{Found, GrowingTree, Landing, Spot};
use super::listing::{Folder, Listed, Listing};
use super::manifest;
use super::named::Finder;
use super::refusal::RefusalKind;
use super::seen::Seen;
use super::tree::{Identity, NodeId, Origin, os_name};
use super::{Place, Sources, Stopped};
use crate::event::{Notice, NoticeKind, Observer};

pub(super) struct Walk<'a> {
    pub(super) sources: &'a Sources,
    pub(super) watch: &'a dyn Observer,
    ahead: &'a Ahead<'a>,
    pub(super) tree: GrowingTree,
    /// Device and inode of the outputs of this build that exist already, and of links to them.
    outputs: Vec<(u64, u64)>,
    /// Directories that links led to.
    pub(super) linked_directories: u32,
    /// Numbers of the patterns that matched something.
    pub(super) patterns_used: BTreeSet<usize>,
    first: bool,
}

/// A directory that a link led to, still to be walked.
pub(super) struct Pending {
    pub(super) node: NodeId,
    pub(super) folder: Folder,
}

/// A directory that the walk is in.
struct Inside {
    listing: Listing,
    /// What is still to be taken.
    entries: std::vec::IntoIter<Listed>,
    /// The tickets of the directories among it.
    tickets: std::vec::IntoIter<Arc<Ticket>>,
    path: PathBuf,
    node: NodeId,
    origin: u32,
}

impl<'a> Walk<'a> {
    pub(super) fn new(sources: &'a Sources, watch: &'a dyn Observer, ahead: &'a Ahead<'a>) -> Self {
        let identity = |found: io::Result<Metadata>| found.ok().map(|m| (m.dev(), m.ino()));
        let paths = sources.leave_out.iter();
        let outputs = paths.flat_map(|path| [fs::metadata(path), fs::symlink_metadata(path)]);
        Self {
            sources,
            watch,
            ahead,
            tree: GrowingTree::new(),
            outputs: outputs.filter_map(identity).collect(),
            linked_directories: 0,
            patterns_used: BTreeSet::new(),
            first: true,
        }
    }

    /// What was walked, not sorted yet.
    pub(super) fn into_tree(mut self) -> GrowingTree {
        let exclude = &self.sources.exclude;
        for number in (0..exclude.len()).filter(|number| !self.patterns_used.contains(number)) {
            let text = exclude.told_as_unused(number);
            self.tree.note(Notice::new(NoticeKind::PatternUnused, text));
        }
        self.tree
    }

    /// Lays one more source over the tree.
    pub(super) fn add(&mut self, place: &Place) -> Result<(), Stopped> {
        if !std::mem::take(&mut self.first) {
            self.tree.expect_meetings();
        }
        if self.sources.note_walked {
            self.tree.walked.push(place.path.clone());
        }
        let path = &place.path;
        let seen = match fs::metadata(path) {
            Ok(metadata) => Seen::from(&metadata),
            Err(_) if path.as_os_str() == "-" => {
                self.tree.refuse(path, RefusalKind::Passing("standard input"));
                return Ok(());
            }
            Err(error) => {
                self.tree.refuse(path, RefusalKind::Unreadable(error));
                return Ok(());
            }
        };
        if self.is_output(&seen) {
            self.tree.refuse(path, RefusalKind::IsOutput);
            return Ok(());
        }
        let pipe = matches!(seen.file_type, FileType::Fifo | FileType::Socket);
        // One of a shell, `<(...)`, and of standard input has no place of its own.
        if pipe && fs::canonicalize(path).is_err() {
            self.tree.refuse(path, RefusalKind::Passing("a pipe"));
            return Ok(());
        }
        let (identity, typed) = (seen.identity, typed(place));
        let image_path: PathBuf = place.destination.iter().collect();
        if self.is_excluded_on_the_way(&typed, &image_path, seen.is_directory()) {
            return Ok(());
        }
        if seen.is_directory() {
            let Some(node) = self.destination(&place.destination, identity, path) else {
                return Ok(());
            };
            self.tree.merge_directory(node, identity);
            let Some(root) = self.open_root(path, path) else { return Ok(()) };
            let folder = Folder { root, path: path.clone(), image_path, identity };
            return self.walk(Pending { node, folder });
        }
        if place.destination.is_empty() {
            if !seen.is_file() {
                let kind = RefusalKind::SpecialSource(kind_of(seen.file_type));
                self.tree.refuse(path, kind);
                return Ok(());
            }
            let refusal = match manifest::open(path) {
                Ok(Some(reader)) => return self.manifest(path, identity, reader),
                Ok(None) => RefusalKind::FileWithoutDestination(path.clone()),
                Err(error) => RefusalKind::Unreadable(error),
            };
            self.tree.refuse(path, refusal);
            return Ok(());
        }
        self.given_file(place, typed);
        Ok(())
    }

    /// Takes a file that was given by name.
    fn given_file(&mut self, place: &Place, typed: PathBuf) {
        let Some((name, directories)) = place.destination.split_last() else { return };
        let path = &place.path;
        let (seen, content) = match Finder::default().look_at(path) {
            Ok(found) => found,
            Err(error) => {
                self.tree.refuse(path, RefusalKind::Unreadable(error));
                return;
            }
        };
        if !seen.is_file() {
            return self.special(&typed, seen.file_type);
        }
        let Some(parent) = self.destination(directories, seen.identity, path) else { return };
        if self.sources.note_walked {
            self.tree.walked.extend(content.end_of_link());
        }
        let origin = self.tree.add_origin(Origin::Given { typed: typed.clone(), content });
        let spot = Spot { parent, name: name.as_bytes(), origin };
        self.regular_file(&typed, path, spot, &seen, false);
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
            read_only: false,
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

    /// Opens what must not be left on the way to the files of a source, or refuses `listed`.
    pub(super) fn open_root(&mut self, path: &Path, listed: &Path) -> Option<Arc<Root>> {
        match Root::open(path) {
            Ok(root) => Some(Arc::new(root)),
            Err(error) => {
                self.tree.refuse(listed, RefusalKind::Unreadable(error.into()));
                None
            }
        }
    }

    /// Walks `start` and every directory that a link in it leads to.
    fn walk(&mut self, start: Pending) -> Result<(), Stopped> {
        let mut pending = vec![start];
        while let Some(Pending { node, folder }) = pending.pop() {
            let (root, path) = (Arc::clone(&folder.root), folder.path.clone());
            let named: Arc<Path> = Arc::from(root.path());
            let origin_at =
                |base: &Path| Origin::Under { root: Arc::clone(&named), base: base.into() };
            let origin = self.tree.add_origin(origin_at(&path));
            let mut inside = vec![self.enter(self.ahead.list(folder), path, node, origin)];
            while let Some(here) = inside.last_mut() {
                if self.watch.must_stop() {
                    return Err(Stopped);
                }
                let Some(entry) = here.entries.next() else {
                    inside.pop();
                    continue;
                };
                self.watch.advance(1);
                let name = here.listing.name(&entry);
                let path = here.path.join(os_name(name));
                let seen = match entry.seen {
                    Ok(seen) => seen,
                    Err(error) => {
                        let kind = match error.kind() {
                            io::ErrorKind::NotFound => RefusalKind::Vanished,
                            _ => RefusalKind::Unreadable(error),
                        };
                        self.tree.refuse(&path, kind);
                        continue;
                    }
                };
                // Each directory has one, whatever becomes of it.
                let ticket = if seen.is_directory() { here.tickets.next() } else { None };
                let spot = Spot { parent: here.node, name, origin: here.origin };
                if seen.file_type == FileType::Symlink && !self.is_output(&seen) {
                    pending.extend(self.link(&root, &path, spot));
                } else if let Some(ticket) = ticket {
                    let identity = seen.identity;
                    let found =
                        Found { identity, file: None, through_link: false, read_only: false };
                    let landing = self.tree.place(spot, found, self.sources.overlay, &path);
                    let (node, origin) = match landing {
                        Landing::New(node) => (node, here.origin),
                        Landing::Met(node) => (node, self.tree.add_origin(origin_at(&path))),
                        Landing::Refused => continue,
                    };
                    inside.push(self.enter(self.ahead.collect(&ticket), path, node, origin));
                } else {
                    self.file(&path, &path, spot, &seen, false);
                }
            }
        }
        Ok(())
    }

    /// Goes into a directory that was listed.
    fn enter(&mut self, listed: Delivered, path: PathBuf, node: NodeId, origin: u32) -> Inside {
        let Delivered { mut listing, directories } = listed;
        for refusal in std::mem::take(&mut listing.refusals) {
            self.tree.refuse(&path, refusal);
        }
        for (entry, matching) in std::mem::take(&mut listing.excluded) {
            self.leave_out(&path.join(os_name(listing.name(&entry))), &matching);
        }
        if self.sources.note_walked {
            self.tree.walked.push(path.clone());
        }
        let entries = listing.take_entries().into_iter();
        Inside { listing, entries, tickets: directories.into_iter(), path, node, origin }
    }

    /// Whether the entry, not what it may link to, is an output.
    pub(super) fn is_output(&self, seen: &Seen) -> bool {
        self.outputs.contains(&(seen.identity.device, seen.identity.inode))
    }
}

/// A source and its place as they are typed.
fn typed(place: &Place) -> PathBuf {
    let mut typed = place.path.as_os_str().to_owned();
    if !place.destination.is_empty() {
        typed.push(":");
    }
    for name in &place.destination {
        typed.push("/");
        typed.push(name);
    }
    PathBuf::from(typed)
}
