//! Decodes the boot sector, and computes from it where everything in the volume is.

use std::io;

use super::Breach;
use super::directory::SLOT_BYTES;
use super::volume_bytes::{VolumeBytes, u16_at, u32_at};

/// More clusters than any volume of 2 TiB with 32 KiB clusters has; beyond it a volume is not read.
pub const MOST_CLUSTERS: u32 = 1 << 26;

/// The fields of the boot sector that have one place in all three types. The others are read by
/// type with [`Geometry::extended_at`].
#[derive(Debug, Clone)]
pub struct BootSector {
    pub bytes: [u8; 512],
    pub bytes_per_sector: u16,
    pub sectors_per_cluster: u8,
    pub reserved_sectors: u16,
    pub fats: u8,
    pub root_entries: u16,
    pub total_sectors_16: u16,
    pub total_sectors_32: u32,
    pub media: u8,
    pub fat_sectors_16: u16,
    pub sectors_per_track: u16,
    pub heads: u16,
    pub hidden_sectors: u32,
    /// A field of FAT32 alone: anything on the other types.
    pub fat_sectors_32: u32,
    /// A field of FAT32 alone: anything on the other types.
    pub root_cluster: u32,
}

impl BootSector {
    pub fn read(bytes: &VolumeBytes) -> io::Result<BootSector> {
        let mut sector = [0; 512];
        bytes.read_at(0, &mut sector)?;
        Ok(BootSector {
            bytes_per_sector: u16_at(&sector, 11),
            sectors_per_cluster: sector[13],
            reserved_sectors: u16_at(&sector, 14),
            fats: sector[16],
            root_entries: u16_at(&sector, 17),
            total_sectors_16: u16_at(&sector, 19),
            total_sectors_32: u32_at(&sector, 32),
            media: sector[21],
            fat_sectors_16: u16_at(&sector, 22),
            sectors_per_track: u16_at(&sector, 24),
            heads: u16_at(&sector, 26),
            hidden_sectors: u32_at(&sector, 28),
            fat_sectors_32: u32_at(&sector, 36),
            root_cluster: u32_at(&sector, 44),
            bytes: sector,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FatType {
    Fat12,
    Fat16,
    Fat32,
}

impl FatType {
    /// Bits of one entry of the table.
    pub fn bits(self) -> u8 {
        match self {
            FatType::Fat12 => 12,
            FatType::Fat16 => 16,
            FatType::Fat32 => 32,
        }
    }

    /// All bits of an entry that count: the end mark that is to be written.
    pub fn ones(self) -> u32 {
        match self {
            FatType::Fat12 => 0xFFF,
            FatType::Fat16 => 0xFFFF,
            FatType::Fat32 => 0x0FFF_FFFF,
        }
    }

    /// The type follows from the number of clusters and from nothing else.
    fn of(cluster_count: u64) -> FatType {
        match cluster_count {
            0..4085 => FatType::Fat12,
            4085..65525 => FatType::Fat16,
            _ => FatType::Fat32,
        }
    }
}

/// Where everything is. Counts are u64 so that no product of them overflows.
#[derive(Debug, Clone)]
pub struct Geometry {
    pub fat_type: FatType,
    pub bytes_per_sector: u64,
    pub sectors_per_cluster: u64,
    pub cluster_bytes: u64,
    pub reserved_sectors: u64,
    pub fats: u64,
    /// Sectors of one copy of the table.
    pub fat_sectors: u64,
    pub root_directory_sectors: u64,
    pub first_data_sector: u64,
    pub total_sectors: u64,
    pub cluster_count: u32,
}

impl Geometry {
    /// The error is the first reason why no place in the volume can be computed.
    pub fn of(boot: &BootSector) -> Result<Geometry, Breach> {
        let fail = |invariant: u8, what: String| Err(Breach { invariant, what });
        if !matches!(boot.bytes_per_sector, 512 | 1024 | 2048 | 4096) {
            return fail(4, format!("{} bytes per sector", boot.bytes_per_sector));
        }
        if !boot.sectors_per_cluster.is_power_of_two() {
            return fail(5, format!("{} sectors per cluster", boot.sectors_per_cluster));
        }
        if boot.reserved_sectors == 0 {
            return fail(6, "no reserved sectors".to_owned());
        }
        if boot.fats == 0 {
            return fail(7, "no FAT".to_owned());
        }
        let total_sectors = match boot.total_sectors_16 {
            0 => u64::from(boot.total_sectors_32),
            total => u64::from(total),
        };
        if total_sectors == 0 {
            return fail(9, "both counts of sectors are zero".to_owned());
        }
        let fat_sectors = match boot.fat_sectors_16 {
            0 => u64::from(boot.fat_sectors_32),
            sectors => u64::from(sectors),
        };
        if fat_sectors == 0 {
            return fail(11, "both lengths of the FAT are zero".to_owned());
        }

        let bytes_per_sector = u64::from(boot.bytes_per_sector);
        let sectors_per_cluster = u64::from(boot.sectors_per_cluster);
        let reserved_sectors = u64::from(boot.reserved_sectors);
        let fats = u64::from(boot.fats);
        let root_directory_sectors =
            (u64::from(boot.root_entries) * SLOT_BYTES).div_ceil(bytes_per_sector);
        let first_data_sector = reserved_sectors + fats * fat_sectors + root_directory_sectors;
        let cluster_count = total_sectors.saturating_sub(first_data_sector) / sectors_per_cluster;
        if cluster_count == 0 {
            // A length read from where FAT12/16 have other fields says that the length in use is
            // missing.
            let invariant = if boot.fat_sectors_16 == 0 { 11 } else { 13 };
            return fail(invariant, format!("{fat_sectors} sectors per FAT leave no cluster"));
        }
        Ok(Geometry {
            fat_type: FatType::of(cluster_count),
            bytes_per_sector,
            sectors_per_cluster,
            cluster_bytes: bytes_per_sector * sectors_per_cluster,
            reserved_sectors,
            fats,
            fat_sectors,
            root_directory_sectors,
            first_data_sector,
            total_sectors,
            cluster_count: cluster_count as u32, // less than the 32-bit count of sectors
        })
    }

    /// Whether table and root directory are where they are said to be; the error is the reason why
    /// not.
    pub fn usable(&self, boot: &BootSector, bytes: &VolumeBytes) -> Result<(), Breach> {
        let fail = |invariant: u8, what: String| Err(Breach { invariant, what });
        if (self.fat_type == FatType::Fat32) != (boot.fat_sectors_16 == 0) {
            return fail(
                12,
                format!("{} clusters, but the fields of another type", self.cluster_count),
            );
        }
        if self.fat_bytes_needed() > self.fat_sectors * self.bytes_per_sector {
            return fail(13, format!("FAT too short for {} clusters", self.cluster_count));
        }
        if self.first_data_sector * self.bytes_per_sector > bytes.length() {
            return fail(1, "the file ends before the first cluster".to_owned());
        }
        if self.cluster_count > MOST_CLUSTERS {
            return fail(
                12,
                format!("{} clusters are more than are read here", self.cluster_count),
            );
        }
        Ok(())
    }

    pub fn last_cluster(&self) -> u32 {
        self.cluster_count + 1
    }

    pub fn is_cluster(&self, number: u32) -> bool {
        (2..=self.last_cluster()).contains(&number)
    }

    /// Bytes of the table up to its last entry in use.
    pub fn fat_bytes_needed(&self) -> u64 {
        fat_bytes(self.fat_type, u64::from(self.cluster_count))
    }

    /// The shortest table for this volume if it had `reserved_sectors`, in sectors. A longer table
    /// needs no more entries, so halving finds it.
    pub fn shortest_fat(&self, reserved_sectors: u64) -> u64 {
        let suffices = |sectors: u64| {
            let data = reserved_sectors + self.fats * sectors + self.root_directory_sectors;
            let clusters = self.total_sectors.saturating_sub(data) / self.sectors_per_cluster;
            fat_bytes(self.fat_type, clusters) <= sectors * self.bytes_per_sector
        };
        let (mut low, mut high) = (1, self.total_sectors);
        while low < high {
            let middle = low.midpoint(high);
            if suffices(middle) { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// Byte in the volume where copy 0, 1, .. of the table starts.
    pub fn fat_position(&self, copy: u64) -> u64 {
        (self.reserved_sectors + copy * self.fat_sectors) * self.bytes_per_sector
    }

    /// Byte in the volume where the root directory of FAT12/16 starts.
    pub fn root_directory_position(&self) -> u64 {
        self.fat_position(self.fats)
    }

    /// Byte in the volume where a cluster starts.
    pub fn cluster_position(&self, cluster: u32) -> u64 {
        let data = u64::from(cluster).saturating_sub(2);
        self.first_data_sector * self.bytes_per_sector + data * self.cluster_bytes
    }

    /// Byte in the boot sector of the fields from BS_DrvNum to BS_FilSysType.
    pub fn extended_at(&self) -> usize {
        if self.fat_type == FatType::Fat32 { 64 } else { 36 }
    }
}

/// Bytes of a table with this number of clusters and the two entries before them.
fn fat_bytes(fat_type: FatType, cluster_count: u64) -> u64 {
    ((cluster_count + 2) * u64::from(fat_type.bits())).div_ceil(8)
}
