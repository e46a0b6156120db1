//! A tree while sources are laid over each other: who gets a place that two of them want. Knows
//! no file system; the walk brings it entries.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::met::MetAt;
use super::refusal::{Refusal, RefusalKind};
use super::tree::{
    Identity, Node, NodeId, NodeKind, Origin, Tree, image_path, met_at_in, name_in, os_name,
    upwards_in,
};
use crate::event::Notice;

/// What the walk met.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) identity: Identity,
    /// `Some` for a file: its bytes, and how many KiB of it the host does not store.
    pub(super) file: Option<(u64, u32)>,
    pub(super) through_link: bool,
    /// Whether it is a file that its owner may not write.
    pub(super) read_only: bool,
}

/// Where an entry goes, and where it was read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) parent: NodeId,
    pub(super) name: &'a [u8],
    pub(super) origin: u32,
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Landing {
    /// It is new.
    New(NodeId),
    /// It met an entry of an earlier source: a directory that is now both, or a file that it
    /// replaced.
    Met(NodeId),
    /// The place is taken.
    Refused,
}

/// A tree that is not sorted yet.
#[derive(Debug)]
pub(super) struct GrowingTree {
    nodes: Vec<Node>,
    names: Vec<u8>,
    origins: Vec<Origin>,
    /// Where each node is, kept from the second source on: the names of one source cannot meet.
    places: Option<HashMap<(NodeId, Vec<u8>), NodeId>>,
    refusals: Vec<Refusal>,
    /// Where something was refused: what several links lead to is told once.
    refused: HashSet<MetAt>,
    notices: Vec<Notice>,
    pub(super) walked: Vec<PathBuf>,
}

impl GrowingTree {
    pub(super) fn new() -> Self {
        let root = Node {
            parent: NodeId::ROOT,
            name_at: 0,
            name_bytes: 0,
            origin: 0,
            through_link: false,
            merged: false,
            read_only: false,
            identity: Identity::default(),
            kind: NodeKind::Directory { first_child: 0, child_count: 0 },
        };
        Self {
            nodes: vec![root],
            names: Vec::new(),
            origins: vec![Origin::Nowhere],
            places: None,
            refusals: Vec::new(),
            refused: HashSet::new(),
            notices: Vec::new(),
            walked: Vec::new(),
        }
    }

    /// From now on entries may meet.
    pub(super) fn expect_meetings(&mut self) {
        if self.places.is_none() {
            let place = |(index, node): (usize, &Node)| {
                let id = NodeId::from_index(u32::try_from(index).ok()?);
                Some(((node.parent, name_in(&self.names, node).to_vec()), id))
            };
            self.places = Some(self.nodes.iter().enumerate().skip(1).filter_map(place).collect());
        }
    }

    /// The directory of that name in `parent`, if a source brought one already.
    pub(super) fn directory_at(&self, parent: NodeId, name: &[u8]) -> Option<NodeId> {
        let id = *self.places.as_ref()?.get(&(parent, name.to_vec()))?;
        self.node(id).is_directory().then_some(id)
    }

