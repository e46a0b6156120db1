//! Where each region of a volume lies, and how long a FAT must be. Knows no preference among
//! legal geometries.

use super::kind::FatKind;

/// Cluster numbers below this one are the two reserved FAT entries.
pub const FIRST_CLUSTER: u32 = 2;

/// Bytes of a directory record.
pub const RECORD_BYTES: u32 = 32;

/// Everything that fixes a volume's layout except the length of its FATs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The type that the FAT is laid out for.
    pub kind: FatKind,
    /// Sectors of the volume.
    pub total_sectors: u32,
    /// 512, 1024, 2048 or 4096.
    pub bytes_per_sector: u16,
    /// A power of two, 1 to 128.
    pub sectors_per_cluster: u8,
    /// Sectors before the first FAT.
    pub reserved_sectors: u16,
    /// 1 or 2.
    pub fat_count: u8,
    /// Records in the fixed root directory of FAT12 and FAT16; 0 on FAT32.
    pub root_entries: u16,
}

impl Shape {
    /// The geometry with the shortest FAT that holds every cluster; `None` when not one cluster
    /// fits. The result's cluster count need not be one of its type: see
    /// [`Geometry::is_safe_for_its_kind`].
    ///
    /// The published formula for the FAT length forgets the two reserved entries and is one
    /// sector short for some FAT16 volumes, so this one is derived anew: a longer FAT leaves fewer
    /// clusters to describe, hence the first estimate, which counts two clusters more than there
    /// are, is enough and at most one too long.
    pub fn solve(self) -> Option<Geometry> {
        let bytes_per_sector = u64::from(self.bytes_per_sector);
        let sectors_per_cluster = u64::from(self.sectors_per_cluster);
        let fat_count = u64::from(self.fat_count);
        let bits = self.kind.entry_bits();
        let room = u64::from(self.total_sectors)
            .checked_sub(u64::from(self.reserved_sectors))?
            .checked_sub(self.root_sectors())?;

        let clusters = |fat_sectors: u64| {
            Some(room.checked_sub(fat_count * fat_sectors)? / sectors_per_cluster)
        };
        let estimate = (bits * (room + 2 * sectors_per_cluster))
            .div_ceil(8 * bytes_per_sector * sectors_per_cluster + bits * fat_count);
        let shorter = estimate.saturating_sub(1);
        let shorter_will_do = shorter > 0
            && clusters(shorter)
                .is_some_and(|count| fat_sectors(self.kind, count, bytes_per_sector) <= shorter);
        let sectors_per_fat = if shorter_will_do { shorter } else { estimate };

        let cluster_count = clusters(sectors_per_fat).filter(|count| *count > 0)?;
        Some(Geometry {
            shape: self,
            sectors_per_fat: u32::try_from(sectors_per_fat).ok()?,
            cluster_count: u32::try_from(cluster_count).ok()?,
        })
    }

    /// Sectors of the fixed root directory.
    pub fn root_sectors(&self) -> u64 {
        (u64::from(self.root_entries) * u64::from(RECORD_BYTES))
            .div_ceil(u64::from(self.bytes_per_sector))
    }

    /// Bytes of a cluster.
    pub fn cluster_bytes(&self) -> u32 {
        u32::from(self.bytes_per_sector) * u32::from(self.sectors_per_cluster)
    }
}

/// Sectors that a FAT for `clusters` clusters fills; the two reserved entries count.
pub fn fat_sectors(kind: FatKind, clusters: u64, bytes_per_sector: u64) -> u64 {
    ((clusters + u64::from(FIRST_CLUSTER)) * kind.entry_bits())
        .div_ceil(8)
        .div_ceil(bytes_per_sector)
}

/// A volume's layout, complete: reserved sectors, FATs, fixed root directory, clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    shape: Shape,
    sectors_per_fat: u32,
    cluster_count: u32,
}

impl Geometry {
    /// The same volume with other reserved sectors and the FATs as long as they are, which makes
    /// room for alignment where it harms nothing: more reserved sectors mean fewer clusters, so
    /// the FAT stays long enough. `None` when no cluster is left or `reserved_sectors` is lower
    /// than now.
    pub fn with_reserved_sectors(self, reserved_sectors: u16) -> Option<Self> {
        if reserved_sectors < self.shape.reserved_sectors {
            return None;
        }
        let moved = Self { shape: Shape { reserved_sectors, ..self.shape }, ..self };
        let data_sectors =
            u64::from(self.shape.total_sectors).checked_sub(moved.first_data_sector())?;
        let count = data_sectors / u64::from(self.shape.sectors_per_cluster);
        let cluster_count = u32::try_from(count).ok().filter(|count| *count > 0)?;
        Some(Self { cluster_count, ..moved })
    }

    /// A layout as a boot sector states it. `None` when the regions do not fit into the volume or
    /// leave no cluster.
    pub fn stated(shape: Shape, sectors_per_fat: u32) -> Option<Self> {
        Self { shape, sectors_per_fat, cluster_count: 0 }
            .with_reserved_sectors(shape.reserved_sectors)
    }

