//! Which volume: type and cluster size for a number of sectors. Taste is here; arithmetic is in
//! `fat::geometry`.

use super::demand::{Demand, MAX_CLUSTER_BYTES, MIN_CLUSTER_BYTES};
use super::floppy::Floppy;
use super::misfit::{Asked, Misfit};
use super::profile::Profile;
use super::profile::refusal::Refusal;
use super::request::{Format, Free, ImageSize};
use super::surroundings::Surroundings;
use crate::fat::boot::MIN_FAT32_RESERVED_SECTORS;
use crate::fat::geometry::{Geometry, RECORD_BYTES, Shape};
use crate::fat::kind::FatKind;
use crate::units::{align_up, percent_of};

/// Clusters of 4 KiB lie on the pages and blocks of whatever holds the image.
pub(super) const PREFERRED_CLUSTER_BYTES: u32 = 4096;
/// Larger clusters are against the specification's advice, so they are made on request, or where
/// the volume could not exist otherwise.
pub(super) const ADVISED_CLUSTER_BYTES: u32 = 32 << 10;
/// Reserved sectors of FAT32, as everybody has them.
const FAT32_RESERVED_SECTORS: u16 = 32;
/// Records of a fixed root directory, unless the tree needs more: whole sectors of every size.
const ROOT_ENTRIES: u16 = 512;
/// A type asked for by name is made possible by so many clusters' worth of reserved sectors:
/// enough to bring a FAT16 of exactly 2 GiB inside its margin.
const MAX_GIVEN_UP_CLUSTERS: u32 = 33;
pub(super) const GIB: u64 = 1 << 30;

/// A layout for the whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) geometry: Geometry,
    /// Sectors of the image: those of the disk around the volume are among them.
    pub(super) image_sectors: u64,
    /// Sectors of the disk before the volume.
    pub(super) start: u64,
    /// The media byte that belongs to a classic floppy of that size.
    pub(super) floppy: Option<Floppy>,
}

/// A volume that is asked for, and what it has to hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) format: &'a Format,
    /// What was asked for before the profile completed it.
    pub(super) typed: &'a Format,
    pub(super) profile: Option<Profile>,
    pub(super) demand: &'a Demand,
    pub(super) free: Free,
    pub(super) around: Surroundings,
    /// Whether the demand is of the whole tree, nothing refused.
    pub(super) complete: bool,
    /// Whether the size is that of the place that the image goes to, which cannot be asked for.
    pub(super) placed: bool,
}

/// Why one type with one cluster size is not possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfit {
    /// Not one cluster.
    NoRoom,
    /// So many clusters, and the type may not have as many or as few.
    Count(u32),
    /// The fixed root directory cannot hold the tree's root.
    Root {
        /// Records of the tree's root.
        needed: u64,
        /// Records that it may have.
        most: u16,
    },
    /// Too few reserved sectors.
    Reserved(u16),
    /// The given reserved sectors leave the data off their boundary.
    Misaligned,
}

