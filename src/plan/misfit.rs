//! Why no volume is as asked for, and what would be: the advice in a refusal. Decides nothing.

use std::fmt;

use thiserror::Error;

use super::request::Format;
use super::size::{Chosen, Search, Unfit};
use crate::fat::boot::MIN_FAT32_RESERVED_SECTORS;
use crate::fat::kind::FatKind;
use crate::units::as_typed;

/// What was asked of type and cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The type, if one was named.
    pub kind: Option<FatKind>,
    /// The cluster size, if one was named.
    pub cluster_bytes: Option<u32>,
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Some(kind) => write!(f, "{kind}")?,
            None => f.write_str("FAT")?,
        }
        match self.cluster_bytes {
            Some(bytes) => write!(f, " with clusters of {bytes} bytes"),
            None => Ok(()),
        }
    }
}

/// Why there is no volume as asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misfit {
    /// The size ends inside a sector.
    #[error(
        "--size {bytes} is no whole number of sectors of {sector_bytes} bytes; {} or {} is",
        bytes - bytes % sector_bytes, bytes - bytes % sector_bytes + sector_bytes
    )]
    SizeNotWholeSectors {
        /// The size.
        bytes: u64,
        /// The sector.
        sector_bytes: u64,
    },
    /// More sectors than 32 bits count.
    #[error(
        "--size {bytes} is more than a FAT volume can have: {most} bytes at {sector_bytes} bytes a sector"
    )]
    SizeOverLimit {
        /// The size.
        bytes: u64,
        /// The largest size.
        most: u64,
        /// The sector.
        sector_bytes: u64,
    },
    /// FAT32 has no fixed root directory.
    #[error("--root-entries is for FAT12 and FAT16: the root directory of FAT32 grows by itself")]
    RootEntriesOnFat32,
    /// The root directory ends inside a sector.
    #[error("--root-entries {entries} does not fill whole sectors; use a multiple of {per_sector}")]
    RootEntriesNotWholeSectors {
        /// As asked.
        entries: u16,
        /// Records in a sector.
        per_sector: u64,
    },
    /// The boundary lies inside a sector.
    #[error("--align {align_bytes} is no multiple of the sector size, {sector_bytes} bytes")]
    AlignNotWholeSectors {
        /// As asked.
        align_bytes: u32,
        /// The sector.
        sector_bytes: u64,
    },
    /// A cluster is 1 to 128 sectors.
    #[error(
        "--cluster-size {cluster_bytes} is not possible with sectors of {sector_bytes} bytes; use {sector_bytes} to {}",
        (128 * sector_bytes).min(65536)
    )]
    ClusterOutOfRange {
        /// As asked.
        cluster_bytes: u32,
        /// The sector.
        sector_bytes: u64,
    },
    /// FAT32 keeps its boot sector, FSInfo and their backups there.
    #[error(
        "--reserved-sectors {0} is too few for FAT32, which keeps {MIN_FAT32_RESERVED_SECTORS} sectors there; use {MIN_FAT32_RESERVED_SECTORS} or more"
    )]
    ReservedTooFew(u16),
    /// The given number of reserved sectors and the given boundary do not agree.
    #[error(
        "--reserved-sectors {reserved} leaves the data area off the boundary that --align asks for; {} would do",
        u64::from(*reserved) + missing
    )]
    Misaligned {
        /// As asked.
        reserved: u16,
        /// Sectors up to the boundary.
        missing: u64,
    },
    /// A fixed root directory that the tree's root does not fit into.
    #[error(
        "root directory needs {needed} entries, long names and label included, and may have {most}; {remedy}"
    )]
    RootTooSmall {
        /// Records that the tree's root takes.
        needed: u64,
        /// Records that it may have.
        most: u16,
        /// What to do.
        remedy: String,
    },
    /// The volume is smaller than any as asked for.
    #[error("--size {} is too small for a {asked} volume; the smallest is --size {}", as_typed(*bytes), as_typed(*least))]
    NoVolumeSoSmall {
        /// The size.
        bytes: u64,
        /// What was asked.
        asked: Asked,
        /// The least size.
        least: u64,
    },
    /// The cluster count would not be one of the type.
    #[error("{asked} is not possible in {} bytes{}; {advice}", bytes, found.as_deref().unwrap_or(""))]
    IllegalCount {
        /// What was asked.
        asked: Asked,
        /// The size.
        bytes: u64,
        /// What it would come to, where one type was meant.
        found: Option<String>,
        /// What would be legal.
        advice: String,
    },
    /// The tree does not fit.
    #[error(
        "image of {} is too small: the source{} needs {needed} clusters of {cluster_bytes} bytes{}, the image has {available}: {} bytes do not fit; {advice}",
        as_typed(*image_bytes),
        if *complete { "" } else { ", as far as it was not refused," },
        if *free == 0 { String::new() } else { format!(" and {free} to stay free") },
        (needed + free - available) * u64::from(*cluster_bytes),
    )]
    TooSmall {
        /// The size asked for.
        image_bytes: u64,
        /// Whether the demand is of the whole tree.
        complete: bool,
        /// Clusters that the tree fills.
        needed: u64,
        /// Clusters that are to stay free.
        free: u64,
        /// Clusters of the volume.
        available: u64,
        /// Bytes of a cluster.
        cluster_bytes: u32,
        /// What would do.
        advice: String,
    },
    /// No size would do.
    #[error("no {asked} volume can hold the source; {advice}")]
    NoSize {
        /// What was asked.
        asked: Asked,
        /// What to change.
        advice: String,
    },
}

