//! Sources into the tree: walks directories and decides by the policies what each entry is.
//! Opens nothing but directories; knows no FAT.

use std::ffi::OsStr;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use walkdir::{DirEntry, DirEntryExt, WalkDir};

use super::growing::{Found, GrowingTree, Landing, Spot};
use super::link;
use super::refusal::RefusalKind;
use super::tree::{Identity, NodeId, Origin, Tree, identity_of};
use super::{LinkPolicy, Place, Sources, Stopped};
use crate::event::{Notice, NoticeKind, Observer};
use crate::printable;

/// Directories that link to each other multiply: ten of them make ten million. More than this is
/// a mistake in the source.
const MAX_LINKED_DIRECTORIES: u32 = 100_000;

/// Bytes of the blocks in which `st_blocks` counts.
const STAT_BLOCK_BYTES: u64 = 512;

pub(super) struct Walk<'a> {
    sources: &'a Sources,
    watch: &'a dyn Observer,
    tree: GrowingTree,
    /// Device and inode of the outputs of this build that exist already, and of links to them.
    outputs: Vec<(u64, u64)>,
    /// Directories that links led to.
    linked_directories: u32,
    first: bool,
}

/// A directory that is still to be walked, and what must not be left on the way into it.
struct Pending {
    path: PathBuf,
    node: NodeId,
    root: Arc<Path>,
    identity: Identity,
}

