//! The reserved area as bytes: boot sector, FSInfo sector and their backups. Knows no directory
//! and no chain, only how many clusters are free.

use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use thiserror::Error;

use super::geometry::{FIRST_CLUSTER, Geometry, RECORD_BYTES, Shape, fat_sectors};
use super::kind::FatKind;
use super::label::{LABEL_BYTES, Label};

/// Bytes of a boot sector or FSInfo structure, whatever the sector size: the signature stands at
/// byte 510 of sectors of 4096 bytes too.
pub const BOOT_SECTOR_BYTES: usize = 512;

/// Sector of the FSInfo structure on FAT32.
pub const FSINFO_SECTOR: u16 = 1;

/// Sector of the backup boot sector on FAT32. Tools look for it there and nowhere else.
pub const BACKUP_BOOT_SECTOR: u16 = 6;

/// The fewest reserved sectors of a FAT32 volume: three sectors, three unused, three backups.
pub const MIN_FAT32_RESERVED_SECTORS: u16 = 9;

const SIGNATURE: [u8; 2] = [0x55, 0xAA];
const EXTENDED_BOOT_SIGNATURE: u8 = 0x29;
const MEDIA_FIXED_DISK: u8 = 0xF8;

/// INT 18h (tell the firmware to try the next device), then halt for ever.
const NOT_BOOTABLE: [u8; 5] = [0xCD, 0x18, 0xF4, 0xEB, 0xFD];

/// What a boot sector says beyond the geometry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootFacts {
    /// `BS_OEMName`, blank-padded.
    pub oem_name: [u8; 8],
    /// `BPB_Media`; the low byte of the first FAT entry repeats it.
    pub media: u8,
    /// `BPB_SecPerTrk`, 1 to 63.
    pub sectors_per_track: u16,
    /// `BPB_NumHeads`, 1 to 255.
    pub heads: u16,
    /// `BPB_HiddSec`: sectors before the volume on its disk.
    pub hidden_sectors: u32,
    /// `BS_VolID`.
    pub volume_id: u32,
    /// `BS_VolLab`; `NO NAME` without one.
    pub label: Option<Label>,
    /// A boot sector of 512 bytes at most, of which the code after the BPB is used and, where it
    /// begins with one, the jump.
    pub boot_code: Option<Vec<u8>>,
}