    /// Whether every reader agrees that the cluster count makes a volume of this type.
    pub fn is_safe_for_its_kind(&self) -> bool {
        self.shape.kind.safe_cluster_counts().contains(&self.cluster_count)
    }

    /// What the layout was solved from.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// FAT12, FAT16 or FAT32.
    pub fn kind(&self) -> FatKind {
        self.shape.kind
    }

    /// Sectors of one FAT.
    pub fn sectors_per_fat(&self) -> u32 {
        self.sectors_per_fat
    }

    /// Clusters of the data area; the highest cluster number is one more.
    pub fn cluster_count(&self) -> u32 {
        self.cluster_count
    }

    /// Bytes of a sector.
    pub fn sector_bytes(&self) -> u32 {
        u32::from(self.shape.bytes_per_sector)
    }

    /// Bytes of a cluster.
    pub fn cluster_bytes(&self) -> u32 {
        self.shape.cluster_bytes()
    }

    /// Bytes of the volume.
    pub fn volume_bytes(&self) -> u64 {
        self.sectors_to_bytes(u64::from(self.shape.total_sectors))
    }

    /// Bytes of the reserved area.
    pub fn reserved_bytes(&self) -> u64 {
        self.sectors_to_bytes(u64::from(self.shape.reserved_sectors))
    }

    /// Bytes of one FAT.
    pub fn fat_bytes(&self) -> u64 {
        self.sectors_to_bytes(u64::from(self.sectors_per_fat))
    }

    /// Byte offset in the volume of FAT number `index`, counted from 0.
    pub fn fat_at_byte(&self, index: u8) -> u64 {
        self.reserved_bytes() + u64::from(index) * self.fat_bytes()
    }

    /// Byte offset in the volume of the fixed root directory.
    pub fn root_at_byte(&self) -> u64 {
        self.fat_at_byte(self.shape.fat_count)
    }

    /// Bytes of the fixed root directory; 0 on FAT32.
    pub fn root_bytes(&self) -> u64 {
        self.sectors_to_bytes(self.shape.root_sectors())
    }

    /// Sector of cluster 2.
    pub fn first_data_sector(&self) -> u64 {
        u64::from(self.shape.reserved_sectors)
            + u64::from(self.shape.fat_count) * u64::from(self.sectors_per_fat)
            + self.shape.root_sectors()
    }

    /// Byte offset in the volume of `cluster`, which is 2 or more.
    pub fn cluster_at_byte(&self, cluster: u32) -> u64 {
        let index = u64::from(cluster.saturating_sub(FIRST_CLUSTER));
        self.sectors_to_bytes(self.first_data_sector()) + index * u64::from(self.cluster_bytes())
    }

