//! Every type with every sector and cluster size, from volumes that are too small up to 64 MiB: a
//! volume that follows from the rules of the format is made, and `fsck.fat` agrees; what does not is
//! refused with the count that stands in the way and sizes that would do.

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use mkfatimg::fat::geometry::Geometry;
use mkfatimg::fat::kind::FatKind::{self, Fat12, Fat16, Fat32};
use mkfatimg::plan::misfit::Misfit;
use mkfatimg::plan::request::ImageSize;
use mkfatimg::plan::{Plan, Problem};
use mkfatimg::sink::Output;
use mkfatimg::verify::Depth;
use mkfatimg::{Delivery, Error, Request};
use support::{Expect, Tool, TreeBuilder, assert_sound, fsck, request, scratch};

/// The largest volume.
const MOST_BYTES: u64 = 64 << 20;

/// Sizes below this number of sectors are all tried: here regions shrink to one sector each.
const SMALL_SECTORS: u64 = 48;

/// Sectors between the sizes that are tried: a prime number meets every alignment.
const STEP_SECTORS: u64 = 9973;

/// A type with a sector and a cluster size; the rest is our default.
#[derive(Debug, Clone, Copy)]
struct Asked {
    kind: FatKind,
    sector_bytes: u64,
    cluster_bytes: u64,
}

impl Asked {
    /// Every type with every sector size and every cluster size that it allows.
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for kind in FatKind::ALL {
            for sector_bytes in [512, 1024, 2048, 4096] {
                let clusters = (9..=16).map(|shift| 1 << shift);
                for cluster_bytes in clusters.filter(|bytes| *bytes >= sector_bytes) {
                    all.push(Self { kind, sector_bytes, cluster_bytes });
                }
            }
        }
        all
    }

    /// Clusters in so many sectors, by the definitions of the format: the shortest FAT that has an
    /// entry for each, and clusters of 4 KiB and more on boundaries of 4 KiB. 0 where there is no
    /// room for any.
    fn clusters(&self, total_sectors: u64) -> u64 {
        let (reserved, root_sectors) = match self.kind {
            Fat32 => (32, 0),
            _ => (1, 512 * 32 / self.sector_bytes),
        };
        let entry_bits = match self.kind {
            Fat12 => 12,
            Fat16 => 16,
            Fat32 => 32,
        };
        let clusters_behind = |data_sector: u64| {
            total_sectors.saturating_sub(data_sector) * self.sector_bytes / self.cluster_bytes
        };
        let data_sector = |fat_sectors: u64| reserved + 2 * fat_sectors + root_sectors;
        let suffices = |fat_sectors: u64| {
            let entries = clusters_behind(data_sector(fat_sectors)) + 2;
            (entries * entry_bits).div_ceil(8) <= fat_sectors * self.sector_bytes
        };
        // One that suffices for all clusters that the sectors could be is long enough.
        let entries = total_sectors * self.sector_bytes / self.cluster_bytes + 2;
        let (mut short, mut long) = (0, (entries * entry_bits).div_ceil(8 * self.sector_bytes));
        while short + 1 < long {
            let middle = short.midpoint(long);
            if suffices(middle) { long = middle } else { short = middle }
        }
        let boundary = if self.cluster_bytes >= 4096 { 4096 / self.sector_bytes } else { 1 };
        clusters_behind(data_sector(long).next_multiple_of(boundary))
    }

    fn is_legal(&self, total_sectors: u64) -> bool {
        let least_and_most = match self.kind {
            Fat12 => 1..=4068,
            Fat16 => 4101..=65_508,
            Fat32 => 65_541..=0x0FFF_FFF5,
        };
        least_and_most.contains(&self.clusters(total_sectors))
    }

    /// Sizes in steps, the small ones, and those where the legal ones begin and end.
    fn sizes(&self, step_sectors: u64) -> BTreeSet<u64> {
        let most = MOST_BYTES / self.sector_bytes;
        let mut sizes: BTreeSet<u64> =
            (step_sectors..=most).step_by(step_sectors as usize).collect();
        sizes.extend(1..SMALL_SECTORS);
        sizes.insert(most);
        let mut was_legal = false;
        for sectors in 1..=most {
            let is_legal = self.is_legal(sectors);
            if is_legal != was_legal {
                sizes.extend([sectors - 1, sectors]);
            }
            was_legal = is_legal;
        }
        sizes.remove(&0);
        sizes
    }

    fn request(&self, source: &Path, total_sectors: u64) -> Request {
        let mut request = request(source);
        request.size = ImageSize::Bytes(total_sectors * self.sector_bytes);
        request.format.kind = Some(self.kind);
        request.format.sector_bytes = self.sector_bytes as u16;
        request.format.cluster_bytes = Some(self.cluster_bytes as u32);
        request
    }

    fn assert_as_counted(&self, geometry: &Geometry, total_sectors: u64) {
        let shape = geometry.shape();
        assert_eq!(
            (shape.kind, u64::from(shape.total_sectors), u64::from(geometry.cluster_count())),
            (self.kind, total_sectors, self.clusters(total_sectors)),
            "{self:?}"
        );
    }

    /// The reason is the number of clusters, and all that is advised would do.
    fn assert_right_reason(&self, misfit: &Misfit, total_sectors: u64) {
        let told = misfit.to_string();
        let about = format!("{self:?}, {total_sectors} sectors: {told}");
        let Misfit::IllegalCount { bytes, found, advice, .. } = misfit else { panic!("{about}") };
        assert_eq!(*bytes, total_sectors * self.sector_bytes, "{about}");
        let clusters = self.clusters(total_sectors);
        match found {
            Some(found) => {
                let count = format!("it would have {clusters}, and {} takes", self.kind);
                assert!(found.contains(&count), "{clusters} clusters: {about}");
            }
            None => assert_eq!(clusters, 0, "{about}"),
        }
        let mut advised = 0;
        for part in advice.split(", or ") {
            if let Some(clusters) = part.strip_prefix("in this size use --cluster-size ") {
                for cluster_bytes in clusters.split(" or ") {
                    let other = Self { cluster_bytes: cluster_bytes.parse().unwrap(), ..*self };
                    assert!(other.is_legal(total_sectors), "{cluster_bytes}: {about}");
                }
            } else if let Some(size) = part.strip_prefix("use --size ") {
                let (size, _) = size.split_once(" or ").unwrap();
                let bytes = typed(size);
                assert!(bytes.is_multiple_of(self.sector_bytes), "{size}: {about}");
                assert!(self.is_legal(bytes / self.sector_bytes), "{size}: {about}");
                advised += 1;
            } else {
                assert_eq!(
                    part, "leave out --fat-type for the type that suits the size",
                    "{about}"
                );
            }
        }
        assert!(advised > 0, "{about}");
    }
}