/// Free clusters as FSInfo tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeClusters {
    /// `FSI_Free_Count`.
    pub count: u32,
    /// `FSI_Nxt_Free`; `None` when no cluster is free.
    pub first: Option<u32>,
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct ParameterBlock {
    jump: [u8; 3],
    oem_name: [u8; 8],
    bytes_per_sector: U16,
    sectors_per_cluster: u8,
    reserved_sectors: U16,
    fat_count: u8,
    root_entries: U16,
    total_sectors_16: U16,
    media: u8,
    sectors_per_fat_16: U16,
    sectors_per_track: U16,
    heads: U16,
    hidden_sectors: U32,
    total_sectors_32: U32,
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct ParameterBlock32 {
    sectors_per_fat_32: U32,
    extended_flags: U16,
    version: U16,
    root_cluster: U32,
    fsinfo_sector: U16,
    backup_boot_sector: U16,
    reserved: [u8; 12],
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct ExtendedBlock {
    drive_number: u8,
    dirty_flags: u8,
    boot_signature: u8,
    volume_id: U32,
    label: [u8; 11],
    type_string: [u8; 8],
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct BootSector16 {
    parameters: ParameterBlock,
    extended: ExtendedBlock,
    code: [u8; 448],
    signature: [u8; 2],
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct BootSector32 {
    parameters: ParameterBlock,
    parameters_32: ParameterBlock32,
    extended: ExtendedBlock,
    code: [u8; 420],
    signature: [u8; 2],
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct FsInfo {
    lead_signature: [u8; 4],
    reserved_low: [u8; 480],
    structure_signature: [u8; 4],
    free_count: U32,
    next_free: U32,
    reserved_high: [u8; 12],
    trail_signature: [u8; 4],
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<ParameterBlock>() == 36);
    assert!(offset_of!(ParameterBlock, bytes_per_sector) == 11);
    assert!(offset_of!(ParameterBlock, reserved_sectors) == 14);
    assert!(offset_of!(ParameterBlock, root_entries) == 17);
    assert!(offset_of!(ParameterBlock, media) == 21);
    assert!(offset_of!(ParameterBlock, sectors_per_fat_16) == 22);
    assert!(offset_of!(ParameterBlock, hidden_sectors) == 28);
    assert!(offset_of!(BootSector16, extended) == 36);
    assert!(offset_of!(BootSector16, code) == 62);
    assert!(size_of::<BootSector16>() == BOOT_SECTOR_BYTES);
    assert!(offset_of!(BootSector32, parameters_32) == 36);
    assert!(offset_of!(ParameterBlock32, root_cluster) == 8);
    assert!(offset_of!(BootSector32, extended) == 64);
    assert!(offset_of!(ExtendedBlock, label) == 7);
    assert!(offset_of!(BootSector32, code) == 90);
    assert!(size_of::<BootSector32>() == BOOT_SECTOR_BYTES);
    assert!(offset_of!(FsInfo, structure_signature) == 484);
    assert!(offset_of!(FsInfo, trail_signature) == 508);
    assert!(size_of::<FsInfo>() == BOOT_SECTOR_BYTES);
};

/// The start of the reserved area, up to its last byte that is not zero: one sector on FAT12 and
/// FAT16; on FAT32 boot sector, FSInfo, third boot sector, and the backups of the three. The
/// third is empty but for its signature, which FreeBSD's checker looks for.
///
/// The volume must have [`MIN_FAT32_RESERVED_SECTORS`] or more if it is FAT32.
pub fn encode_reserved_area(geometry: &Geometry, facts: &BootFacts, free: FreeClusters) -> Vec<u8> {
    let boot = encode_boot_sector(geometry, facts);
    if geometry.kind() != FatKind::Fat32 {
        return boot.to_vec();
    }
    let mut third = [0; BOOT_SECTOR_BYTES];
    if let Some(end) = third.last_chunk_mut() {
        *end = SIGNATURE;
    }
    let sector_bytes = usize::from(geometry.shape().bytes_per_sector);
    let mut area = Vec::with_capacity(sector_bytes * usize::from(MIN_FAT32_RESERVED_SECTORS));
    for first_sector in [0, usize::from(BACKUP_BOOT_SECTOR)] {
        for (index, sector) in [boot, encode_fsinfo(free), third].iter().enumerate() {
            area.resize((first_sector + index) * sector_bytes, 0);
            area.extend_from_slice(sector);
        }
    }
    area
}

fn encode_boot_sector(geometry: &Geometry, facts: &BootFacts) -> [u8; BOOT_SECTOR_BYTES] {
    let shape = geometry.shape();
    let fat32 = geometry.kind() == FatKind::Fat32;
    let total_16 = u16::try_from(shape.total_sectors).ok().filter(|_| !fat32);
    let fat_16 = u16::try_from(geometry.sectors_per_fat()).ok().filter(|_| !fat32);
    let own_jump = if fat32 { [0xEB, 0x58, 0x90] } else { [0xEB, 0x3C, 0x90] };
    let given = facts.boot_code.as_deref();
    let parameters = ParameterBlock {
        jump: given.and_then(jump_of).unwrap_or(own_jump),
        oem_name: facts.oem_name,
        bytes_per_sector: shape.bytes_per_sector.into(),
        sectors_per_cluster: shape.sectors_per_cluster,
        reserved_sectors: shape.reserved_sectors.into(),
        fat_count: shape.fat_count,
        root_entries: shape.root_entries.into(),
        total_sectors_16: total_16.unwrap_or(0).into(),
        media: facts.media,
        sectors_per_fat_16: fat_16.unwrap_or(0).into(),
        sectors_per_track: facts.sectors_per_track.into(),
        heads: facts.heads.into(),
        hidden_sectors: facts.hidden_sectors.into(),
        total_sectors_32: if total_16.is_some() { 0 } else { shape.total_sectors }.into(),
    };
    let extended = ExtendedBlock {
        drive_number: if facts.media == MEDIA_FIXED_DISK { 0x80 } else { 0 },
        dirty_flags: 0,
        boot_signature: EXTENDED_BOOT_SIGNATURE,
        volume_id: facts.volume_id.into(),
        label: facts.label.as_ref().map_or(*b"NO NAME    ", Label::bytes),
        type_string: *geometry.kind().type_string(),
    };
    if fat32 {
        zerocopy::transmute!(BootSector32 {
            parameters,
            parameters_32: ParameterBlock32 {
                sectors_per_fat_32: geometry.sectors_per_fat().into(),
                extended_flags: 0.into(),
                version: 0.into(),
                root_cluster: FIRST_CLUSTER.into(),
                fsinfo_sector: FSINFO_SECTOR.into(),
                backup_boot_sector: BACKUP_BOOT_SECTOR.into(),
                reserved: [0; 12],
            },
            extended,
            code: code_after(given, 90),
            signature: SIGNATURE,
        })
    } else {
        zerocopy::transmute!(BootSector16 {
            parameters,
            extended,
            code: code_after(given, 62),
            signature: SIGNATURE,
        })
    }
}

/// The jump at the start of given boot code, in one of the specification's two forms.
fn jump_of(code: &[u8]) -> Option<[u8; 3]> {
    match code {
        [0xEB, to, 0x90, ..] => Some([0xEB, *to, 0x90]),
        [0xE9, low, high, ..] => Some([0xE9, *low, *high]),
        _ => None,
    }
}

/// `N` bytes of boot code from byte `offset` of the given boot sector on, or our own stub.
fn code_after<const N: usize>(given: Option<&[u8]>, offset: usize) -> [u8; N] {
    let source = given.map_or(&NOT_BOOTABLE[..], |code| code.get(offset..).unwrap_or_default());
    let mut code = [0; N];
    for (to, from) in code.iter_mut().zip(source) {
        *to = *from;
    }
    code
}

fn encode_fsinfo(free: FreeClusters) -> [u8; BOOT_SECTOR_BYTES] {
    zerocopy::transmute!(FsInfo {
        lead_signature: *b"RRaA",
        reserved_low: [0; 480],
        structure_signature: *b"rrAa",
        free_count: free.count.into(),
        next_free: free.first.unwrap_or(u32::MAX).into(),
        reserved_high: [0; 12],
        trail_signature: [0, 0, 0x55, 0xAA],
    })
}

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
    use super::*;

    fn facts(boot_code: Option<Vec<u8>>) -> BootFacts {
        BootFacts {
            oem_name: *b"MSWIN4.1",
            media: 0xF8,
            sectors_per_track: 63,
            heads: 255,
            hidden_sectors: 2048,
            volume_id: 0xDEAD_BEEF,
            label: Some(Label::new("BOOT").unwrap()),
            boot_code,
        }
    }

    fn geometry(kind: FatKind) -> Geometry {
        let (total_sectors, reserved_sectors, root_entries) =
            if kind == FatKind::Fat32 { (131_072, 32, 0) } else { (16_384, 1, 512) };
        let shape = Shape {
            kind,
            total_sectors,
            bytes_per_sector: 512,
            sectors_per_cluster: 1,
            reserved_sectors,
            fat_count: 2,
            root_entries,
        };
        shape.solve().unwrap()
    }

    const FREE: FreeClusters = FreeClusters { count: 7, first: Some(9) };

    #[test]
    fn fat32_has_its_backups_in_sectors_six_to_eight() {
        let area = encode_reserved_area(&geometry(FatKind::Fat32), &facts(None), FREE);
        assert_eq!(area.len(), 9 * 512);
        assert_eq!(area[..3 * 512], area[6 * 512..]);
        assert!(area[3 * 512..6 * 512].iter().all(|byte| *byte == 0));
        assert_eq!(area[..11], *b"\xEB\x58\x90MSWIN4.1");
        assert_eq!(area[28..40], [0, 8, 0, 0, 0, 0, 2, 0, 0xF1, 3, 0, 0]);
        assert_eq!(area[64..90], *b"\x80\0\x29\xEF\xBE\xAD\xDEBOOT       FAT32   ");
        assert_eq!(area[510..516], *b"\x55\xAARRaA");
        assert_eq!(area[996..1008], *b"rrAa\x07\0\0\0\x09\0\0\0");
        assert_eq!(area[1020..1024], [0, 0, 0x55, 0xAA]);
        assert_eq!(area[1534..1536], [0x55, 0xAA]);
    }

    #[test]
    fn a_small_volume_uses_the_sixteen_bit_fields() {
        let area = encode_reserved_area(&geometry(FatKind::Fat16), &facts(None), FREE);
        assert_eq!(area.len(), 512);
        assert_eq!(area[19..24], [0, 0x40, 0xF8, 0x40, 0]);
        assert_eq!(area[32..36], [0; 4]);
        assert_eq!(area[54..67], *b"FAT16   \xCD\x18\xF4\xEB\xFD");
    }

    #[test]
    fn given_boot_code_keeps_our_parameters_and_signature() {
        let mut code = vec![0xCC; 512];
        code[..3].copy_from_slice(&[0xE9, 0x3B, 0]);
        let area = encode_reserved_area(&geometry(FatKind::Fat16), &facts(Some(code)), FREE);
        assert_eq!(area[..11], *b"\xE9\x3B\0MSWIN4.1");
        assert_eq!(area[61..64], [b' ', 0xCC, 0xCC]);
        assert_eq!(area[509..], [0xCC, 0x55, 0xAA]);

        let without_jump =
            encode_reserved_area(&geometry(FatKind::Fat16), &facts(Some(vec![0xCC; 64])), FREE);
        assert_eq!(without_jump[..3], [0xEB, 0x3C, 0x90]);
        assert_eq!(without_jump[62..65], [0xCC, 0xCC, 0]);
    }

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
