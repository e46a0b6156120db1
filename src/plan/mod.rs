//! Every decision about an image, made before its first byte is written. No input or output: a
//! plan is a function of a tree and a request, and after it only reading and writing can fail.
//!
//! | Room | Decides |
//! |---|---|
//! | [`request`] | nothing: it is what is wanted |
//! | `names` | the name under which each entry is stored |
//! | `times`, `attributes` | its stamp; whether it is read-only, hidden and so on |
//! | `count`, `demand` | how much there is, and whether any of it is too much |
//! | [`profile`] | what one consumer needs, where the request leaves it open, and what it cannot read |
//! | `size`, `floppy`, `smallest` | the volume: type, cluster, sectors |
//! | [`misfit`], [`problem`], `advice` | what to say when there is none |
//! | `alloc` | where everything lies |
//! | `tell` | nothing: it is what the user should know of the decisions |
//! | `surroundings` | the disk around the volume, and its table |
//! | `chs`, `identity` | fields that old boot code reads; serial number and names of the disk |
#![deny(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::indexing_slicing)]

mod advice;
mod alloc;
mod attributes;
mod chs;
mod count;
mod demand;
mod floppy;
mod identity;
pub mod misfit;
mod names;
pub mod problem;
pub mod profile;
pub mod request;
mod size;
mod smallest;
mod surroundings;
mod tell;
mod times;

use std::borrow::Cow;
use std::collections::HashMap;

pub use count::Totals;
pub use problem::{Blame, Figures, Problem, Problems, Remedy};
pub use profile::Profile;
pub use request::Request;

use crate::disk::Disk;
use crate::event::Notice;
use crate::fat::attr::Attributes;
use crate::fat::boot::{BootFacts, FreeClusters};
use crate::fat::geometry::{FIRST_CLUSTER, Geometry};
use crate::fat::kind::FatKind;
use crate::fat::short::ShortName;
use crate::fat::table::Chains;
use crate::fat::time::DosTime;
use crate::source::{NodeId, Tree};
use count::Count;
use misfit::Misfit;
use names::Naming;
use profile::{Choice, Settled};
use request::{DiskWish, Format, ImageSize, Times, TypeWish};
use size::{Chosen, Search};
use surroundings::Surroundings;

const MEDIA_FIXED_DISK: u8 = 0xF8;

/// What is decided of one node.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    /// Its name; `None` for the root and for what is left out.
    pub name: Option<StoredName>,
    /// When it was written.
    pub stamp: DosTime,
    /// Its attributes, [`Attributes::DIRECTORY`] of a directory among them.
    pub attributes: Attributes,
    /// Its chain's first cluster; 0 for an empty file, a fixed root directory, and what is left
    /// out.
    pub first_cluster: u32,
    /// Records of a directory, dots and label among them; 0 for a file.
    pub records: u32,
    /// Whether it is not stored, by a policy of the request.
    pub left_out: bool,
}

/// How a name is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredName {
    /// The short name, unique in its directory.
    pub short: ShortName,
    /// `DIR_NTRes`.
    pub case_bits: u8,
    /// Records that hold the long name; 0 without one.
    pub long_parts: u8,
}

/// An image, decided to the last byte.
#[derive(Debug)]
pub struct Plan {
    tree: Tree,
    geometry: Geometry,
    facts: BootFacts,
    disk: Option<Disk>,
    profile: Option<(Profile, Vec<Choice>)>,
    placed: Vec<Placed>,
    changed_names: HashMap<NodeId, String>,
    label_stamp: DosTime,
    last_clusters: Vec<u32>,
    totals: Totals,
    /// What the user should know, in the order in which it was met.
    pub notices: Vec<Notice>,
}

