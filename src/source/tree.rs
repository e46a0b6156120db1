//! The scanned source: every file and directory once, in flat arrays. Knows neither how it was
//! scanned nor what becomes of it.

use std::ffi::{OsStr, OsString};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::met::{ManifestLine, MetAt};
use super::named::NamedContent;
use super::refusal::Refusal;
use crate::event::Notice;

/// A node's place in its tree. Numbers follow the tree: the children of a directory are
/// neighbours sorted by the bytes of their names, and directories come depth first, so that
/// counting up visits the files of each directory in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The root directory.
    pub const ROOT: Self = Self(0);

    /// For arrays that have one element for each node.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(super) fn from_index(index: u32) -> Self {
        Self(index)
    }
}

/// What a file was when it was scanned. A file with another identity is another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Identity {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Seconds of the time of the last change since 1970.
    pub modified_seconds: i64,
    /// Its nanoseconds.
    pub modified_nanoseconds: u32,
    /// Nanoseconds of the second in which anything about it changed last.
    pub changed_nanoseconds: u32,
    /// That second, since 1970. Unlike the other time nobody can set it back.
    pub changed_seconds: i64,
}

impl Identity {
    /// Whether both are of one file or directory, changed or not.
    pub fn is_of(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// File or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A directory.
    Directory {
        /// Its children's first number.
        first_child: u32,
        /// How many they are.
        child_count: u32,
    },
    /// A regular file.
    File {
        /// Bytes.
        size_bytes: u64,
        /// KiB of it that the host does not store, so that holes are worth looking for.
        hole_kib: u32,
    },
}

/// A file or directory.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    pub(super) parent: NodeId,
    pub(super) name_at: u32,
    pub(super) name_bytes: u16,
    /// Which of the tree's origins it was read from.
    pub(super) origin: u32,
    /// Whether a symbolic link led to it.
    pub through_link: bool,
    /// Whether several sources brought the directory; its identity is the last one's then.
    pub merged: bool,
    /// Whether it is a file that its owner may not write.
    pub read_only: bool,
    /// What it was when scanned.
    pub identity: Identity,
    /// File or directory.
    pub kind: NodeKind,
}

impl Node {
    /// Bytes of a file; 0 for a directory.
    pub fn size_bytes(&self) -> u64 {
        match self.kind {
            NodeKind::File { size_bytes, .. } => size_bytes,
            NodeKind::Directory { .. } => 0,
        }
    }

    /// Whether it is a file that may have holes.
    pub fn is_sparse(&self) -> bool {
        matches!(self.kind, NodeKind::File { hole_kib: 1.., .. })
    }

    /// Bytes of a file that the host stores; 0 for a directory.
    pub fn stored_bytes(&self) -> u64 {
        match self.kind {
            NodeKind::File { size_bytes, hole_kib } => {
                size_bytes.saturating_sub(u64::from(hole_kib) * 1024)
            }
            NodeKind::Directory { .. } => 0,
        }
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        matches!(self.kind, NodeKind::Directory { .. })
    }

    /// The directory that it lies in; the root's is itself.
    pub fn parent(&self) -> NodeId {
        self.parent
    }
}

/// Where nodes were read from. `root` is what must not be left on the way to the bytes.
#[derive(Debug)]
pub(super) enum Origin {
    /// Nowhere: a directory on the way to a destination.
    Nowhere,
    /// The nodes lie under this directory, by their names.
    Under { root: Arc<Path>, base: PathBuf },
    /// The end of a symbolic link, which was met at `link`.
    Link { root: Arc<Path>, link: PathBuf, end: PathBuf },
    /// A file that was given by name and, in `typed`, with its place.
    Given { typed: PathBuf, content: NamedContent },
    /// One node that a line of a manifest brought.
    Listed {
        line: ManifestLine,
        /// When a file was changed, by the manifest: what is compared is the file's own time.
        modified_seconds: Option<i64>,
        /// Where a file's bytes are; a directory has none.
        content: Option<NamedContent>,
    },
}

/// When a file or directory was changed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modified {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub nanoseconds: u32,
}

/// Where the bytes of a node are.
#[derive(Debug)]
pub(super) struct Location<'a> {
    pub(super) root: &'a Path,
    /// A directory under the root.
    pub(super) folder: PathBuf,
    pub(super) name: OsString,
}

/// The files and directories that go into an image, and what was refused and noticed on the way.
#[derive(Debug)]
pub struct Tree {
    pub(super) nodes: Vec<Node>,
    pub(super) names: Vec<u8>,
    pub(super) origins: Vec<Origin>,
    pub(super) directories: Vec<NodeId>,
    /// What cannot go in, sorted by path. A tree with refusals is not complete.
    pub refusals: Vec<Refusal>,
    /// What was left out as asked, sorted by path.
    pub notices: Vec<Notice>,
    /// What decides what the tree holds, but for the files in it: the sources as they were named, where
    /// one leads that is a file's link, and every host directory that was listed or gave its time. Empty where that was not
    /// asked for.
    pub walked: Vec<PathBuf>,
}

impl Tree {
    /// Nodes, the root among them.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is nothing but the root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    /// All nodes in order of their numbers.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        // A tree never has more nodes than fit, see `growing`.
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// All directories depth first, each before what it holds; the root is the first.
    pub fn directories(&self) -> &[NodeId] {
        &self.directories
    }

