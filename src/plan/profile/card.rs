//! Memory cards: the layout that the SD Association has for each capacity, and what comes nearest
//! where that layout would have a number of clusters that readers do not agree on.

use super::Profile;
use super::choice::Choice;
use crate::disk::mbr;
use crate::fat::kind::FatKind::{self, Fat12, Fat16, Fat32};
use crate::plan::misfit::Misfit;
use crate::plan::request::{Format, ImageSize};
use crate::plan::size::{Chosen, Search, Unfit};
use crate::plan::smallest::{AUTO_SECTORS, WIDELY_READ_SECTORS};
use crate::plan::surroundings::Surroundings;
use crate::units::as_typed;

const SECTOR_BYTES: u64 = 512;

/// Clusters that a later beginning of the partition takes away at most, to bring their number out of
/// the gap between two types.
const MAX_GIVEN_UP_CLUSTERS: u64 = 64;

/// A card of so many sectors has room for every root directory.
const LARGE_SECTORS: u64 = 1 << 14;

/// The first sector that cylinders, heads and sectors cannot tell.
const PAST_CYLINDERS: u64 = 1024 * 255 * 63;

/// Cards up to a capacity (fat-facts 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Class {
    most_sectors: u64,
    kind: FatKind,
    cluster_sectors: u64,
    /// The first cluster is the first of such a unit, and on FAT32 so is the partition.
    boundary_sectors: u64,
}

const CLASSES: [Class; 6] = [
    Class { most_sectors: 1 << 14, kind: Fat12, cluster_sectors: 16, boundary_sectors: 16 },
    Class { most_sectors: 1 << 17, kind: Fat12, cluster_sectors: 32, boundary_sectors: 32 },
    Class { most_sectors: 1 << 19, kind: Fat16, cluster_sectors: 32, boundary_sectors: 64 },
    Class { most_sectors: 1 << 21, kind: Fat16, cluster_sectors: 32, boundary_sectors: 128 },
    Class { most_sectors: 1 << 22, kind: Fat16, cluster_sectors: 64, boundary_sectors: 128 },
    Class { most_sectors: 1 << 26, kind: Fat32, cluster_sectors: 64, boundary_sectors: 8192 },
];

impl Class {
    fn index_of(card_sectors: u64) -> Option<usize> {
        CLASSES.iter().position(|class| card_sectors <= class.most_sectors)
    }

    fn of(card_sectors: u64) -> Option<Self> {
        CLASSES.get(Self::index_of(card_sectors)?).copied()
    }

    /// The least capacity of the class.
    fn least_sectors(index: usize) -> u64 {
        let below = index.checked_sub(1).and_then(|below| CLASSES.get(below));
        below.map_or(1, |below| below.most_sectors + 1)
    }
}