impl Plan {
    /// Decides everything.
    ///
    /// # Errors
    /// All reasons, not only the first, why the tree cannot become such an image.
    pub fn new(mut tree: Tree, request: &Request) -> Result<Self, Problems> {
        let mut problems: Vec<Problem> = tree.refusals.drain(..).map(Problem::Source).collect();
        let mut notices = std::mem::take(&mut tree.notices);
        let mut placed = stamps(&tree, &request.times);
        let mut changed_names = HashMap::new();
        let mut naming = Naming {
            tree: &tree,
            policy: request.names,
            profile: request.profile,
            placed: &mut placed,
            changed: &mut changed_names,
            problems: &mut problems,
            notices: &mut notices,
        };
        let records: Vec<u64> =
            tree.directories().iter().map(|directory| naming.name_children(*directory)).collect();
        attributes::decide(&tree, &changed_names, &request.attributes, &mut placed, &mut notices);
        let label = request.format.label;
        let settled = Settled::of(request).map_err(Misfit::Refused);
        let labelled = label.is_some();
        let Count { demand, mut totals } =
            count::count(&tree, &mut placed, &records, labelled, &mut problems);
        let around = settled.clone().and_then(|wish| Surroundings::of(&wish.disk, &wish.format));
        let format = settled.as_ref().map_or(&request.format, |wish| &wish.format);
        let search = Search {
            format,
            typed: &request.format,
            profile: request.profile,
            demand: &demand,
            free: request.free,
            around: *around.as_ref().unwrap_or(&Surroundings::default()),
            complete: problems.is_empty(),
            placed: matches!(request.size, ImageSize::Place(_)),
        };
        let decided =
            around.and(settled.clone()).and_then(|wish| Ok((search.run(wish.size)?, wish)));
        let (chosen, settled) = match decided {
            Ok(decided) => decided,
            Err(misfit) => {
                problems.push(match request.profile {
                    Some(profile) => Problem::ProfileMisfit { profile, misfit },
                    None => Problem::Misfit(misfit),
                });
                return Err(Problems::new(problems));
            }
        };
        if !problems.is_empty() {
            return Err(Problems::new(problems));
        }
        let label_stamp = label_stamp(&placed);
        let last_clusters = alloc::allocate(&tree, &mut placed, &chosen.geometry);
        let last_used = last_clusters.last().copied().unwrap_or(FIRST_CLUSTER - 1);
        totals.used_clusters = last_used + 1 - FIRST_CLUSTER;
        tell::clamped_times(&tree, &request.times, &placed, &mut notices);
        tell::volume(&search, &chosen, totals.used_clusters, label, &mut notices);
        let profile = request.profile.map(|profile| {
            let typed = (&request.format, &request.disk);
            (profile, profile.choices(typed, &settled.disk, &chosen))
        });
        let mut plan = Self {
            facts: facts(&settled.format, &chosen),
            disk: None,
            profile,
            geometry: chosen.geometry,
            tree,
            placed,
            changed_names,
            label_stamp,
            last_clusters,
            totals,
            notices,
        };
        let given = request.format.volume_id;
        let table = match settled.disk {
            DiskWish::Table(table) => Some(table),
            _ => None,
        };
        // Names of files are many: they are digested once, and only if something is derived from them.
        let derives = given.is_none() || table.is_some();
        let digest = derives.then(|| identity::digest(&plan));
        plan.facts.volume_id = given.or(digest.map(identity::volume_id)).unwrap_or_default();
        if let Some((mut table, digest)) = table.zip(digest) {
            if request.profile == Some(Profile::SdCard) {
                table.partition_type = TypeWish::Byte(profile::card_type(&chosen));
            }
            plan.disk = Some(surroundings::disk(&table, &plan, digest, chosen.image_sectors));
        }
        Ok(plan)
    }

    /// What is stored, and more: nodes that are left out are in it too.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The volume's layout.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// What the boot sector says beyond the layout.
    pub fn facts(&self) -> &BootFacts {
        &self.facts
    }

    /// Sums over everything that is stored.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The disk around the volume, where it is part of the image.
    pub fn disk(&self) -> Option<&Disk> {
        self.disk.as_ref()
    }

    /// Who is to read the image, and what was chosen for that.
    pub fn profile(&self) -> Option<(Profile, &[Choice])> {
        self.profile.as_ref().map(|(profile, choices)| (*profile, choices.as_slice()))
    }

    /// Bytes of the image: of the disk, or of the volume that is all of it.
    pub fn image_bytes(&self) -> u64 {
        self.disk.as_ref().map_or_else(|| self.geometry.volume_bytes(), Disk::bytes)
    }

    /// Byte of the image at which the volume begins.
    pub fn volume_at_byte(&self) -> u64 {
        self.disk.as_ref().map_or(0, Disk::partition_at_byte)
    }

    /// Byte of the disk that is meant at which the volume begins, whether or not the disk is part of
    /// the image.
    pub fn volume_at_disk_byte(&self) -> u64 {
        u64::from(self.facts.hidden_sectors) * u64::from(self.geometry.sector_bytes())
    }

