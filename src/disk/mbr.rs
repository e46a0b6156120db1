//! The partition table in a disk's first sector (fat-facts 9), and the one that guards a GPT from
//! programs that know no other.

use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::MBR_CODE_BYTES;

/// Bytes of the table's sector that mean something, whatever the sector size.
pub const MBR_BYTES: usize = 512;

const ACTIVE: u8 = 0x80;
const SIGNATURE: [u8; 2] = [0x55, 0xAA];

/// The type of a GPT's guard.
pub const PROTECTIVE: u8 = 0xEE;
/// The EFI system partition.
pub const ESP: u8 = 0xEF;
/// FAT12, as old systems and memory cards have it.
pub const FAT12_CHS: u8 = 0x01;
/// FAT16 of fewer than 65,536 sectors; likewise.
pub const FAT16_SMALL_CHS: u8 = 0x04;
/// Larger FAT16; likewise.
pub const FAT16_CHS: u8 = 0x06;
/// FAT32; likewise.
pub const FAT32_CHS: u8 = 0x0B;
/// FAT32, addressed by sector numbers.
pub const FAT32_LBA: u8 = 0x0C;
/// FAT12 and FAT16, addressed by sector numbers.
pub const FAT16_LBA: u8 = 0x0E;
/// Partitions whose first sector is taken for another table.
const EXTENDED: [u8; 3] = [0x05, 0x0F, 0x85];

/// A partition that holds others, in the three ways in which it is said.
pub const EXTENDED_CHS: u8 = 0x05;
/// See [`EXTENDED_CHS`].
pub const EXTENDED_LBA: u8 = 0x0F;
/// See [`EXTENDED_CHS`].
pub const EXTENDED_LINUX: u8 = 0x85;

/// The geometry by which everybody counts where none is real.
const HEADS: u64 = 255;
const SECTORS_PER_TRACK: u64 = 63;
const CYLINDERS: u64 = 1024;
/// What stands for a place that cylinders, heads and sectors cannot tell.
const PAST_CYLINDERS: [u8; 3] = [0xFE, 0xFF, 0xFF];

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct RawEntry {
    status: u8,
    first: [u8; 3],
    partition_type: u8,
    last: [u8; 3],
    first_sector: U32,
    sectors: U32,
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Sector {
    code: [u8; MBR_CODE_BYTES],
    disk_signature: U32,
    reserved: U16,
    entries: [RawEntry; 4],
    signature: [u8; 2],
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<RawEntry>() == 16);
    assert!(offset_of!(RawEntry, first_sector) == 8);
    assert!(offset_of!(Sector, disk_signature) == 440);
    assert!(offset_of!(Sector, entries) == 446);
    assert!(size_of::<Sector>() == MBR_BYTES);
};

/// Whether readers look for a volume in a partition of that type: 0 is a place that is not used, and
/// what guards a GPT or holds further partitions is read as that.
pub fn may_hold_a_volume(partition_type: u8) -> bool {
    !matches!(partition_type, 0 | PROTECTIVE) && !EXTENDED.contains(&partition_type)
}

/// An entry that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Whether a BIOS may start it.
    pub active: bool,
    /// What it holds; not 0.
    pub partition_type: u8,
    /// Its first sector. What 32 bits cannot tell is told as the most that they can.
    pub first_sector: u64,
    /// Its sectors; likewise.
    pub sectors: u64,
}

/// What the table of a disk says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The disk's signature.
    pub signature: u32,
    /// The four places; `None` for one that is not used.
    pub entries: [Option<Entry>; 4],
}

/// The sector with one partition.
pub fn encode(code: &[u8], disk_signature: u32, entry: &Entry) -> [u8; MBR_BYTES] {
    let first = RawEntry {
        status: if entry.active { ACTIVE } else { 0 },
        first: cylinder_head_sector(entry.first_sector),
        partition_type: entry.partition_type,
        last: cylinder_head_sector(entry.first_sector + entry.sectors.saturating_sub(1)),
        first_sector: in_32_bits(entry.first_sector),
        sectors: in_32_bits(entry.sectors),
    };
    sector(code, disk_signature, first)
}

/// The sector that guards a GPT on a disk of `total_sectors`.
pub fn encode_protective(code: &[u8], total_sectors: u64) -> [u8; MBR_BYTES] {
    let guard = RawEntry {
        // EDK2 takes no other status and no other start.
        status: 0,
        first: [0, 2, 0],
        partition_type: PROTECTIVE,
        last: [0xFF; 3],
        first_sector: 1.into(),
        sectors: in_32_bits(total_sectors.saturating_sub(1)),
    };
    sector(code, 0, guard)
}

