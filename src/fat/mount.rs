//! A boot sector and FSInfo as found: what a reader looks at before it mounts a volume. Knows
//! nothing of what we would have written.

use thiserror::Error;

use super::boot::{
    BOOT_SECTOR_BYTES, BootSector16, BootSector32, FreeClusters, FsInfo,
    MIN_FAT32_RESERVED_SECTORS, SIGNATURE, encode_fsinfo,
};
use super::geometry::{Geometry, RECORD_BYTES, Shape, fat_sectors};
use super::kind::FatKind;
use super::label::LABEL_BYTES;

/// A boot sector as found. Fields that only some readers look at are for the caller to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundBootSector {
    /// The layout.
    pub geometry: Geometry,
    /// `BS_jmpBoot`.
    pub jump: [u8; 3],
    /// `BS_OEMName`.
    pub oem_name: [u8; 8],
    /// `BPB_Media`.
    pub media: u8,
    /// `BPB_SecPerTrk`.
    pub sectors_per_track: u16,
    /// `BPB_NumHeads`.
    pub heads: u16,
    /// `BPB_HiddSec`.
    pub hidden_sectors: u32,
    /// `BS_DrvNum`.
    pub drive_number: u8,
    /// `BS_Reserved1`: bit 0 is set in a volume that was not unmounted.
    pub dirty_flags: u8,
    /// `BS_BootSig`.
    pub boot_signature: u8,
    /// `BS_VolID`.
    pub volume_id: u32,
    /// `BS_VolLab`.
    pub label: [u8; LABEL_BYTES],
    /// `BS_FilSysType`.
    pub type_string: [u8; 8],
    /// What only FAT32 has.
    pub fat32: Option<FoundFat32>,
}

/// The fields of FAT32 as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundFat32 {
    /// `BPB_ExtFlags`.
    pub extended_flags: u16,
    /// `BPB_FSVer`.
    pub version: u16,
    /// `BPB_RootClus`.
    pub root_cluster: u32,
    /// `BPB_FSInfo`.
    pub fsinfo_sector: u16,
    /// `BPB_BkBootSec`.
    pub backup_boot_sector: u16,
    /// `BPB_Reserved`.
    pub reserved: [u8; 12],
}

/// Why 512 bytes are no boot sector of a volume that every reader mounts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BootFault {
    /// No `55 AA` at byte 510.
    #[error("no 55 AA at byte 510")]
    Signature,
    /// Not 512, 1024, 2048 or 4096.
    #[error("{0} bytes per sector")]
    SectorSize(u16),
    /// Not a power of two from 1 to 128.
    #[error("{0} sectors per cluster")]
    ClusterSize(u8),
    /// None, or too few for FAT32.
    #[error("{0} reserved sectors")]
    ReservedSectors(u16),
    /// Neither 1 nor 2.
    #[error("{0} FATs")]
    FatCount(u8),
    /// Not for the type, or not whole sectors.
    #[error("{0} root directory entries")]
    RootEntries(u16),
    /// None of the two fields, or the wrong one.
    #[error("total sectors {0} in the field of 16 bits, {1} in that of 32")]
    TotalSectors(u16, u32),
    /// None of the two fields, or both.
    #[error("sectors per FAT {0} in the field of 16 bits, {1} in that of 32")]
    SectorsPerFat(u16, u32),
    /// Reserved area, FATs and root directory leave no cluster.
    #[error("no room for clusters")]
    NoClusters,
    /// Readers would take the volume for another type than it is laid out for.
    #[error("{count} clusters, laid out as {kind}")]
    Kind {
        /// Clusters.
        count: u32,
        /// The layout.
        kind: FatKind,
    },
    /// The FAT cannot describe all clusters.
    #[error("FAT of {sectors} sectors for {count} clusters")]
    FatTooShort {
        /// Sectors per FAT.
        sectors: u32,
        /// Clusters.
        count: u32,
    },
}

