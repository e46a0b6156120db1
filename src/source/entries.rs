//! What each entry of a source is, by the policies: file, link to follow, or nothing that can go
//! in. Opens no file.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, FileType, accessat};

use super::LinkPolicy;
use super::beneath::Root;
use super::growing::{Found, Landing, Spot};
use super::link;
use super::listing::Folder;
use super::met::MetAt;
use super::refusal::RefusalKind;
use super::seen::Seen;
use super::tree::Origin;
use super::walk::{Pending, Walk};
use crate::event::NoticeKind;
use crate::printable;

/// Directories that link to each other multiply: ten of them make ten million. More than this is
/// a mistake in the source.
const MAX_LINKED_DIRECTORIES: u32 = 100_000;

impl Walk<'_> {
    /// Takes a file, or anything else that is neither directory nor link, met at `path`.
    pub(super) fn file(
        &mut self,
        path: &Path,
        content: &Path,
        spot: Spot<'_>,
        seen: &Seen,
        through_link: bool,
    ) {
        if self.is_output(seen) {
            // A build meets its own earlier outputs.
            self.notice(NoticeKind::OutputLeftOut, path, "output of this build left out");
        } else if seen.is_file() {
            self.regular_file(path, content, spot, seen, through_link);
        } else {
            self.special(path, seen.file_type);
        }
    }

    /// Takes a link for what it leads to; a directory is returned, to be walked later.
    pub(super) fn link(
        &mut self,
        root: &Arc<Root>,
        listed: &Path,
        spot: Spot<'_>,
    ) -> Option<Pending> {
        let target = match self.sources.links {
            LinkPolicy::Follow => link::within_root(root.path(), listed),
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
        let seen = Seen::from(&target.metadata);
        if !seen.is_directory() {
            let root = match self.sources.links {
                LinkPolicy::Host => Arc::from(target.path.parent().unwrap_or(&target.path)),
                _ => Arc::from(root.path()),
            };
            let (link, end) = (listed.to_path_buf(), target.path.clone());
            let origin = self.tree.add_origin(Origin::Link { root, link, end });
            self.file(listed, &target.path, Spot { origin, ..spot }, &seen, true);
            return None;
        }
        let identity = seen.identity;
        let image_path = self.tree.image_path(spot.parent, spot.name);
        // As a link it was no directory yet.
        if self.is_excluded(listed, &image_path, true) {
            return None;
        }
        if self.tree.lies_in(spot.parent, &identity) {
            let text = fs::read_link(listed).unwrap_or_default();
            let inside =
                (self.sources.links == LinkPolicy::Follow).then(|| root.path().to_path_buf());
            self.lost_link(listed, RefusalKind::LinkLoop { target: text, root: inside });
            return None;
        }
        self.linked_directories += 1;
        if self.linked_directories > MAX_LINKED_DIRECTORIES {
            self.tree.refuse(listed, RefusalKind::LinksMultiply);
            return None;
        }
        let found = Found { identity, file: None, through_link: true, read_only: false };
        match self.tree.place(spot, found, self.sources.overlay, listed) {
            Landing::New(node) | Landing::Met(node) => {
                let root = match self.sources.links {
                    LinkPolicy::Host => self.open_root(&target.path, listed)?,
                    _ => Arc::clone(root),
                };
                let folder = Folder { root, path: target.path, image_path, identity };
                Some(Pending { node, folder })
            }
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
        if self.sources.skip_dangling {
            let fact = format!("link to {} left out: {why}", printable::path(target));
            self.notice(NoticeKind::DanglingLinkSkipped, listed, fact);
        } else {
            self.tree.refuse(listed, kind);
        }
    }

    /// Takes a file. What is read is at `content`.
    pub(super) fn regular_file(
        &mut self,
        met_at: impl Into<MetAt> + Copy,
        content: &Path,
        spot: Spot<'_>,
        seen: &Seen,
        through_link: bool,
    ) {
        if !seen.open_to_all
            && let Err(error) = readable(content)
        {
            self.tree.refuse(met_at, RefusalKind::Unreadable(error));
            return;
        }
        let found = Found {
            identity: seen.identity,
            file: Some((seen.size_bytes, seen.hole_kib)),
            through_link,
            read_only: seen.read_only,
        };
        let landing = self.tree.place(spot, found, self.sources.overlay, met_at);
        if let Landing::Met(_) = landing {
            let fact = "takes the place of an earlier source's file";
            self.notice(NoticeKind::FileReplaced, met_at, fact);
        }
    }

    pub(super) fn special(&mut self, met_at: impl Into<MetAt>, file_type: FileType) {
        let what = kind_of(file_type);
        if self.sources.skip_special {
            let fact = format_args!("{what} left out");
            self.notice(NoticeKind::SpecialFileSkipped, met_at, fact);
        } else {
            self.tree.refuse(met_at, RefusalKind::Special(what));
        }
    }

    /// Whether the patterns leave out what goes to `image_path`, or a directory above that.
    pub(super) fn is_excluded_on_the_way(
        &mut self,
        met_at: impl Into<MetAt> + Copy,
        image_path: &Path,
        directory: bool,
    ) -> bool {
        if self.sources.exclude.is_empty() {
            return false;
        }
        let mut way: Vec<&Path> = image_path.ancestors().collect();
        // The root itself is no entry.
        way.pop();
        let mut down = way.into_iter().rev();
        down.any(|path| self.is_excluded(met_at, path, directory || path != image_path))
    }

    /// Whether the patterns leave out what goes to `image_path`.
    pub(super) fn is_excluded(
        &mut self,
        met_at: impl Into<MetAt>,
        image_path: &Path,
        directory: bool,
    ) -> bool {
        let path = image_path.as_os_str().as_bytes();
        let matching = self.sources.exclude.matching(path, directory);
        self.leave_out(met_at, &matching);
        !matching.is_empty()
    }

    /// Tells that the patterns with these numbers, if any, leave out what was met there.
    pub(super) fn leave_out(&mut self, met_at: impl Into<MetAt>, matching: &[usize]) {
        self.patterns_used.extend(matching);
        if let Some(first) = matching.first() {
            let fact = format_args!("left out by {}", self.sources.exclude.told_as(*first));
            self.notice(NoticeKind::Excluded, met_at, fact);
        }
    }

    pub(super) fn notice(
        &mut self,
        kind: NoticeKind,
        met_at: impl Into<MetAt>,
        fact: impl fmt::Display,
    ) {
        self.tree.note(met_at.into().notice(kind, fact));
    }
}

/// In words.
pub(super) fn kind_of(file_type: FileType) -> &'static str {
    match file_type {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Fifo => "FIFO",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "character device",
        FileType::BlockDevice => "block device",
        _ => "thing of a kind that is not known",
    }
}

/// Fails where opening the file would.
pub(super) fn readable(path: &Path) -> io::Result<()> {
    accessat(CWD, path, Access::READ_OK, AtFlags::EACCESS).map_err(io::Error::from)
}