    /// A node.
    ///
    /// # Panics
    /// If `id` is of another, larger tree.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The children of a directory, sorted by the bytes of their names; none for a file.
    pub fn children(&self, id: NodeId) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        let (first, count) = match self.node(id).kind {
            NodeKind::Directory { first_child, child_count } => (first_child, child_count),
            NodeKind::File { .. } => (0, 0),
        };
        (first..first + count).map(NodeId)
    }

    /// The node's name as the host has it; empty for the root.
    pub fn name(&self, id: NodeId) -> &[u8] {
        name_in(&self.names, self.node(id))
    }

    /// Where the node was met, for messages.
    pub fn met_at(&self, id: NodeId) -> MetAt {
        met_at_in(&self.nodes, &self.names, &self.origins, id)
    }

    /// The node and the directories that it lies in, upwards and without the root.
    pub fn upwards(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        upwards_in(&self.nodes, id)
    }

    /// Where the node's bytes are.
    pub fn content_path(&self, id: NodeId) -> PathBuf {
        match &self.origins[self.node(id).origin as usize] {
            Origin::Link { end, .. } => end.clone(),
            Origin::Given { content, .. } | Origin::Listed { content: Some(content), .. } => {
                content.path.to_path_buf()
            }
            Origin::Under { base, .. } => self.path_under(base, id),
            Origin::Nowhere => self.path_under(Path::new("/"), id),
            Origin::Listed { content: None, .. } => self.met_at(id).path().to_path_buf(),
        }
    }

    /// When the node was changed last, for what is stored: its own time, unless a manifest gives it
    /// another.
    pub fn modified(&self, id: NodeId) -> Modified {
        let node = self.node(id);
        match self.origins[node.origin as usize] {
            Origin::Listed { modified_seconds: Some(seconds), .. } => {
                Modified { seconds, nanoseconds: 0 }
            }
            _ => Modified {
                seconds: node.identity.modified_seconds,
                nanoseconds: node.identity.modified_nanoseconds,
            },
        }
    }

    /// Where the node is, for whoever opens it; `None` for a directory that lies nowhere.
    pub(super) fn location(&self, id: NodeId) -> Option<Location<'_>> {
        let (root, path) = match &self.origins[self.node(id).origin as usize] {
            Origin::Nowhere | Origin::Listed { content: None, .. } => return None,
            Origin::Given { content, .. } | Origin::Listed { content: Some(content), .. } => {
                let (root, name) = (&content.folder, content.name()?.to_owned());
                return Some(Location { root, folder: root.to_path_buf(), name });
            }
            Origin::Under { root, base } => (root, self.path_under(base, id)),
            Origin::Link { root, end, .. } => (root, end.clone()),
        };
        let name = path.file_name()?.to_owned();
        Some(Location { root, folder: path.parent()?.to_path_buf(), name })
    }

    /// The same for two nodes whose bytes lie in one directory of one source; `None` for a node
    /// that lies elsewhere than its neighbours.
    pub(super) fn folder_key(&self, id: NodeId) -> Option<(NodeId, u32)> {
        let node = self.node(id);
        match self.origins[node.origin as usize] {
            Origin::Under { .. } => Some((node.parent, node.origin)),
            _ => None,
        }
    }

    fn path_under(&self, base: &Path, id: NodeId) -> PathBuf {
        path_under(&self.nodes, &self.names, base, id)
    }
}

/// [`Tree::met_at`], for a tree that still grows too.
pub(super) fn met_at_in(nodes: &[Node], names: &[u8], origins: &[Origin], id: NodeId) -> MetAt {
    let host = |base: &Path| MetAt::Host(path_under(nodes, names, base, id));
    match &origins[nodes[id.index()].origin as usize] {
        Origin::Link { link: path, .. } | Origin::Given { typed: path, .. } => path.into(),
        Origin::Listed { line, .. } => MetAt::Line(line.clone(), image_path(nodes, names, id)),
        Origin::Under { base, .. } => host(base),
        Origin::Nowhere => host(Path::new("/")),
    }
}

/// [`Tree::upwards`], for a tree that still grows too.
pub(super) fn upwards_in(nodes: &[Node], id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    let below_root = |id: NodeId| Some(id).filter(|id| *id != NodeId::ROOT);
    iter::successors(below_root(id), move |at| below_root(nodes[at.index()].parent))
}

/// The path of a node whose names lie under `base` as far as it has their origin.
fn path_under(nodes: &[Node], names: &[u8], base: &Path, id: NodeId) -> PathBuf {
    let origin = nodes[id.index()].origin;
    let way = upwards_in(nodes, id).take_while(|at| nodes[at.index()].origin == origin);
    down(base, nodes, names, way)
}

/// The path of a node in the image, below its root.
pub(super) fn image_path(nodes: &[Node], names: &[u8], id: NodeId) -> PathBuf {
    down(Path::new(""), nodes, names, upwards_in(nodes, id))
}

/// `base` and the names of a way upwards, in the order of a path.
fn down(
    base: &Path,
    nodes: &[Node],
    names: &[u8],
    upwards: impl Iterator<Item = NodeId>,
) -> PathBuf {
    let way: Vec<&[u8]> = upwards.map(|at| name_in(names, &nodes[at.index()])).collect();
    let mut path = base.to_path_buf();
    path.extend(way.into_iter().rev().map(os_name));
    path
}

pub(super) fn name_in<'a>(names: &'a [u8], node: &Node) -> &'a [u8] {
    let start = node.name_at as usize;
    &names[start..start + usize::from(node.name_bytes)]
}

/// A name of the tree as the host takes it.
pub(super) fn os_name(name: &[u8]) -> &OsStr {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(name)
}