impl Search<'_> {
    /// Why no volume of `total_sectors` is as asked for.
    pub(super) fn not_legal(&self, total_sectors: u32) -> Misfit {
        let asked = self.asked();
        let bytes = u64::from(total_sectors) * self.sector_bytes();
        let mut found = None;
        let mut root = None;
        for cluster_bytes in self.all_cluster_sizes() {
            for kind in self.kinds() {
                match self.lay_out(*kind, cluster_bytes, total_sectors) {
                    Err(Unfit::Reserved(reserved)) if asked.kind.is_some() => {
                        return Misfit::ReservedTooFew(reserved);
                    }
                    Err(Unfit::Misaligned(missing)) => {
                        let reserved = self.format.reserved_sectors.unwrap_or(0);
                        return Misfit::Misaligned { reserved, missing };
                    }
                    Err(Unfit::Root { needed, most }) => root = root.or(Some((needed, most))),
                    Err(Unfit::Count(count)) if asked.kind.is_some() => {
                        let legal = kind.safe_cluster_counts();
                        let text = format!(
                            ": with clusters of {cluster_bytes} bytes it would have {count}, and {kind} takes {} to {}",
                            legal.start(),
                            legal.end()
                        );
                        // With the cluster that comes nearest.
                        let distance = if count < *legal.start() {
                            legal.start() - count
                        } else {
                            count - legal.end()
                        };
                        if found.as_ref().is_none_or(|(least, _)| distance < *least) {
                            found = Some((distance, text));
                        }
                    }
                    _ => {}
                }
            }
        }
        let least = self.least_legal_total();
        if let Some((needed, most)) = root
            && least.is_none_or(|least| least <= u64::from(total_sectors))
        {
            return Misfit::RootTooSmall { needed, most, remedy: self.root_remedy(needed) };
        }
        match least.map(|least| least * self.sector_bytes()) {
            Some(least)
                if least > bytes && asked.kind.is_none() && asked.cluster_bytes.is_none() =>
            {
                Misfit::NoVolumeSoSmall { bytes, asked, least }
            }
            _ => Misfit::IllegalCount {
                asked,
                bytes,
                found: found.map(|(_, text)| text),
                advice: self.legal_advice(total_sectors),
            },
        }
    }

    fn root_remedy(&self, needed: u64) -> String {
        if self.format.root_entries.is_some() && needed <= 65_520 {
            let per_sector = self.sector_bytes() / 32;
            return format!("use --root-entries {}", needed.next_multiple_of(per_sector));
        }
        "use --fat-type 32, or put the files into directories".to_owned()
    }

    /// The fewest sectors of any volume as asked for.
    fn least_legal_total(&self) -> Option<u64> {
        self.all_legal_totals().into_iter().map(|(least, _)| least).min()
    }

    /// For each type and cluster size as asked for, the fewest and the most sectors.
    fn all_legal_totals(&self) -> Vec<(u64, u64)> {
        let clusters = self.all_cluster_sizes().into_iter();
        clusters
            .flat_map(|cluster_bytes| {
                self.kinds().iter().filter_map(move |kind| self.legal_totals(*kind, cluster_bytes))
            })
            .collect()
    }

    /// The fewest and the most sectors with which one type and cluster size is legal.
    fn legal_totals(&self, kind: FatKind, cluster_bytes: u32) -> Option<(u64, u64)> {
        let safe = kind.safe_cluster_counts();
        let legal = |total: u64| {
            u32::try_from(total).is_ok_and(|total| self.lay_out(kind, cluster_bytes, total).is_ok())
        };
        let estimate = self.total_for(kind, cluster_bytes, u64::from(*safe.start()))?;
        let least = (estimate.saturating_sub(600)..estimate + 600).find(|total| legal(*total))?;
        let estimate =
            self.total_for(kind, cluster_bytes, u64::from(*safe.end()))?.min(u64::from(u32::MAX));
        let most =
            (estimate.saturating_sub(600)..=estimate + 600).rev().find(|total| legal(*total))?;
        Some((least, most))
    }

    /// What would be legal: other clusters at this size, other sizes with these clusters.
    fn legal_advice(&self, total_sectors: u32) -> String {
        let mut advice = Vec::new();
        let ranges = self.all_legal_totals();
        if self.format.cluster_bytes.is_some() {
            let format = Format { cluster_bytes: None, ..self.format.clone() };
            let any_cluster = Search { format: &format, ..*self };
            let legal_here = |cluster_bytes: &u32| {
                let legal = |kind: &FatKind| {
                    any_cluster.lay_out(*kind, *cluster_bytes, total_sectors).is_ok()
                };
                self.kinds().iter().any(legal)
            };
            let legal: Vec<String> = any_cluster
                .all_cluster_sizes()
                .into_iter()
                .filter(legal_here)
                .map(|cluster_bytes| cluster_bytes.to_string())
                .collect();
            if !legal.is_empty() {
                advice.push(format!("in this size use --cluster-size {}", legal.join(" or ")));
            }
            advice.extend(ranges.iter().map(|(least, most)| self.size_advice(*least, *most)));
        } else {
            let least = ranges.iter().map(|(least, _)| *least).min();
            let most = ranges.iter().map(|(_, most)| *most).max();
            advice.extend(least.zip(most).map(|(least, most)| self.size_advice(least, most)));
            if self.format.kind.is_some() {
                advice.push("leave out --fat-type for the type that suits the size".to_owned());
            }
        }
        if advice.is_empty() { "ask for less".to_owned() } else { advice.join(", or ") }
    }

    fn size_advice(&self, least_sectors: u64, most_sectors: u64) -> String {
        let (least, most) =
            (least_sectors * self.sector_bytes(), most_sectors * self.sector_bytes());
        format!("use --size {} to {}", as_typed(least), as_typed(most))
    }

    /// Why the tree does not fit into a legal volume.
    pub(super) fn too_small(&self, chosen: &Chosen) -> Misfit {
        let geometry = &chosen.geometry;
        let available = u64::from(geometry.cluster_count());
        let cluster_bytes = geometry.cluster_bytes();
        let mut advice = Vec::new();
        if let Some(bytes) = self.size_that_would_do() {
            advice.push(format!("use --size {}", as_typed(bytes)));
        }
        if let Some(smaller) = self.cluster_that_would_do(geometry.shape().total_sectors) {
            advice.push(format!("--cluster-size {smaller}"));
        }
        if advice.is_empty() {
            advice.push("no image of this kind would do; leave something out".to_owned());
        }
        Misfit::TooSmall {
            image_bytes: geometry.volume_bytes(),
            complete: self.complete,
            needed: self.demand.clusters(geometry.kind(), cluster_bytes),
            free: self.free_clusters(cluster_bytes, available),
            available,
            cluster_bytes,
            advice: advice.join(" or "),
        }
    }

    /// A size that holds the tree: whole MiB where that is not much more than the least.
    fn size_that_would_do(&self) -> Option<u64> {
        let least = u64::from(self.smallest_total()?) * self.sector_bytes();
        let round = least.next_multiple_of(1 << 20);
        let round_total = u32::try_from(round / self.sector_bytes()).ok()?;
        let round_will_do = least >= 8 << 20 && self.holds(round_total);
        Some(if round_will_do { round } else { least })
    }

    /// The largest smaller cluster with which the tree fits into the same size.
    fn cluster_that_would_do(&self, total_sectors: u32) -> Option<u32> {
        if self.format.cluster_bytes.is_some() {
            return None;
        }
        let holds = |cluster_bytes: &u32| {
            let mut format = self.format.clone();
            format.cluster_bytes = Some(*cluster_bytes);
            Search { format: &format, ..*self }.holds(total_sectors)
        };
        self.all_cluster_sizes().into_iter().rev().find(holds)
    }

    /// Why no size would do.
    pub(super) fn no_size(&self) -> Misfit {
        let root_records = self.demand.root_records;
        if let Some(most) = self.format.root_entries
            && root_records > u64::from(most)
        {
            let remedy = self.root_remedy(root_records);
            return Misfit::RootTooSmall { needed: root_records, most, remedy };
        }
        let advice = if self.format.kind.is_some() || self.format.cluster_bytes.is_some() {
            "leave out --fat-type and --cluster-size, or leave something out of the source"
        } else {
            "leave something out of the source"
        };
        Misfit::NoSize { asked: self.asked(), advice: advice.to_owned() }
    }
}
