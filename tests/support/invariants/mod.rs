//! Judges a FAT12/16/32 volume by the invariants I1..I40, knowing nothing of the program that made
//! it.
//!
//! The numbers are those of the list in `docs/format.md`. Left out: all of I40 but the alignment of
//! cluster 2 and the look of a partition table; the disk around the volume is not read.
//!
//! Nothing in the image is trusted. Every figure read from it is checked before it leads anywhere,
//! and what is kept in memory is bounded: 4 + 1 bytes per cluster, at most [`MOST_CLUSTERS`]
//! clusters and [`MOST_ENTRIES`] entries.

mod boot_checks;
mod content_checks;
mod directory;
mod fat_checks;
mod geometry;
mod order_checks;
mod tree_checks;
mod volume;
mod volume_bytes;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use directory::{Directory, Entry, Stamp};
pub use geometry::{BootSector, FatType, Geometry, MOST_CLUSTERS};
pub use volume::{MOST_ENTRIES, Run, Volume};
pub use volume_bytes::VolumeBytes;

/// What the build was asked for, as far as the image must show it. `None` is not judged.
#[derive(Debug, Clone, Default)]
pub struct Expect {
    /// Where the volume starts in the image file, in bytes.
    pub offset: u64,
    pub fats: Option<u8>,
    pub volume_id: Option<u32>,
    /// `Some(None)`: the volume must have no label.
    pub label: Option<Option<String>>,
    pub hidden_sectors: Option<u32>,
    /// The byte offset of cluster 2 in the image file is a multiple of this.
    pub align_bytes: Option<u64>,
    /// SOURCE_DATE_EPOCH: no stamp is later. Before 1980 it means 1980.
    pub epoch_ceiling: Option<u64>,
    /// Skips the 16-cluster margins of I12, never the rule that the cluster count makes the type.
    pub windowless: bool,
    /// Clusters of 64 KiB were asked for.
    pub cluster_64k: bool,
    /// Jump and boot code were given by the user: neither I3 nor the code bytes are judged.
    pub stray_boot_code: bool,
    /// The reserved sectors were given by the user: the upper bound of I13 is not judged.
    pub explicit_reserved: bool,
    /// A directory without links, from which the image was made with no name or content left out or
    /// changed.
    pub source: Option<PathBuf>,
    /// The stamps of `source` are judged too.
    pub times: bool,
}

/// One invariant that does not hold, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    pub invariant: u8,
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "I{}: {}", self.invariant, self.what)
    }
}

/// Every breach found, in order of invariant; none means that all hold.
///
/// When the boot sector leaves open where things are, the judgement ends there. Of each invariant
/// only the first few breaches are told, then their number. An error means that the image or the
/// source could not be read.
pub fn check(image: &Path, expect: &Expect) -> io::Result<Vec<Breach>> {
    let bytes = VolumeBytes::open(image, expect.offset)?;
    let mut breaches = Breaches::default();
    judge(&bytes, expect, &mut breaches)?;
    Ok(breaches.in_order())
}

/// The decoded volume that starts `offset` bytes into the image.
///
/// The error is of kind `InvalidData` when the boot sector leaves open where things are. All other
/// flaws are decoded as well as can be: ask [`check`] for them.
pub fn read(image: &Path, offset: u64) -> io::Result<Volume> {
    let bytes = VolumeBytes::open(image, offset)?;
    let boot = BootSector::read(&bytes)?;
    let unusable = |breach: Breach| io::Error::new(io::ErrorKind::InvalidData, breach.to_string());
    let geometry = Geometry::of(&boot).map_err(unusable)?;
    geometry.usable(&boot, &bytes).map_err(unusable)?;
    Volume::read(&bytes, boot, geometry, &mut Breaches::default())
}

fn judge(bytes: &VolumeBytes, expect: &Expect, breaches: &mut Breaches) -> io::Result<()> {
    let boot = BootSector::read(bytes)?;
    boot_checks::check_untyped_fields(&boot, expect, breaches);
    let geometry = match Geometry::of(&boot) {
        Ok(geometry) => geometry,
        Err(breach) => {
            breaches.add(breach.invariant, || breach.what);
            return Ok(());
        }
    };
    boot_checks::check_geometry(bytes, &boot, &geometry, expect, breaches);
    if let Err(breach) = geometry.usable(&boot, bytes) {
        breaches.add(breach.invariant, || format!("{}; the rest is not judged", breach.what));
        return Ok(());
    }
    let volume = Volume::read(bytes, boot, geometry, breaches)?;
    boot_checks::check_reserved_sectors(bytes, &volume, breaches)?;
    fat_checks::check(bytes, &volume, breaches)?;
    tree_checks::check(&volume, expect, breaches);
    order_checks::check(&volume, expect, breaches);
    content_checks::check(bytes, &volume, expect, breaches)
}

/// The breaches found so far: a volume of garbage has too many to keep them all.
#[derive(Default)]
struct Breaches {
    found: Vec<Breach>,
    /// How many of each invariant, told or not.
    counts: BTreeMap<u8, usize>,
}

impl Breaches {
    const TOLD_PER_INVARIANT: usize = 8;

    fn add(&mut self, invariant: u8, what: impl FnOnce() -> String) {
        let count = self.counts.entry(invariant).or_default();
        *count += 1;
        if *count <= Self::TOLD_PER_INVARIANT {
            self.found.push(Breach { invariant, what: what() });
        }
    }

    fn require(&mut self, invariant: u8, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.add(invariant, what);
        }
    }

    fn in_order(mut self) -> Vec<Breach> {
        for (invariant, count) in self.counts {
            if count > Self::TOLD_PER_INVARIANT {
                let more = count - Self::TOLD_PER_INVARIANT;
                self.found.push(Breach { invariant, what: format!("{more} more of this kind") });
            }
        }
        self.found.sort_by_key(|breach| breach.invariant);
        self.found
    }
}
