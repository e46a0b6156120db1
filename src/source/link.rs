//! Where a symbolic link leads, inside a root file system or on the host. Knows no tree.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::refusal::RefusalKind;

/// As many links in a row as Linux follows.
const MAX_LINKS: u32 = 40;

/// The end of a link's way.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) metadata: Metadata,
}

/// Follows `link`, which lies under `root`, as a process whose root directory is `root` would: an
/// absolute target starts there. Unlike for such a process, `..` in the root is no way to stay
/// there: in a tree that is being packed it means that something was forgotten.
pub(super) fn within_root(root: &Path, link: &Path) -> Result<Target, RefusalKind> {
    let target = fs::read_link(link).map_err(RefusalKind::Unreadable)?;
    let mut here: Vec<OsString> = link
        .parent()
        .and_then(|parent| parent.strip_prefix(root).ok())
        .map(|parent| parent.iter().map(OsString::from).collect())
        .unwrap_or_default();
    let mut ahead = VecDeque::new();
    walk_first(&target, &mut here, &mut ahead);
    let mut links_met = 1;
    let mut metadata = fs::metadata(root).map_err(RefusalKind::Unreadable)?;
    while let Some(step) = ahead.pop_front() {
        if !metadata.is_dir() {
            here.push(step);
            return Err(dangling(root, &here, target));
        }
        if step == ".." {
            if here.pop().is_none() {
                return Err(RefusalKind::EscapingLink { target, root: root.to_path_buf() });
            }
            metadata = stat(root, &here, &target)?;
            continue;
        }
        here.push(step);
        metadata = stat(root, &here, &target)?;
        if metadata.is_symlink() {
            links_met += 1;
            if links_met > MAX_LINKS {
                return Err(RefusalKind::LinkLoop { target, root: Some(root.to_path_buf()) });
            }
            let next = fs::read_link(path_of(root, &here)).map_err(RefusalKind::Unreadable)?;
            here.pop();
            metadata = stat(root, &here, &target)?;
            walk_first(&next, &mut here, &mut ahead);
        }
    }
    Ok(Target { path: path_of(root, &here), metadata })
}

/// Follows `link` as the host does.
pub(super) fn on_host(link: &Path) -> Result<Target, RefusalKind> {
    let follow = || Ok(Target { path: fs::canonicalize(link)?, metadata: fs::metadata(link)? });
    follow().map_err(|error: io::Error| {
        let target = fs::read_link(link).unwrap_or_default();
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                let missing = link.parent().unwrap_or(Path::new("")).join(&target);
                RefusalKind::DanglingLink { target, missing, root: None }
            }
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                RefusalKind::LinkLoop { target, root: None }
            }
            _ => RefusalKind::Unreadable(error),
        }
    })
}

/// Puts the steps of a link's text before those that wait already.
fn walk_first(text: &Path, here: &mut Vec<OsString>, ahead: &mut VecDeque<OsString>) {
    let mut at = 0;
    for step in text.components() {
        match step {
            Component::RootDir | Component::Prefix(_) => here.clear(),
            Component::CurDir => {}
            Component::ParentDir | Component::Normal(_) => {
                ahead.insert(at, step.as_os_str().to_owned());
                at += 1;
            }
        }
    }
}

fn path_of(root: &Path, here: &[OsString]) -> PathBuf {
    let mut path = root.to_path_buf();
    path.extend(here);
    path
}

fn stat(root: &Path, here: &[OsString], target: &Path) -> Result<Metadata, RefusalKind> {
    let path = path_of(root, here);
    // The source itself may be named by a link.
    let found = if here.is_empty() { fs::metadata(path) } else { fs::symlink_metadata(path) };
    found.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            dangling(root, here, target.to_path_buf())
        }
        _ => RefusalKind::Unreadable(error),
    })
}

fn dangling(root: &Path, here: &[OsString], target: PathBuf) -> RefusalKind {
    let missing = path_of(Path::new("/"), here);
    RefusalKind::DanglingLink { target, missing, root: Some(root.to_path_buf()) }
}