/// A size as it is typed.
fn typed(size: &str) -> u64 {
    let (number, shift) = match size.chars().last() {
        Some('K') => (&size[..size.len() - 1], 10),
        Some('M') => (&size[..size.len() - 1], 20),
        Some('G') => (&size[..size.len() - 1], 30),
        _ => (size, 0),
    };
    number.parse::<u64>().unwrap() << shift
}

fn plan(request: &Request) -> Result<Plan, Misfit> {
    mkfatimg::plan(request, &()).map_err(|error| match error {
        Error::Refused(problems) => match <[Problem; 1]>::try_from(problems.0) {
            Ok([Problem::Misfit(misfit)]) => misfit,
            other => panic!("{other:?}"),
        },
        other => panic!("{other}"),
    })
}

/// In other steps with `MKFATIMG_GEOMETRY_STEP`, a number of sectors, in release.
#[test]
fn every_geometry_up_to_64_mib_is_made_and_accepted_or_refused_with_the_right_reason() {
    let told = std::env::var("MKFATIMG_GEOMETRY_STEP").ok().and_then(|text| text.parse().ok());
    let step_sectors = told.unwrap_or(STEP_SECTORS);
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    let image = scratch.path().join("image");
    let fsck = Tool::find("fsck.fat");
    let (mut made, mut refused) = (0, 0);
    for asked in Asked::all() {
        for sectors in asked.sizes(step_sectors) {
            match plan(&asked.request(empty.root(), sectors)) {
                Err(misfit) => {
                    assert!(!asked.is_legal(sectors), "{asked:?}, {sectors} sectors: {misfit}");
                    asked.assert_right_reason(&misfit, sectors);
                    refused += 1;
                }
                Ok(plan) => {
                    assert!(asked.is_legal(sectors), "{asked:?}, {sectors} sectors are made");
                    asked.assert_as_counted(plan.geometry(), sectors);
                    let delivery = Delivery::of(Output::at(&image).unwrap(), Depth::Contents);
                    delivery.carry_out(plan, &()).unwrap_or_else(|error| panic!("{error}"));
                    let cluster_64k = asked.cluster_bytes == 65_536;
                    assert_sound(&image, &Expect { cluster_64k, ..Expect::default() });
                    if let Some(fsck) = &fsck {
                        fsck::assert_accepts(fsck, &image);
                    }
                    made += 1;
                }
            }
        }
    }
    eprintln!("{made} volumes made, {refused} refused");
    assert!(made > 500 && refused > 500, "{made} made, {refused} refused");
}

/// Where the cluster size is ours, a size is refused only if no cluster size that we choose makes a
/// volume of that type.
#[test]
fn a_type_alone_is_refused_only_where_no_cluster_size_makes_it() {
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    for kind in FatKind::ALL {
        for sector_bytes in [512, 1024, 2048, 4096] {
            let clusters = (9..=15).map(|shift| 1 << shift).filter(|bytes| *bytes >= sector_bytes);
            let with: Vec<Asked> =
                clusters.map(|cluster_bytes| Asked { kind, sector_bytes, cluster_bytes }).collect();
            let sizes: BTreeSet<u64> =
                with.iter().flat_map(|one| one.sizes(STEP_SECTORS)).collect();
            for sectors in sizes {
                let mut request = with[0].request(empty.root(), sectors);
                request.format.cluster_bytes = None;
                let legal: Vec<_> = with.iter().filter(|one| one.is_legal(sectors)).collect();
                match plan(&request) {
                    Ok(plan) => {
                        let chosen = u64::from(plan.geometry().cluster_bytes());
                        let one = legal.iter().find(|one| one.cluster_bytes == chosen);
                        let about = format!("{kind}, {sector_bytes}, {sectors}: {chosen}");
                        one.unwrap_or_else(|| panic!("{about}"))
                            .assert_as_counted(plan.geometry(), sectors);
                    }
                    Err(misfit) => {
                        assert!(legal.is_empty(), "{kind}, {sector_bytes}, {sectors}: {misfit}");
                    }
                }
            }
        }
    }
}