    /// What is decided of a node.
    ///
    /// # Panics
    /// If `id` is not of this plan's tree.
    #[allow(clippy::indexing_slicing)]
    pub fn placed(&self, id: NodeId) -> &Placed {
        &self.placed[id.index()]
    }

    /// The nodes that are stored, the root first, in tree order.
    pub fn stored(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.tree.ids().filter(|id| !self.placed(*id).left_out)
    }

    /// The stored children of a directory, in the order of their records.
    pub fn stored_children(&self, directory: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.tree.children(directory).filter(|id| !self.placed(*id).left_out)
    }

    /// The stored directories parents first, the root the first: the order of their clusters.
    pub fn stored_directories(&self) -> impl Iterator<Item = NodeId> + '_ {
        let directories = self.tree.directories().iter().copied();
        directories.filter(|id| !self.placed(*id).left_out)
    }

    /// The name under which a node is stored; empty for the root.
    pub fn name(&self, id: NodeId) -> Cow<'_, str> {
        names::stored_name(&self.tree, &self.changed_names, id)
    }

    /// The node's path in the image, from `/` on.
    pub fn image_path(&self, id: NodeId) -> String {
        names::stored_path(&self.tree, &self.changed_names, id)
    }

    /// First cluster of a node's chain; 0 for an empty file and for a fixed root directory.
    pub fn first_cluster(&self, id: NodeId) -> u32 {
        self.placed(id).first_cluster
    }

    /// Clusters of a node's chain; 0 where [`Plan::first_cluster`] is.
    pub fn clusters(&self, id: NodeId) -> u64 {
        let bytes = alloc::chain_bytes(&self.tree, id, self.placed(id), self.geometry.kind());
        self.geometry.clusters_for(bytes)
    }

    /// The stamp of the label's record: the newest in the tree.
    pub fn label_stamp(&self) -> DosTime {
        self.label_stamp
    }

    /// The chains of the volume.
    pub fn chains(&self) -> Chains<'_> {
        Chains::new(self.geometry.kind(), self.facts.media, &self.last_clusters)
    }

    /// The clusters that nothing owns; they all lie at the end.
    pub fn free_clusters(&self) -> FreeClusters {
        let count = self.geometry.cluster_count() - self.totals.used_clusters;
        let first = (count > 0).then_some(FIRST_CLUSTER + self.totals.used_clusters);
        FreeClusters { count, first }
    }

    /// Whether the root directory has an area of its own before the clusters.
    pub fn has_fixed_root(&self) -> bool {
        self.geometry.kind() != FatKind::Fat32
    }
}

/// The stamps of all nodes; the rest of what is decided of them comes later.
fn stamps(tree: &Tree, times: &Times) -> Vec<Placed> {
    let placed = |id| Placed {
        name: None,
        stamp: times::stamp(tree.modified(id), times).stored,
        attributes: Attributes::default(),
        first_cluster: 0,
        records: 0,
        left_out: false,
    };
    tree.ids().map(placed).collect()
}

/// The newest stamp of what is stored but for the root, whose own time is stored nowhere.
fn label_stamp(placed: &[Placed]) -> DosTime {
    let stored = placed.iter().skip(1).filter(|place| !place.left_out);
    stored.map(|place| place.stamp).max().unwrap_or(DosTime::EARLIEST)
}

fn facts(format: &Format, chosen: &Chosen) -> BootFacts {
    let geometry = &chosen.geometry;
    let floppy = chosen.floppy;
    BootFacts {
        oem_name: format.oem_name,
        media: format.media.unwrap_or(floppy.map_or(MEDIA_FIXED_DISK, |floppy| floppy.media)),
        sectors_per_track: format.sectors_per_track.unwrap_or_else(|| {
            floppy.map_or_else(
                || chs::sectors_per_track(geometry.shape().total_sectors),
                |floppy| floppy.sectors_per_track,
            )
        }),
        heads: format.heads.unwrap_or_else(|| {
            floppy.map_or_else(|| chs::heads(geometry.volume_bytes()), |floppy| floppy.heads)
        }),
        hidden_sectors: match chosen.start {
            0 => format.hidden_sectors.unwrap_or(0),
            start => u32::try_from(start).unwrap_or(u32::MAX),
        },
        volume_id: 0,
        label: format.label.map(|wish| wish.label),
        boot_code: format.boot_code.clone(),
    }
}