    pub(super) fn add_origin(&mut self, origin: Origin) -> u32 {
        self.origins.push(origin);
        // There is at most one origin for each node, and nodes are counted in 32 bits.
        (self.origins.len() - 1) as u32
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Lays one more directory over `id`; it has the identity of the last one then.
    pub(super) fn merge_directory(&mut self, id: NodeId, identity: Identity) {
        let node = &mut self.nodes[id.index()];
        node.identity = identity;
        node.merged = true;
    }

    /// Where an entry of `parent` goes in the image, below its root.
    pub(super) fn image_path(&self, parent: NodeId, name: &[u8]) -> PathBuf {
        image_path(&self.nodes, &self.names, parent).join(os_name(name))
    }

    /// Whether `directory` is one of those that `inside` lies in, or is it.
    pub(super) fn lies_in(&self, inside: NodeId, directory: &Identity) -> bool {
        let mut way = upwards_in(&self.nodes, inside).chain([NodeId::ROOT]);
        way.any(|at| self.node(at).identity.is_of(directory))
    }

    /// Puts an entry where it belongs. `met_at` is for the refusal.
    pub(super) fn place(
        &mut self,
        spot: Spot<'_>,
        found: Found,
        overlay: bool,
        met_at: impl Into<MetAt>,
    ) -> Landing {
        let key = self.places.as_ref().map(|_| (spot.parent, spot.name.to_vec()));
        let met = key.as_ref().and_then(|key| self.places.as_ref()?.get(key).copied());
        let Some(earlier) = met else {
            return match self.push(spot, found) {
                Some(id) => {
                    if let Some((places, key)) = self.places.as_mut().zip(key) {
                        places.insert(key, id);
                    }
                    Landing::New(id)
                }
                None => self.refuse(met_at, RefusalKind::TooManyEntries),
            };
        };
        match (self.node(earlier).is_directory(), found.file) {
            (true, None) => {
                self.merge_directory(earlier, found.identity);
                Landing::Met(earlier)
            }
            (false, Some(_)) if overlay => {
                let kind = kind_of(found);
                let node = &mut self.nodes[earlier.index()];
                node.kind = kind;
                node.identity = found.identity;
                node.through_link = found.through_link;
                node.read_only = found.read_only;
                node.origin = spot.origin;
                Landing::Met(earlier)
            }
            (false, Some(_)) => {
                let other = self.met_at(earlier);
                self.refuse(met_at, RefusalKind::SamePlace(other))
            }
            _ => {
                let other = self.met_at(earlier);
                self.refuse(met_at, RefusalKind::FileAgainstDirectory(other))
            }
        }
    }

    pub(super) fn refuse(&mut self, met_at: impl Into<MetAt>, kind: RefusalKind) -> Landing {
        let met_at = met_at.into();
        if self.refused.insert(met_at.clone()) {
            self.refusals.push(Refusal { met_at, kind });
        }
        Landing::Refused
    }

    pub(super) fn note(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    fn push(&mut self, spot: Spot<'_>, found: Found) -> Option<NodeId> {
        let id =
            NodeId::from_index(u32::try_from(self.nodes.len()).ok().filter(|n| *n < u32::MAX)?);
        let name_at = u32::try_from(self.names.len()).ok()?;
        let name_bytes = u16::try_from(spot.name.len()).ok()?;
        self.names.extend_from_slice(spot.name);
        self.nodes.push(Node {
            parent: spot.parent,
            name_at,
            name_bytes,
            origin: spot.origin,
            through_link: found.through_link,
            merged: false,
            read_only: found.read_only,
            identity: found.identity,
            kind: kind_of(found),
        });
        Some(id)
    }

    fn met_at(&self, id: NodeId) -> MetAt {
        met_at_in(&self.nodes, &self.names, &self.origins, id)
    }

    /// Sorts the nodes into the order that [`NodeId`] promises.
    pub(super) fn finish(mut self) -> Tree {
        let mut children = Children::of(&self.nodes);
        let mut sorted = vec![self.nodes[0]];
        let mut directories = Vec::new();
        let mut waiting = vec![(NodeId::ROOT, 0)];
        sorted.reserve_exact(self.nodes.len() - 1);
        while let Some((directory, old)) = waiting.pop() {
            directories.push(directory);
            let of_this = children.of_node(old);
            of_this
                .sort_unstable_by_key(|child| name_in(&self.names, &self.nodes[*child as usize]));
            let first_child = sorted.len() as u32;
            let child_count = of_this.len() as u32;
            let first_waiting = waiting.len();
            for (new, old) in (first_child..).zip(of_this.iter()) {
                let node = self.nodes[*old as usize];
                if node.is_directory() {
                    waiting.push((NodeId::from_index(new), *old as usize));
                }
                sorted.push(Node { parent: directory, ..node });
            }
            waiting[first_waiting..].reverse();
            sorted[directory.index()].kind = NodeKind::Directory { first_child, child_count };
        }
        self.refusals.sort_by(|one, other| place(one).cmp(&place(other)));
        self.notices.sort_by(|one, other| order(one).cmp(&order(other)));
        Tree {
            nodes: sorted,
            names: self.names,
            origins: self.origins,
            directories,
            refusals: self.refusals,
            notices: self.notices,
            walked: self.walked,
        }
    }
}

/// What refusals are sorted by: paths, and in a manifest its lines.
fn place(refusal: &Refusal) -> (&Path, Option<u32>) {
    (refusal.met_at.path(), refusal.met_at.line())
}

/// What notices are sorted by: their texts, and in a manifest its lines.
fn order(notice: &Notice) -> (&str, Option<u32>, &str) {
    let first = notice.path().filter(|_| notice.line().is_some());
    (first.unwrap_or(&notice.text), notice.line(), &notice.text)
}

fn kind_of(found: Found) -> NodeKind {
    match found.file {
        Some((size_bytes, hole_kib)) => NodeKind::File { size_bytes, hole_kib },
        None => NodeKind::Directory { first_child: 0, child_count: 0 },
    }
}

/// The children of every node of an unsorted tree, in one array.
struct Children {
    starts: Vec<u32>,
    ids: Vec<u32>,
}

impl Children {
    fn of(nodes: &[Node]) -> Self {
        let mut starts = vec![0; nodes.len() + 1];
        for node in &nodes[1..] {
            starts[node.parent.index() + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut ids = vec![0; nodes.len() - 1];
        for (id, node) in (1..).zip(&nodes[1..]) {
            let slot = &mut next[node.parent.index()];
            ids[*slot as usize] = id;
            *slot += 1;
        }
        Self { starts, ids }
    }

    fn of_node(&mut self, index: usize) -> &mut [u32] {
        &mut self.ids[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}