fn sector(code: &[u8], disk_signature: u32, first: RawEntry) -> [u8; MBR_BYTES] {
    let mut whole_code = [0; MBR_CODE_BYTES];
    for (to, from) in whole_code.iter_mut().zip(code) {
        *to = *from;
    }
    let unused = RawEntry::read_from_bytes(&[0; 16]);
    // Sixteen bytes always make one.
    let unused = unused.unwrap_or(first);
    zerocopy::transmute!(Sector {
        code: whole_code,
        disk_signature: disk_signature.into(),
        reserved: 0.into(),
        entries: [first, unused, unused, unused],
        signature: SIGNATURE,
    })
}

fn in_32_bits(sectors: u64) -> U32 {
    u32::try_from(sectors).unwrap_or(u32::MAX).into()
}

fn cylinder_head_sector(sector: u64) -> [u8; 3] {
    let track = sector / SECTORS_PER_TRACK;
    let (cylinder, head) = (track / HEADS, track % HEADS);
    if cylinder >= CYLINDERS {
        return PAST_CYLINDERS;
    }
    let of_track = sector % SECTORS_PER_TRACK + 1;
    let low = |number: u64| number.to_le_bytes()[0];
    [low(head), low(cylinder >> 8 << 6 | of_track), low(cylinder)]
}

/// The table in a disk's first 512 bytes; `None` without its signature, or where a status is none, as
/// in the boot sector of a volume that fills its disk.
pub fn decode(bytes: &[u8; MBR_BYTES]) -> Option<Found> {
    let sector = Sector::ref_from_bytes(bytes).ok()?;
    let known = |entry: &RawEntry| matches!(entry.status, 0 | ACTIVE);
    if sector.signature != SIGNATURE || !sector.entries.iter().all(known) {
        return None;
    }
    let entry = |raw: RawEntry| {
        (raw.partition_type != 0).then(|| Entry {
            active: raw.status == ACTIVE,
            partition_type: raw.partition_type,
            first_sector: raw.first_sector.get().into(),
            sectors: raw.sectors.get().into(),
        })
    };
    Some(Found { signature: sector.disk_signature.get(), entries: sector.entries.map(entry) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_fields_where_everybody_reads_them() {
        let entry =
            Entry { active: true, partition_type: 0x0C, first_sector: 2048, sectors: 129_024 };
        let bytes = encode(&[0xFA, 0x33], 0xDEAD_BEEF, &entry);
        assert_eq!(bytes[..3], [0xFA, 0x33, 0]);
        assert_eq!(bytes[440..446], [0xEF, 0xBE, 0xAD, 0xDE, 0, 0]);
        // Head 32, sector 33; cylinder 8, head 40, sector 32: as sfdisk writes them.
        let expected = [0x80, 0x20, 0x21, 0x00, 0x0C, 0x28, 0x20, 0x08, 0, 8, 0, 0, 0, 0xF8, 1, 0];
        assert_eq!(bytes[446..462], expected);
        assert!(bytes[462..510].iter().all(|byte| *byte == 0));
        assert_eq!(bytes[510..], [0x55, 0xAA]);
        let found = decode(&bytes).unwrap();
        assert_eq!(found.signature, 0xDEAD_BEEF);
        assert_eq!(found.entries, [Some(entry), None, None, None]);
    }

    #[test]
    fn places_past_the_cylinders_are_told_as_such() {
        let last = HEADS * SECTORS_PER_TRACK * CYLINDERS - 1;
        assert_eq!(cylinder_head_sector(last), [254, 0xFF, 0xFF]);
        assert_eq!(cylinder_head_sector(last + 1), PAST_CYLINDERS);
        assert_eq!(cylinder_head_sector(0), [0, 1, 0]);
    }

    #[test]
    fn a_guard_covers_the_disk_as_far_as_it_can() {
        let small = encode_protective(&[], 131_072);
        assert_eq!(
            small[446..462],
            [0, 0, 2, 0, 0xEE, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0, 0xFF, 0xFF, 1, 0]
        );
        let large = encode_protective(&[], 1 << 33);
        assert_eq!(large[458..462], [0xFF; 4]);
    }

    #[test]
    fn a_boot_sector_with_code_is_no_table() {
        let mut bytes = [0; MBR_BYTES];
        assert_eq!(decode(&bytes), None);
        bytes[510..].copy_from_slice(&SIGNATURE);
        assert_eq!(decode(&bytes).unwrap().entries, [None; 4]);
        bytes[446] = 0x12;
        assert_eq!(decode(&bytes), None);
    }
}