/// The directory that the walk went into last.
struct Opened {
    path: PathBuf,
    depth: usize,
    identity: Identity,
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
            self.tree.set_identity(node, identity);
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
            let mut opened = Opened { path: path.clone(), depth: 0, identity };
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
                if entry.depth() == opened.depth + 1 && !self.is_still(&opened, &root) {
                    // What was read may have been another directory, even one outside.
                    entries.skip_current_dir();
                    continue;
                }
                above.truncate(entry.depth());
                let Some((parent, origin)) = above.last().copied() else { continue };
                let spot = Spot { parent, name: entry.file_name().as_bytes(), origin };
                if self.is_output(&entry) {
                    let text = "output of this build left out";
                    self.notice(NoticeKind::OutputLeftOut, entry.path(), text);
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

    fn file(&mut self, entry: &DirEntry, spot: Spot<'_>) {
        // What is no file is not even asked for its size.
        if !entry.file_type().is_file() {
            return self.special(entry.path(), entry.file_type());
        }
        match entry.metadata() {
            Ok(metadata) if !metadata.is_file() => {
                self.tree.refuse(entry.path(), RefusalKind::Replaced);
            }
            Ok(metadata) => {
                self.regular_file(entry.path(), entry.path(), spot, &metadata, false);
            }
            Err(error) => {
                self.tree.refuse(entry.path(), RefusalKind::Unreadable(error_of(error)));
            }
        }
    }

    /// Takes a link for what it leads to; a directory is returned, to be walked later.
    fn link(&mut self, root: &Arc<Path>, entry: &DirEntry, spot: Spot<'_>) -> Option<Pending> {
        let listed = entry.path();
        let target = match self.sources.links {
            LinkPolicy::Follow => link::within_root(root, listed),
            LinkPolicy::Host => link::on_host(listed),
            LinkPolicy::Skip => {
                self.notice(NoticeKind::LinkSkipped, listed, "symbolic link left out");
                return None;
            }
            LinkPolicy::Error => Err(RefusalKind::Link),
        };
        let target = match target {
            Ok(target) => target,
            Err(kind) if kind.is_lost_link() => {
                self.lost_link(listed, kind);
                return None;
            }
            Err(kind) => {
                self.tree.refuse(listed, kind);
                return None;
            }
        };
        if !target.metadata.is_dir() {
            let (parent, name) = (spot.parent, entry.file_name());
            let root = self.root_of(root, target.path.parent().unwrap_or(&target.path));
            let listed = listed.to_path_buf();
            let origin = Origin::Exactly { root, listed, content: target.path };
            self.place_file(origin, parent, name, &target.metadata, true);
            return None;
        }
        let identity = identity_of(&target.metadata);
        if self.tree.lies_in(spot.parent, &identity) {
            let text = fs::read_link(listed).unwrap_or_default();
            let inside = (self.sources.links == LinkPolicy::Follow).then(|| root.to_path_buf());
            self.lost_link(listed, RefusalKind::LinkLoop { target: text, root: inside });
            return None;
        }
        self.linked_directories += 1;
        if self.linked_directories > MAX_LINKED_DIRECTORIES {
            self.tree.refuse(listed, RefusalKind::LinksMultiply);
            return None;
        }
        let found = Found { identity, file: None, through_link: true };
        match self.tree.place(spot, found, self.sources.overlay, listed) {
            Landing::New(node) | Landing::Met(node) => {
                let root = self.root_of(root, &target.path);
                Some(Pending { path: target.path, node, root, identity })
            }
            Landing::Refused => None,
        }
    }

    /// What must not be left on the way to the end of a link: the source, or on the host the
    /// directory where the link ends.
    fn root_of(&self, root: &Arc<Path>, end: &Path) -> Arc<Path> {
        match self.sources.links {
            LinkPolicy::Host => Arc::from(end),
            _ => Arc::clone(root),
        }
    }

    fn lost_link(&mut self, listed: &Path, kind: RefusalKind) {
        let (target, why) = match &kind {
            RefusalKind::EscapingLink { target, .. } => (target, "leads out of the source"),
            RefusalKind::LinkLoop { target, .. } => (target, "leads in a circle"),
            RefusalKind::DanglingLink { target, .. } => (target, "leads nowhere"),
            _ => return,
        };
        let text = format!("link to {} left out: {why}", printable::path(target));
        if self.sources.skip_dangling {
            self.notice(NoticeKind::DanglingLinkSkipped, listed, &text);
        } else {
            self.tree.refuse(listed, kind);
        }
    }

    /// A file that is not under the walk's directory by its own name: the end of a link, or one
    /// given by name.
    fn place_file(
        &mut self,
        origin: Origin,
        parent: NodeId,
        name: &OsStr,
        metadata: &Metadata,
        through_link: bool,
    ) {
        let Origin::Exactly { listed, content, .. } = &origin else { return };
        let (listed, content) = (listed.clone(), content.clone());
        if !metadata.is_file() {
            return self.special(&listed, metadata.file_type());
        }
        let origin = self.tree.add_origin(origin);
        let spot = Spot { parent, name: name.as_bytes(), origin };
        self.regular_file(&listed, &content, spot, metadata, through_link);
    }

    fn regular_file(
        &mut self,
        path: &Path,
        content: &Path,
        spot: Spot<'_>,
        metadata: &Metadata,
        through_link: bool,
    ) {
        if self.outputs.contains(&(metadata.dev(), metadata.ino())) {
            return self.notice(NoticeKind::OutputLeftOut, path, "output of this build left out");
        }
        if let Err(error) = readable(content, metadata) {
            self.tree.refuse(path, RefusalKind::Unreadable(error));
            return;
        }
        let size_bytes = metadata.size();
        let sparse = metadata.blocks().saturating_mul(STAT_BLOCK_BYTES) < size_bytes;
        let found = Found {
            identity: identity_of(metadata),
            file: Some((size_bytes, sparse)),
            through_link,
        };
        let landing = self.tree.place(spot, found, self.sources.overlay, path);
        if let Landing::Met(_) = landing {
            let text = "takes the place of an earlier source's file";
            self.notice(NoticeKind::FileReplaced, path, text);
        }
    }

    fn special(&mut self, path: &Path, file_type: FileType) {
        let what = if file_type.is_fifo() {
            "FIFO"
        } else if file_type.is_socket() {
            "socket"
        } else if file_type.is_char_device() {
            "character device"
        } else {
            "block device"
        };
        if self.sources.skip_special {
            self.notice(NoticeKind::SpecialFileSkipped, path, &format!("{what} left out"));
        } else {
            self.tree.refuse(path, RefusalKind::Special(what));
        }
    }

    fn notice(&mut self, kind: NoticeKind, path: &Path, text: &str) {
        let text = format!("{}: {text}", printable::path(path));
        self.tree.notices.push(Notice { kind, text });
    }
}

/// Fails where opening the file would. Asks the system only when the mode leaves a doubt.
fn readable(path: &Path, metadata: &Metadata) -> io::Result<()> {
    if metadata.mode() & 0o444 == 0o444 {
        return Ok(());
    }
    accessat(CWD, path, Access::READ_OK, AtFlags::EACCESS).map_err(io::Error::from)
}

fn error_of(error: walkdir::Error) -> io::Error {
    error.into_io_error().unwrap_or_else(|| io::Error::other("loop of directories"))
}
