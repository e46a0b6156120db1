//! Sources into the tree: walks directories and decides by the policies what each entry is.
//! Opens nothing but directories; knows no FAT.

use std::ffi::OsStr;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use walkdir::{DirEntry, DirEntryExt, WalkDir};

use super::growing::{Found, GrowingTree, Landing, Spot};
use super::link;
use super::refusal::RefusalKind;
use super::tree::{Identity, NodeId, Origin, Tree};
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

/// A directory that is still to be walked.
struct Pending {
    path: PathBuf,
    node: NodeId,
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
        let identity = identity_of(&metadata);
        if metadata.is_dir() {
            let Some(node) = self.destination(&place.destination, identity, path) else {
                return Ok(());
            };
            self.tree.set_identity(node, identity);
            return self.walk(path, Pending { path: path.clone(), node });
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
            self.place_file(Path::new(&typed), path, parent, name, &metadata, false);
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
    fn walk(&mut self, root: &Path, start: Pending) -> Result<(), Stopped> {
        let mut pending = vec![start];
        while let Some(Pending { path, node }) = pending.pop() {
            let origin = self.tree.add_origin(Origin::Under(path.clone()));
            let mut above = vec![(node, origin)];
            let mut entries = WalkDir::new(path).min_depth(1).sort_by_file_name().into_iter();
            while let Some(entry) = entries.next() {
                if self.watch.must_stop() {
                    return Err(Stopped);
                }
                self.watch.advance(1);
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => {
                        let path = error.path().unwrap_or(root).to_path_buf();
                        self.tree.refuse(&path, RefusalKind::Unreadable(error_of(error)));
                        continue;
                    }
                };
                above.truncate(entry.depth());
                let Some((parent, origin)) = above.last().copied() else { continue };
                let spot = Spot { parent, name: entry.file_name().as_bytes(), origin };
                if self.is_output(&entry) {
                    let text = "output of this build left out";
                    self.notice(NoticeKind::OutputLeftOut, entry.path(), text);
                } else if entry.file_type().is_symlink() {
                    pending.extend(self.link(root, &entry, spot));
                } else if entry.file_type().is_dir() {
                    match self.directory(&entry, spot) {
                        Landing::New(id) => above.push((id, origin)),
                        Landing::Met(id) => {
                            let here = Origin::Under(entry.path().to_path_buf());
                            above.push((id, self.tree.add_origin(here)));
                        }
                        Landing::Refused => entries.skip_current_dir(),
                    }
                } else {
                    self.file(&entry, spot);
                }
            }
        }
        Ok(())
    }

    /// Whether the entry, not what it may link to, is an output.
    fn is_output(&self, entry: &DirEntry) -> bool {
        // The directory tells inode numbers; the system is asked only when one is met.
        self.outputs.iter().any(|(_, inode)| *inode == entry.ino())
            && entry.metadata().is_ok_and(|m| self.outputs.contains(&(m.dev(), m.ino())))
    }

    fn directory(&mut self, entry: &DirEntry, spot: Spot<'_>) -> Landing {
        match entry.metadata() {
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
            Ok(metadata) => {
                self.regular_file(entry.path(), entry.path(), spot, &metadata, false);
            }
            Err(error) => {
                self.tree.refuse(entry.path(), RefusalKind::Unreadable(error_of(error)));
            }
        }
    }

    /// Takes a link for what it leads to; a directory is returned, to be walked later.
    fn link(&mut self, root: &Path, entry: &DirEntry, spot: Spot<'_>) -> Option<Pending> {
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
            self.place_file(listed, &target.path, parent, name, &target.metadata, true);
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
            Landing::New(node) | Landing::Met(node) => Some(Pending { path: target.path, node }),
            Landing::Refused => None,
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
        listed: &Path,
        content: &Path,
        parent: NodeId,
        name: &OsStr,
        metadata: &Metadata,
        through_link: bool,
    ) {
        if !metadata.is_file() {
            return self.special(listed, metadata.file_type());
        }
        let origin = self.tree.add_origin(Origin::Exactly {
            listed: listed.to_path_buf(),
            content: content.to_path_buf(),
        });
        let spot = Spot { parent, name: name.as_bytes(), origin };
        self.regular_file(listed, content, spot, metadata, through_link);
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

fn identity_of(metadata: &Metadata) -> Identity {
    Identity {
        device: metadata.dev(),
        inode: metadata.ino(),
        modified_seconds: metadata.mtime(),
        // Always below a thousand million.
        modified_nanoseconds: metadata.mtime_nsec() as u32,
    }
}

fn error_of(error: walkdir::Error) -> io::Error {
    error.into_io_error().unwrap_or_else(|| io::Error::other("loop of directories"))
}