/// Reads a boot sector.
///
/// # Errors
/// The first reason why some reader would not mount the volume.
pub fn decode_boot_sector(sector: &[u8; BOOT_SECTOR_BYTES]) -> Result<FoundBootSector, BootFault> {
    let narrow: BootSector16 = zerocopy::transmute!(*sector);
    let wide: BootSector32 = zerocopy::transmute!(*sector);
    let fields = &wide.parameters;
    if wide.signature != SIGNATURE {
        return Err(BootFault::Signature);
    }
    let bytes_per_sector = fields.bytes_per_sector.get();
    if ![512, 1024, 2048, 4096].contains(&bytes_per_sector) {
        return Err(BootFault::SectorSize(bytes_per_sector));
    }
    let sectors_per_cluster = fields.sectors_per_cluster;
    if !sectors_per_cluster.is_power_of_two() {
        return Err(BootFault::ClusterSize(sectors_per_cluster));
    }
    if !(1..=2).contains(&fields.fat_count) {
        return Err(BootFault::FatCount(fields.fat_count));
    }
    // Readers tell FAT32 by the zero in this field.
    let fat_16 = fields.sectors_per_fat_16.get();
    let fat_32 = wide.parameters_32.sectors_per_fat_32.get();
    let is_fat32 = fat_16 == 0;
    let sectors_per_fat = if is_fat32 { fat_32 } else { u32::from(fat_16) };
    if sectors_per_fat == 0 {
        return Err(BootFault::SectorsPerFat(fat_16, fat_32));
    }
    let reserved_sectors = fields.reserved_sectors.get();
    if reserved_sectors < if is_fat32 { MIN_FAT32_RESERVED_SECTORS } else { 1 } {
        return Err(BootFault::ReservedSectors(reserved_sectors));
    }
    let root_entries = fields.root_entries.get();
    let root_bytes = u32::from(root_entries) * RECORD_BYTES;
    let whole_sectors = root_bytes.is_multiple_of(u32::from(bytes_per_sector));
    if is_fat32 != (root_entries == 0) || !whole_sectors {
        return Err(BootFault::RootEntries(root_entries));
    }
    let (total_16, total_32) = (fields.total_sectors_16.get(), fields.total_sectors_32.get());
    let total_sectors = match (total_16, total_32) {
        (0, total) if total > 0 && (is_fat32 || total > u32::from(u16::MAX)) => total,
        (total, 0) if total > 0 && !is_fat32 => u32::from(total),
        _ => return Err(BootFault::TotalSectors(total_16, total_32)),
    };
    let shape = |kind| Shape {
        kind,
        total_sectors,
        bytes_per_sector,
        sectors_per_cluster,
        reserved_sectors,
        fat_count: fields.fat_count,
        root_entries,
    };
    let stated = |kind| Geometry::stated(shape(kind), sectors_per_fat);
    // The type does not change the layout, only the entries of the FAT.
    let count = stated(FatKind::Fat12).ok_or(BootFault::NoClusters)?.cluster_count();
    let kind = FatKind::of_cluster_count(count);
    if is_fat32 != (kind == FatKind::Fat32)
        || count > *kind.safe_cluster_counts().end().max(&65_524)
    {
        let kind = if is_fat32 { FatKind::Fat32 } else { FatKind::Fat16 };
        return Err(BootFault::Kind { count, kind });
    }
    let geometry = stated(kind).ok_or(BootFault::NoClusters)?;
    let needed = fat_sectors(kind, u64::from(count), u64::from(bytes_per_sector));
    if needed > u64::from(sectors_per_fat) {
        return Err(BootFault::FatTooShort { sectors: sectors_per_fat, count });
    }
    let extended = if is_fat32 { &wide.extended } else { &narrow.extended };
    Ok(FoundBootSector {
        geometry,
        jump: fields.jump,
        oem_name: fields.oem_name,
        media: fields.media,
        sectors_per_track: fields.sectors_per_track.get(),
        heads: fields.heads.get(),
        hidden_sectors: fields.hidden_sectors.get(),
        drive_number: extended.drive_number,
        dirty_flags: extended.dirty_flags,
        boot_signature: extended.boot_signature,
        volume_id: extended.volume_id.get(),
        label: extended.label,
        type_string: extended.type_string,
        fat32: is_fat32.then(|| FoundFat32 {
            extended_flags: wide.parameters_32.extended_flags.get(),
            version: wide.parameters_32.version.get(),
            root_cluster: wide.parameters_32.root_cluster.get(),
            fsinfo_sector: wide.parameters_32.fsinfo_sector.get(),
            backup_boot_sector: wide.parameters_32.backup_boot_sector.get(),
            reserved: wide.parameters_32.reserved,
        }),
    })
}

