//! The reserved area as bytes: boot sector, FSInfo sector and their backups. Knows no directory
//! and no chain, only how many clusters are free.

use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::geometry::{FIRST_CLUSTER, Geometry};
use super::kind::FatKind;
use super::label::Label;

/// Bytes of a boot sector or FSInfo structure, whatever the sector size: the signature stands at
/// byte 510 of sectors of 4096 bytes too.
pub const BOOT_SECTOR_BYTES: usize = 512;

/// Sector of the FSInfo structure on FAT32.
pub const FSINFO_SECTOR: u16 = 1;

/// Sector of the backup boot sector on FAT32. Tools look for it there and nowhere else.
pub const BACKUP_BOOT_SECTOR: u16 = 6;

/// The fewest reserved sectors of a FAT32 volume: three sectors, three unused, three backups.
pub const MIN_FAT32_RESERVED_SECTORS: u16 = 9;

pub(super) const SIGNATURE: [u8; 2] = [0x55, 0xAA];
const EXTENDED_BOOT_SIGNATURE: u8 = 0x29;
const MEDIA_FIXED_DISK: u8 = 0xF8;

/// Code where none is given: INT 18h (tell the firmware to try the next device), then halt for ever.
pub const NOT_BOOTABLE: [u8; 5] = [0xCD, 0x18, 0xF4, 0xEB, 0xFD];

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
pub(super) struct ParameterBlock {
    pub(super) jump: [u8; 3],
    pub(super) oem_name: [u8; 8],
    pub(super) bytes_per_sector: U16,
    pub(super) sectors_per_cluster: u8,
    pub(super) reserved_sectors: U16,
    pub(super) fat_count: u8,
    pub(super) root_entries: U16,
    pub(super) total_sectors_16: U16,
    pub(super) media: u8,
    pub(super) sectors_per_fat_16: U16,
    pub(super) sectors_per_track: U16,
    pub(super) heads: U16,
    pub(super) hidden_sectors: U32,
    pub(super) total_sectors_32: U32,
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct ParameterBlock32 {
    pub(super) sectors_per_fat_32: U32,
    pub(super) extended_flags: U16,
    pub(super) version: U16,
    pub(super) root_cluster: U32,
    pub(super) fsinfo_sector: U16,
    pub(super) backup_boot_sector: U16,
    pub(super) reserved: [u8; 12],
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct ExtendedBlock {
    pub(super) drive_number: u8,
    pub(super) dirty_flags: u8,
    pub(super) boot_signature: u8,
    pub(super) volume_id: U32,
    pub(super) label: [u8; 11],
    pub(super) type_string: [u8; 8],
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct BootSector16 {
    pub(super) parameters: ParameterBlock,
    pub(super) extended: ExtendedBlock,
    pub(super) code: [u8; 448],
    pub(super) signature: [u8; 2],
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct BootSector32 {
    pub(super) parameters: ParameterBlock,
    pub(super) parameters_32: ParameterBlock32,
    pub(super) extended: ExtendedBlock,
    pub(super) code: [u8; 420],
    pub(super) signature: [u8; 2],
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct FsInfo {
    pub(super) lead_signature: [u8; 4],
    pub(super) reserved_low: [u8; 480],
    pub(super) structure_signature: [u8; 4],
    pub(super) free_count: U32,
    pub(super) next_free: U32,
    pub(super) reserved_high: [u8; 12],
    pub(super) trail_signature: [u8; 4],
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

pub(super) fn encode_boot_sector(
    geometry: &Geometry,
    facts: &BootFacts,
) -> [u8; BOOT_SECTOR_BYTES] {
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

pub(super) fn encode_fsinfo(free: FreeClusters) -> [u8; BOOT_SECTOR_BYTES] {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
pub(super) mod tests {
    use super::super::geometry::Shape;
    use super::*;

    pub(in super::super) fn facts(boot_code: Option<Vec<u8>>) -> BootFacts {
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

    pub(in super::super) fn geometry(kind: FatKind) -> Geometry {
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

    pub(in super::super) const FREE: FreeClusters = FreeClusters { count: 7, first: Some(9) };

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
}
