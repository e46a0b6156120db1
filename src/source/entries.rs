//! What each entry of a source is, by the policies: file, link to follow, or nothing that can go in.
//! Opens nothing.

use std::ffi::OsStr;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use walkdir::DirEntry;

use super::LinkPolicy;
use super::growing::{Found, Landing, Spot};
use super::link;
use super::refusal::RefusalKind;
use super::tree::{NodeId, Origin, identity_of};
use super::walk::{Pending, Walk, error_of};
use crate::event::{Notice, NoticeKind};
use crate::printable;

/// Directories that link to each other multiply: ten of them make ten million. More than this is
/// a mistake in the source.
const MAX_LINKED_DIRECTORIES: u32 = 100_000;

/// Bytes of the blocks in which `st_blocks` counts.
const STAT_BLOCK_BYTES: u64 = 512;

impl Walk<'_> {
    pub(super) fn file(&mut self, entry: &DirEntry, spot: Spot<'_>) {
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
    pub(super) fn link(
        &mut self,
        root: &Arc<Path>,
        entry: &DirEntry,
        spot: Spot<'_>,
    ) -> Option<Pending> {
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
    pub(super) fn place_file(
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

    pub(super) fn special(&mut self, path: &Path, file_type: FileType) {
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

    pub(super) fn notice(&mut self, kind: NoticeKind, path: &Path, text: &str) {
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
