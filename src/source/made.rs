//! A tree that no host has: for whoever asks what would become of it. It can be planned; its contents
//! cannot be opened. Knows no file system.

use super::growing::{Found, GrowingTree, Spot};
use super::tree::{Identity, NodeId, Tree};

/// A file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Which of the directories before it it lies in, counted from 0, which is the root.
    pub directory: usize,
    /// Its name: any bytes, at most 65535.
    pub name: Vec<u8>,
    /// Bytes of a file; `None` makes it a directory.
    pub size_bytes: Option<u64>,
    /// Whether it is a file that its owner may not write.
    pub read_only: bool,
    /// Seconds of its time since 1970.
    pub modified_seconds: i64,
}

/// The tree of these entries. One whose directory is none, or whose name is taken by an entry that it
/// cannot be merged with, is refused or left out, as on a host.
pub fn tree(entries: impl IntoIterator<Item = Made>) -> Tree {
    let mut growing = GrowingTree::new();
    growing.expect_meetings();
    let mut directories = vec![NodeId::ROOT];
    for made in entries {
        let Some(parent) = directories.get(made.directory).copied() else { continue };
        let spot = Spot { parent, name: &made.name, origin: 0 };
        let found = Found {
            identity: Identity { modified_seconds: made.modified_seconds, ..Identity::default() },
            file: made.size_bytes.map(|size_bytes| (size_bytes, 0)),
            through_link: false,
            read_only: made.read_only,
        };
        let path = growing.image_path(parent, &made.name);
        let landing = growing.place(spot, found, false, path.as_path());
        if made.size_bytes.is_none()
            && let super::growing::Landing::New(id) = landing
        {
            directories.push(id);
        }
    }
    growing.finish()
}