    /// Clusters that `bytes` fill.
    pub fn clusters_for(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.cluster_bytes()))
    }

    fn sectors_to_bytes(&self, sectors: u64) -> u64 {
        sectors * u64::from(self.shape.bytes_per_sector)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use FatKind::{Fat12, Fat16, Fat32};

    type Row = (FatKind, u32, u16, u8, u16, u8, u16, u32, u32);

    /// kind, total sectors, bytes per sector, sectors per cluster, reserved, FATs, root entries,
    /// then sectors per FAT and clusters as `mkfs.fat -a` 4.2 makes them and `fsck.fat` accepts.
    const ROWS: [Row; 25] = [
        (Fat12, 1440, 512, 2, 1, 2, 112, 3, 713),
        (Fat12, 2880, 512, 1, 1, 2, 224, 9, 2847),
        (Fat12, 5760, 512, 2, 1, 2, 224, 9, 2863),
        (Fat12, 8192, 512, 4, 1, 2, 512, 6, 2036),
        (Fat12, 65536, 512, 32, 1, 1, 512, 6, 2046),
        (Fat12, 12288, 2048, 4, 1, 2, 512, 3, 3068),
        (Fat16, 8400, 512, 2, 1, 2, 512, 17, 4166),
        (Fat16, 16384, 512, 2, 1, 2, 512, 32, 8143),
        (Fat16, 65536, 512, 4, 1, 2, 512, 64, 16343),
        (Fat16, 102633, 512, 4, 1, 2, 512, 101, 25599),
        (Fat16, 131072, 512, 8, 8, 2, 512, 64, 16363),
        (Fat16, 262144, 512, 4, 1, 1, 512, 256, 65463),
        (Fat16, 524288, 512, 8, 1, 2, 512, 256, 65467),
        (Fat16, 40000, 4096, 1, 1, 2, 512, 20, 39955),
        (Fat32, 66601, 512, 1, 32, 2, 0, 513, 65543),
        (Fat32, 131072, 512, 1, 32, 2, 0, 1009, 129022),
        (Fat32, 204800, 512, 1, 32, 2, 0, 1576, 201616),
        (Fat32, 532480, 512, 1, 32, 2, 0, 4096, 524256),
        (Fat32, 532481, 512, 8, 32, 2, 0, 519, 66426),
        (Fat32, 1048576, 512, 8, 32, 2, 0, 1022, 130812),
        (Fat32, 1048576, 512, 8, 32, 1, 0, 1023, 130940),
        (Fat32, 16777216, 512, 8, 32, 2, 0, 16353, 2093059),
        (Fat32, 67108864, 512, 32, 32, 2, 0, 16377, 2096127),
        (Fat32, 262144, 4096, 1, 32, 2, 0, 256, 261600),
        (Fat32, 4294967295, 512, 64, 32, 2, 0, 524161, 67092483),
    ];

    fn shape(row: &Row) -> Shape {
        Shape {
            kind: row.0,
            total_sectors: row.1,
            bytes_per_sector: row.2,
            sectors_per_cluster: row.3,
            reserved_sectors: row.4,
            fat_count: row.5,
            root_entries: row.6,
        }
    }

    #[test]
    fn fat_length_and_cluster_count_are_those_of_other_makers() {
        for row in &ROWS {
            let solved = shape(row).solve().unwrap();
            assert_eq!(
                (solved.sectors_per_fat(), solved.cluster_count()),
                (row.7, row.8),
                "{row:?}"
            );
            assert_eq!(FatKind::of_cluster_count(solved.cluster_count()), row.0, "{row:?}");
        }
    }

    #[test]
    fn counts_outside_the_type_are_told() {
        let too_many = shape(&(Fat12, 32768, 512, 8, 1, 2, 512, 0, 0)).solve().unwrap();
        assert_eq!((too_many.cluster_count(), too_many.is_safe_for_its_kind()), (4088, false));
        let too_many = shape(&(Fat16, 4194304, 512, 64, 1, 2, 512, 0, 0)).solve().unwrap();
        assert_eq!((too_many.cluster_count(), too_many.is_safe_for_its_kind()), (65527, false));
    }

    #[test]
    fn volumes_without_room_for_a_cluster_have_no_geometry() {
        assert_eq!(shape(&(Fat12, 35, 512, 1, 1, 2, 512, 0, 0)).solve(), None);
        assert_eq!(shape(&(Fat32, 31, 512, 1, 32, 2, 0, 0, 0)).solve(), None);
        assert!(shape(&(Fat12, 36, 512, 1, 1, 2, 512, 0, 0)).solve().is_some());
    }

    #[test]
    fn padding_the_reserved_area_keeps_the_fat() {
        let rows = [
            (shape(&(Fat32, 131072, 512, 1, 32, 2, 0, 0, 0)), 38, 1009, 129016),
            (shape(&(Fat32, 1048576, 512, 8, 32, 2, 0, 0, 0)), 36, 1022, 130812),
            (shape(&(Fat16, 131072, 512, 8, 1, 2, 512, 0, 0)), 8, 64, 16363),
            (shape(&(Fat12, 2880, 512, 1, 1, 2, 224, 0, 0)), 8, 9, 2840),
        ];
        for (shape, reserved, sectors_per_fat, clusters) in rows {
            let padded = shape.solve().unwrap().with_reserved_sectors(reserved).unwrap();
            assert_eq!(padded.first_data_sector() % 8, 0);
            assert_eq!(
                (padded.sectors_per_fat(), padded.cluster_count()),
                (sectors_per_fat, clusters)
            );
        }
    }

    /// Every size up to 64 MiB by steps: the FAT holds all clusters and one sector less would not.
    #[test]
    fn fat_length_is_enough_and_not_one_sector_too_long() {
        for kind in FatKind::ALL {
            let (reserved_sectors, root_entries) = if kind == Fat32 { (32, 0) } else { (1, 512) };
            for sectors_per_cluster in [1, 2, 4, 8, 16, 32, 64, 128] {
                for total_sectors in (36..131_072).step_by(37) {
                    for fat_count in [1, 2] {
                        let shape = Shape {
                            kind,
                            total_sectors,
                            bytes_per_sector: 512,
                            sectors_per_cluster,
                            reserved_sectors,
                            fat_count,
                            root_entries,
                        };
                        let Some(solved) = shape.solve() else { continue };
                        let fat = u64::from(solved.sectors_per_fat());
                        let count = u64::from(solved.cluster_count());
                        assert!(fat_sectors(kind, count, 512) <= fat, "{shape:?} too short");
                        let longer = count
                            + (u64::from(fat_count) + u64::from(total_sectors)
                                - solved.first_data_sector()
                                - count * u64::from(sectors_per_cluster))
                                / u64::from(sectors_per_cluster);
                        assert!(
                            fat == 1 || fat_sectors(kind, longer, 512) > fat - 1,
                            "{shape:?} too long"
                        );
                    }
                }
            }
        }
    }
}
