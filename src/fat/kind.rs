//! The three FAT types and what follows from the type alone. Knows no volume.

use std::fmt;
use std::ops::RangeInclusive;

/// FAT12, FAT16 or FAT32. A volume's type follows from its cluster count and nothing else
/// (specification, "FAT Type Determination").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FatKind {
    /// Twelve-bit entries, up to 4,084 clusters.
    Fat12,
    /// Sixteen-bit entries, 4,085 to 65,524 clusters.
    Fat16,
    /// 28 of 32 bits used, from 65,525 clusters.
    Fat32,
}

impl FatKind {
    /// All types, smallest first.
    pub const ALL: [Self; 3] = [Self::Fat12, Self::Fat16, Self::Fat32];

    /// The type that every reader must take for a volume of `count` clusters.
    pub fn of_cluster_count(count: u32) -> Self {
        match count {
            ..4_085 => Self::Fat12,
            4_085..65_525 => Self::Fat16,
            _ => Self::Fat32,
        }
    }

    /// Width of a FAT entry in bits.
    pub fn entry_bits(self) -> u64 {
        match self {
            Self::Fat12 => 12,
            Self::Fat16 => 16,
            Self::Fat32 => 32,
        }
    }

    /// Cluster counts that every reader takes for this type: the specification advises to stay
    /// sixteen clusters away from the borders, since readers disagree by one or two there. The
    /// upper end of FAT32 keeps cluster number 0x0FFFFFF7, the bad mark, out of use.
    pub fn safe_cluster_counts(self) -> RangeInclusive<u32> {
        match self {
            Self::Fat12 => 1..=4_068,
            Self::Fat16 => 4_101..=65_508,
            Self::Fat32 => 65_541..=0x0FFF_FFF5,
        }
    }

    /// The entry that ends a chain: all ones.
    pub fn end_mark(self) -> u32 {
        match self {
            Self::Fat12 => 0xFFF,
            Self::Fat16 => 0xFFFF,
            Self::Fat32 => 0x0FFF_FFFF,
        }
    }

    /// `BS_FilSysType`, blank-padded.
    pub fn type_string(self) -> &'static [u8; 8] {
        match self {
            Self::Fat12 => b"FAT12   ",
            Self::Fat16 => b"FAT16   ",
            Self::Fat32 => b"FAT32   ",
        }
    }
}

impl fmt::Display for FatKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fat12 => "FAT12",
            Self::Fat16 => "FAT16",
            Self::Fat32 => "FAT32",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_safe_window_lies_sixteen_clusters_inside_the_type() {
        for kind in FatKind::ALL {
            let safe = kind.safe_cluster_counts();
            assert_eq!(FatKind::of_cluster_count(*safe.start()), kind);
            assert_eq!(FatKind::of_cluster_count(*safe.end()), kind);
        }
        assert_eq!(FatKind::of_cluster_count(4_084), FatKind::Fat12);
        assert_eq!(FatKind::of_cluster_count(4_085), FatKind::Fat16);
        assert_eq!(FatKind::of_cluster_count(65_524), FatKind::Fat16);
        assert_eq!(FatKind::of_cluster_count(65_525), FatKind::Fat32);
    }
}