impl Search<'_> {
    /// The volume for `size`.
    pub(super) fn run(&self, size: ImageSize) -> Result<Chosen, Misfit> {
        self.check_options()?;
        match size {
            _ if self.profile == Some(Profile::SdCard) => self.card(size),
            ImageSize::Bytes(bytes) | ImageSize::Place(bytes) => self.fixed(bytes),
            ImageSize::Auto => {
                let chosen = self.smallest().ok_or_else(|| self.no_size())?;
                match self.over_limit(chosen.image_sectors * self.sector_bytes()) {
                    Some(refusal) => Err(Misfit::Refused(refusal)),
                    None => Ok(chosen),
                }
            }
        }
    }

    fn smallest(&self) -> Option<Chosen> {
        let total = self.smallest_total()?;
        let image_sectors = self.around.image_sectors(total.into());
        let (geometry, start) = (self.choose_for_auto(total)?, self.around.start);
        Some(Chosen { geometry, image_sectors, start, floppy: None })
    }

    fn fixed(&self, bytes: u64) -> Result<Chosen, Misfit> {
        let sector_bytes = self.sector_bytes();
        let image_sectors = bytes / sector_bytes;
        let total = u32::try_from(self.around.volume_sectors(image_sectors)).map_err(|_| {
            let most = self.image_bytes(u32::MAX.into());
            if self.placed {
                Misfit::PlaceOverLimit { bytes, most, sector_bytes }
            } else {
                Misfit::SizeOverLimit { bytes, most, sector_bytes }
            }
        })?;
        if !bytes.is_multiple_of(sector_bytes) {
            return Err(Misfit::SizeNotWholeSectors { bytes, sector_bytes });
        }
        if let Some(floppy) = self.profile.and_then(Profile::floppy) {
            let (needed, most) = (self.demand.root_records, floppy.root_entries);
            if needed > most.into() {
                let remedy = "put the files into directories".to_owned();
                return Err(Misfit::RootTooSmall { needed, most, remedy });
            }
        }
        let chosen = self.of_size(total).ok_or_else(|| self.not_legal(total))?;
        let chosen = Chosen { image_sectors, ..chosen };
        if self.fits(&chosen.geometry, self.spare_clusters()) {
            Ok(chosen)
        } else {
            Err(self.too_small(&chosen))
        }
    }

    /// Bytes of the smallest image around a volume of so many sectors.
    pub(super) fn image_bytes(&self, volume_sectors: u64) -> u64 {
        self.around.image_sectors(volume_sectors).saturating_mul(self.sector_bytes())
    }

    /// Whether a volume of that size holds the tree.
    pub(super) fn holds(&self, total_sectors: u32) -> bool {
        self.of_size(total_sectors)
            .is_some_and(|chosen| self.fits(&chosen.geometry, self.spare_clusters()))
    }

    /// The volume of a size that was asked for.
    fn of_size(&self, total_sectors: u32) -> Option<Chosen> {
        let image_sectors = self.around.image_sectors(total_sectors.into());
        let start = self.around.start;
        let ordinary = || {
            let geometry = self.choose(total_sectors)?;
            Some(Chosen { geometry, image_sectors, start, floppy: None })
        };
        self.classic_floppy(total_sectors).or_else(ordinary)
    }

    fn check_options(&self) -> Result<(), Misfit> {
        let sector_bytes = self.sector_bytes();
        if let Some(entries) = self.format.root_entries {
            if self.format.kind == Some(FatKind::Fat32) {
                return Err(Misfit::RootEntriesOnFat32);
            }
            let per_sector = self.records_per_sector();
            if !u64::from(entries).is_multiple_of(per_sector) || entries == 0 {
                return Err(Misfit::RootEntriesNotWholeSectors { entries, per_sector });
            }
        }
        if let Some(align_bytes) = self.format.align_bytes
            && !u64::from(align_bytes).is_multiple_of(sector_bytes)
        {
            return Err(Misfit::AlignNotWholeSectors { align_bytes, sector_bytes });
        }
        match self.format.cluster_bytes {
            Some(cluster_bytes)
                if u64::from(cluster_bytes) < sector_bytes
                    || u64::from(cluster_bytes) > 128 * sector_bytes =>
            {
                Err(Misfit::ClusterOutOfRange { cluster_bytes, sector_bytes })
            }
            _ => Ok(()),
        }
    }

    /// The classic layout for a floppy's size when nothing else was asked for.
    fn classic_floppy(&self, total_sectors: u32) -> Option<Chosen> {
        // In a partition nothing is a floppy, and no consumer but its own wants one.
        let wanted = self.profile.is_none_or(|profile| profile.floppy().is_some());
        let open = wanted && self.format.leaves_layout_open() && self.around.start == 0;
        let floppy = Floppy::of_size(total_sectors).filter(|_| open)?;
        let grown = align_up(self.demand.root_records, self.records_per_sector())?;
        let shape = Shape {
            kind: FatKind::Fat12,
            total_sectors,
            bytes_per_sector: self.format.sector_bytes,
            sectors_per_cluster: floppy.sectors_per_cluster,
            reserved_sectors: 1,
            fat_count: 2,
            root_entries: u16::try_from(grown).ok()?.max(floppy.root_entries),
        };
        let image_sectors = total_sectors.into();
        Some(Chosen { geometry: shape.solve()?, image_sectors, start: 0, floppy: Some(floppy) })
    }

    /// Whether the root directory is larger than that of other volumes of its kind.
    pub(super) fn root_is_grown(&self, chosen: &Chosen) -> bool {
        let usual = chosen.floppy.map_or(ROOT_ENTRIES, |floppy| floppy.root_entries);
        let entries = chosen.geometry.shape().root_entries;
        self.format.root_entries.is_none() && entries > usual
    }

    /// The layout that we prefer for a volume of `total_sectors`, whatever it has to hold.
    pub(super) fn choose(&self, total_sectors: u32) -> Option<Geometry> {
        self.choose_among(total_sectors, true)
    }

    pub(super) fn choose_among(&self, total_sectors: u32, smaller_too: bool) -> Option<Geometry> {
        let preferred = self.cluster_sizes_by_preference(total_sectors, smaller_too).into_iter();
        preferred
            .flat_map(|cluster_bytes| self.kinds().iter().map(move |kind| (*kind, cluster_bytes)))
            .find_map(|(kind, cluster_bytes)| self.lay_out(kind, cluster_bytes, total_sectors).ok())
            .or_else(|| self.give_up_clusters(total_sectors))
    }

    /// The types that are allowed.
    pub(super) fn kinds(&self) -> &'static [FatKind] {
        match (self.format.kind, self.format.root_entries) {
            (Some(FatKind::Fat12), _) => &[FatKind::Fat12],
            (Some(FatKind::Fat16), _) => &[FatKind::Fat16],
            (Some(FatKind::Fat32), _) => &[FatKind::Fat32],
            (None, Some(_)) => &[FatKind::Fat12, FatKind::Fat16],
            (None, None) => self.profile.map_or(&FatKind::ALL, |profile| profile.rules().kinds),
        }
    }

    /// The preferred cluster for the size and larger ones, then, if they may be, smaller ones.
    fn cluster_sizes_by_preference(&self, total_sectors: u32, smaller_too: bool) -> Vec<u32> {
        if let Some(cluster_bytes) = self.format.cluster_bytes {
            return vec![cluster_bytes];
        }
        let bytes = u64::from(total_sectors) * self.sector_bytes();
        let preferred = match bytes {
            _ if bytes > 32 * GIB => 8 * PREFERRED_CLUSTER_BYTES,
            _ if bytes > 16 * GIB => 4 * PREFERRED_CLUSTER_BYTES,
            _ if bytes > 8 * GIB => 2 * PREFERRED_CLUSTER_BYTES,
            _ => PREFERRED_CLUSTER_BYTES,
        };
        // Over 8 TiB there is no FAT32 with clusters of 32 KiB.
        let most = if bytes > 8192 * GIB { MAX_CLUSTER_BYTES } else { ADVISED_CLUSTER_BYTES };
        let most = most.min(self.most_cluster_bytes());
        let mut sizes: Vec<u32> = doublings(preferred, most).collect();
        if smaller_too {
            let smaller = doublings(u32::from(self.format.sector_bytes), preferred / 2);
            sizes.extend(smaller.collect::<Vec<_>>().into_iter().rev());
        }
        sizes
    }

    /// One type with one cluster size, cluster 2 on its boundary, if every reader accepts it.
    pub(super) fn lay_out(
        &self,
        kind: FatKind,
        cluster_bytes: u32,
        total_sectors: u32,
    ) -> Result<Geometry, Unfit> {
        let geometry = self.align(self.solve(kind, cluster_bytes, total_sectors)?)?;
        if geometry.is_safe_for_its_kind() {
            Ok(geometry)
        } else {
            Err(Unfit::Count(geometry.cluster_count()))
        }
    }

    fn solve(
        &self,
        kind: FatKind,
        cluster_bytes: u32,
        total_sectors: u32,
    ) -> Result<Geometry, Unfit> {
        let shape = self.shape(kind, cluster_bytes, total_sectors)?;
        shape.solve().ok_or(Unfit::NoRoom)
    }

    pub(super) fn shape(
        &self,
        kind: FatKind,
        cluster_bytes: u32,
        total_sectors: u32,
    ) -> Result<Shape, Unfit> {
        let fat32 = kind == FatKind::Fat32;
        let usual = if fat32 { FAT32_RESERVED_SECTORS } else { 1 };
        let reserved_sectors = self.format.reserved_sectors.unwrap_or(usual);
        if fat32 && reserved_sectors < MIN_FAT32_RESERVED_SECTORS {
            return Err(Unfit::Reserved(reserved_sectors));
        }
        Ok(Shape {
            kind,
            total_sectors,
            bytes_per_sector: self.format.sector_bytes,
            sectors_per_cluster: u8::try_from(cluster_bytes / u32::from(self.format.sector_bytes))
                .map_err(|_| Unfit::NoRoom)?,
            reserved_sectors,
            fat_count: self.format.fat_count.unwrap_or(2),
            root_entries: if fat32 { 0 } else { self.root_entries()? },
        })
    }

    /// Records of a fixed root directory: as asked, or as usual and as many as the tree needs.
    pub(super) fn root_entries(&self) -> Result<u16, Unfit> {
        let needed = self.demand.root_records;
        if let Some(most) = self.format.root_entries {
            return if needed <= u64::from(most) {
                Ok(most)
            } else {
                Err(Unfit::Root { needed, most })
            };
        }
        let per_sector = self.records_per_sector();
        let most = u64::from(u16::MAX) / per_sector * per_sector;
        let most = u16::try_from(most).unwrap_or(u16::MAX);
        align_up(needed, per_sector)
            .and_then(|grown| u16::try_from(grown).ok())
            .filter(|grown| *grown <= most)
            .map(|grown| grown.max(ROOT_ENTRIES))
            .ok_or(Unfit::Root { needed, most })
    }

    /// Moves the data area up to its boundary on the disk by reserved sectors; the FAT is not lengthened.
    fn align(&self, geometry: Geometry) -> Result<Geometry, Unfit> {
        let boundary_bytes = match self.format.align_bytes {
            Some(align_bytes) => align_bytes,
            None if self.format.reserved_sectors.is_some() => return Ok(geometry),
            None if geometry.cluster_bytes() >= PREFERRED_CLUSTER_BYTES => PREFERRED_CLUSTER_BYTES,
            None => return Ok(geometry),
        };
        let boundary_sectors = u64::from(boundary_bytes) / self.sector_bytes();
        let at = self.around.start + geometry.first_data_sector();
        let pad = align_up(at, boundary_sectors).ok_or(Unfit::NoRoom)? - at;
        if pad > 0 && self.format.reserved_sectors.is_some() {
            return Err(Unfit::Misaligned);
        }
        u16::try_from(u64::from(geometry.shape().reserved_sectors) + pad)
            .ok()
            .and_then(|reserved| geometry.with_reserved_sectors(reserved))
            .ok_or(Unfit::NoRoom)
    }

    /// A type asked for by name that has a few clusters too many even with the largest ones:
    /// reserved sectors take their room.
    fn give_up_clusters(&self, total_sectors: u32) -> Option<Geometry> {
        let kind = self.format.kind?;
        if self.format.reserved_sectors.is_some() || self.format.cluster_bytes.is_some() {
            return None;
        }
        let geometry = self.solve(kind, ADVISED_CLUSTER_BYTES, total_sectors).ok()?;
        let excess = geometry.cluster_count().checked_sub(*kind.safe_cluster_counts().end())?;
        if excess > MAX_GIVEN_UP_CLUSTERS {
            return None;
        }
        let given_up = excess * u32::from(geometry.shape().sectors_per_cluster);
        let reserved = u32::from(geometry.shape().reserved_sectors) + given_up;
        let moved = geometry.with_reserved_sectors(u16::try_from(reserved).ok()?)?;
        self.align(moved).ok().filter(Geometry::is_safe_for_its_kind)
    }

    /// Clusters that stay free on a volume of `count` clusters.
    pub(super) fn free_clusters(&self, cluster_bytes: u32, count: u64) -> u64 {
        match self.free {
            Free::Bytes(bytes) => bytes.div_ceil(u64::from(cluster_bytes)),
            Free::Percent(percent) => percent_of(count, percent),
        }
    }

    /// Whether the tree, the room asked for and `spare` clusters fit.
    pub(super) fn fits(&self, geometry: &Geometry, spare: u64) -> bool {
        let count = u64::from(geometry.cluster_count());
        let used = self.demand.clusters(geometry.kind(), geometry.cluster_bytes());
        let free = self.free_clusters(geometry.cluster_bytes(), count);
        used.saturating_add(free).saturating_add(spare) <= count
    }

    pub(super) fn all_cluster_sizes(&self) -> Vec<u32> {
        match self.format.cluster_bytes {
            Some(cluster_bytes) => vec![cluster_bytes],
            None => doublings(
                MIN_CLUSTER_BYTES.max(u32::from(self.format.sector_bytes)),
                self.most_cluster_bytes(),
            )
            .collect(),
        }
    }

    /// The largest cluster that is made unasked.
    fn most_cluster_bytes(&self) -> u32 {
        self.profile.map_or(MAX_CLUSTER_BYTES, |profile| profile.rules().most_cluster_bytes)
    }

    /// Clusters at the end that the consumer cannot read.
    pub(super) fn spare_clusters(&self) -> u64 {
        self.profile.map_or(0, |profile| profile.rules().spare_clusters)
    }

    /// Sizes are multiples of this.
    pub(super) fn size_unit_bytes(&self) -> u64 {
        self.profile.map_or(1, |profile| profile.rules().size_unit_bytes())
    }

    /// Why an image of so many bytes is more than the consumer reads.
    pub(super) fn over_limit(&self, image_bytes: u64) -> Option<Refusal> {
        self.profile?.rules().over_limit(image_bytes)
    }

    pub(super) fn sector_bytes(&self) -> u64 {
        u64::from(self.format.sector_bytes)
    }

    fn records_per_sector(&self) -> u64 {
        self.sector_bytes() / u64::from(RECORD_BYTES)
    }

    pub(super) fn asked(&self) -> Asked {
        Asked { kind: self.format.kind, cluster_bytes: self.format.cluster_bytes }
    }
}

fn doublings(from: u32, to: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(from), |size| size.checked_mul(2))
        .take_while(move |size| *size <= to)
}