/// Reads an FSInfo structure; `None` when a signature is missing or a reserved byte is not zero.
pub fn decode_fsinfo(sector: &[u8; BOOT_SECTOR_BYTES]) -> Option<FreeClusters> {
    let found: FsInfo = zerocopy::transmute!(*sector);
    let free = FreeClusters {
        count: found.free_count.get(),
        first: Some(found.next_free.get()).filter(|first| *first != u32::MAX),
    };
    (encode_fsinfo(free) == *sector).then_some(free)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::super::boot::encode_boot_sector;
    use super::super::boot::tests::{FREE, facts, geometry};
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for kind in [FatKind::Fat16, FatKind::Fat32] {
            let facts = facts(None);
            let sector = encode_boot_sector(&geometry(kind), &facts);
            let found = decode_boot_sector(&sector).unwrap();
            assert_eq!(found.geometry, geometry(kind));
            assert_eq!(found.label, *b"BOOT       ");
            assert_eq!(found.type_string, *kind.type_string());
            assert_eq!((found.volume_id, found.media), (facts.volume_id, facts.media));
            assert_eq!((found.heads, found.sectors_per_track), (255, 63));
            assert_eq!((found.hidden_sectors, found.drive_number), (2048, 0x80));
            assert_eq!(
                found.fat32.map(|fat32| fat32.root_cluster),
                (kind == FatKind::Fat32).then_some(2)
            );
        }
        assert_eq!(decode_fsinfo(&encode_fsinfo(FREE)), Some(FREE));
        let none = FreeClusters { count: 0, first: None };
        assert_eq!(decode_fsinfo(&encode_fsinfo(none)), Some(none));
    }

    #[test]
    fn what_no_reader_mounts_is_refused_with_the_field() {
        let sector = encode_boot_sector(&geometry(FatKind::Fat16), &facts(None));
        let with = |at: usize, bytes: &[u8]| {
            let mut changed = sector;
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            decode_boot_sector(&changed).unwrap_err()
        };
        assert_eq!(with(510, &[0]), BootFault::Signature);
        assert_eq!(with(11, &[0, 3]), BootFault::SectorSize(768));
        assert_eq!(with(13, &[3]), BootFault::ClusterSize(3));
        assert_eq!(with(13, &[0]), BootFault::ClusterSize(0));
        assert_eq!(with(14, &[0, 0]), BootFault::ReservedSectors(0));
        assert_eq!(with(16, &[3]), BootFault::FatCount(3));
        assert_eq!(with(17, &[1, 2]), BootFault::RootEntries(513));
        assert_eq!(with(17, &[0, 0]), BootFault::RootEntries(0));
        assert_eq!(with(19, &[0, 0]), BootFault::TotalSectors(0, 0));
        assert_eq!(with(32, &[1]), BootFault::TotalSectors(16_384, 1));
        assert_eq!(with(22, &[1, 0]), BootFault::FatTooShort { sectors: 1, count: 16_349 });
        assert_eq!(with(22, &[0xFF, 0xFF]), BootFault::NoClusters);
    }
}