impl Search<'_> {
    /// The card of a size.
    pub(in crate::plan) fn card(&self, size: ImageSize) -> Result<Chosen, Misfit> {
        let bytes = match size {
            ImageSize::Bytes(bytes) | ImageSize::Place(bytes) => bytes,
            ImageSize::Auto => return self.smallest_card().ok_or_else(|| self.no_size()),
        };
        if !bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(Misfit::SizeNotWholeSectors { bytes, sector_bytes: SECTOR_BYTES });
        }
        let chosen = self.card_of(bytes / SECTOR_BYTES).ok_or_else(|| self.no_card(bytes))?;
        if self.fits(&chosen.geometry, 0) { Ok(chosen) } else { Err(self.too_small(&chosen)) }
    }

    /// Why there is no card of that size: it is too small, or its root directory is.
    fn no_card(&self, bytes: u64) -> Misfit {
        let asked = self.asked();
        match self.root_entries() {
            Err(Unfit::Root { needed, most }) => {
                let remedy = "put the files into directories".to_owned();
                Misfit::RootTooSmall { needed, most, remedy }
            }
            _ => {
                let mut sectors = bytes / SECTOR_BYTES..LARGE_SECTORS;
                let holds = |chosen: &Chosen| self.fits(&chosen.geometry, 0);
                let least = sectors.find_map(|sectors| self.card_of(sectors).filter(holds));
                let least = least.or_else(|| self.smallest_card());
                let least = least.map_or(bytes, |chosen| chosen.image_sectors * SECTOR_BYTES);
                if self.placed {
                    Misfit::PlaceTooSmall { bytes, asked, least }
                } else {
                    Misfit::NoVolumeSoSmall { bytes, asked, least }
                }
            }
        }
    }

    /// The smallest card that holds the tree, the room asked for and a cluster more.
    pub(in crate::plan) fn smallest_card(&self) -> Option<Chosen> {
        let of_class = |(index, class): (usize, &Class)| {
            let cluster_bytes = u32::try_from(class.cluster_sectors * SECTOR_BYTES).ok()?;
            let needed = self.least_count(class.kind, cluster_bytes);
            let least = needed
                .checked_mul(class.cluster_sectors)?
                .max(Class::least_sectors(index))
                .max(u64::from(WIDELY_READ_SECTORS) + class.boundary_sectors);
            // What lies before the clusters: FATs, root directory, and what boundaries leave.
            let root = self.root_entries().map_or(0, |entries| u64::from(entries) / 16);
            let before = 4 * class.boundary_sectors + class.most_sectors / 1024 + root;
            let step = u64::from(AUTO_SECTORS);
            let first = least.checked_next_multiple_of(step)?;
            let last = (first.checked_add(before)?).min(class.most_sectors);
            (first..=last).step_by(usize::try_from(step).ok()?).find_map(|sectors| {
                let least_volume = WIDELY_READ_SECTORS;
                self.card_of(sectors).filter(|chosen| {
                    self.fits(&chosen.geometry, 1)
                        && chosen.geometry.shape().total_sectors >= least_volume
                })
            })
        };
        CLASSES.iter().enumerate().find_map(of_class)
    }

    /// The layout of a card, whatever it has to hold.
    fn card_of(&self, card_sectors: u64) -> Option<Chosen> {
        let index = Class::index_of(card_sectors)?;
        let class = CLASSES.get(index)?;
        let below = index.checked_sub(1).and_then(|below| CLASSES.get(below));
        self.lay_out_card(class, card_sectors)
            .or_else(|| self.lay_out_card(below?, card_sectors))
            .or_else(|| {
                let cluster_sectors = class.cluster_sectors / 2;
                let smaller = Class { cluster_sectors, ..*class };
                self.lay_out_card(&smaller, card_sectors).filter(|_| below.is_some())
            })
    }

    fn lay_out_card(&self, class: &Class, card_sectors: u64) -> Option<Chosen> {
        let boundary = class.boundary_sectors;
        let cluster_bytes = u32::try_from(class.cluster_sectors * SECTOR_BYTES).ok()?;
        let fat32 = class.kind == Fat32;
        let format = Format {
            align_bytes: u32::try_from(boundary * SECTOR_BYTES).ok().filter(|_| fat32),
            reserved_sectors: (!fat32).then_some(1),
            ..self.format.clone()
        };
        // A FAT32 begins on the boundary. The others do so that their clusters come to lie on one.
        let most = match class.kind {
            Fat32 => boundary,
            _ => 2 * boundary + MAX_GIVEN_UP_CLUSTERS * class.cluster_sectors,
        };
        (boundary..=most).find_map(|start| {
            let around = Surroundings { start, before: start, after: 0, step: 1 };
            let total = u32::try_from(around.volume_sectors(card_sectors)).ok()?;
            let search = Search { format: &format, around, ..*self };
            let geometry = search.lay_out(class.kind, cluster_bytes, total).ok()?;
            let on_boundary = (start + geometry.first_data_sector()).is_multiple_of(boundary);
            on_boundary.then_some(Chosen {
                geometry,
                image_sectors: card_sectors,
                start,
                floppy: None,
            })
        })
    }
}

/// The partition's type, by the volume and by how far it reaches.
pub(in crate::plan) fn partition_type(chosen: &Chosen) -> u8 {
    match chosen.geometry.kind() {
        Fat12 => mbr::FAT12_CHS,
        Fat16 if chosen.geometry.shape().total_sectors < 1 << 16 => mbr::FAT16_SMALL_CHS,
        Fat16 => mbr::FAT16_CHS,
        Fat32 if chosen.image_sectors <= PAST_CYLINDERS => mbr::FAT32_CHS,
        Fat32 => mbr::FAT32_LBA,
    }
}

impl Profile {
    /// What a card's layout is, and where it is not the one of its capacity.
    pub(super) fn card_choices(self, chosen: &Chosen) -> Vec<Choice> {
        let Some(class) = Class::of(chosen.image_sectors) else { return Vec::new() };
        let size = |sectors: u64| as_typed(sectors * SECTOR_BYTES);
        let kind = chosen.geometry.kind();
        let shape = chosen.geometry.shape();
        let cluster_sectors = u64::from(shape.sectors_per_cluster);
        let mut text = format!(
            "{} with clusters of {}, the first on a boundary of {}: the SD Association has it for cards up to {}",
            class.kind,
            size(class.cluster_sectors),
            size(class.boundary_sectors),
            size(class.most_sectors)
        );
        if (kind, cluster_sectors) != (class.kind, class.cluster_sectors) {
            text = format!(
                "{kind} with clusters of {}: with {} in clusters of {}, which the SD Association has for cards up to {}, readers would not agree on the type",
                size(cluster_sectors),
                class.kind,
                size(class.cluster_sectors),
                size(class.most_sectors)
            );
        }
        let mut choices = vec![Choice { about: "type", text }];
        let start = format!("sector {}", chosen.start);
        let text = match kind {
            Fat32 => format!("partition at {start}, its clusters on the next boundary"),
            _ if chosen.start >= 2 * class.boundary_sectors => format!(
                "partition at {start}: from an earlier boundary on, readers would not agree on the type"
            ),
            _ => format!("partition at {start}, so that its clusters lie on a boundary"),
        };
        choices.push(Choice { about: "partition", text });
        choices
    }
}
