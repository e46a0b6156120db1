//! The 32-byte records of a directory. Knows no order among them.

use zerocopy::byteorder::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::attr::Attributes;
use super::label::Label;
use super::name::{MAX_UNITS, UNITS_PER_PART};
use super::short::ShortName;
use super::time::DosTime;

/// Bytes of every record.
pub const RECORD_BYTES: usize = super::geometry::RECORD_BYTES as usize;

/// Records that one directory may hold, `.`, `..`, label and long-name parts included
/// (specification: a directory is at most 2 MiB).
pub const MAX_RECORDS: u64 = 65_536;

const LAST_PART: u8 = 0x40;

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct ShortRecord {
    name: [u8; 11],
    attributes: u8,
    case_bits: u8,
    created_tens_of_ms: u8,
    created_time: U16,
    created_date: U16,
    accessed_date: U16,
    first_cluster_high: U16,
    written_time: U16,
    written_date: U16,
    first_cluster_low: U16,
    size_bytes: U32,
}

#[derive(IntoBytes, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct LongRecord {
    order: u8,
    units_low: [U16; 5],
    attributes: u8,
    part_type: u8,
    checksum: u8,
    units_middle: [U16; 6],
    first_cluster: U16,
    units_high: [U16; 2],
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<ShortRecord>() == RECORD_BYTES);
    assert!(offset_of!(ShortRecord, attributes) == 11);
    assert!(offset_of!(ShortRecord, created_time) == 14);
    assert!(offset_of!(ShortRecord, first_cluster_high) == 20);
    assert!(offset_of!(ShortRecord, written_time) == 22);
    assert!(offset_of!(ShortRecord, first_cluster_low) == 26);
    assert!(offset_of!(ShortRecord, size_bytes) == 28);
    assert!(size_of::<LongRecord>() == RECORD_BYTES);
    assert!(offset_of!(LongRecord, attributes) == 11);
    assert!(offset_of!(LongRecord, checksum) == 13);
    assert!(offset_of!(LongRecord, units_middle) == 14);
    assert!(offset_of!(LongRecord, units_high) == 28);
};

/// What the short record of a file or directory says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The eleven bytes.
    pub name: ShortName,
    /// Attributes.
    pub attributes: Attributes,
    /// `DIR_NTRes`: 08 if the base is shown in small letters, 10 if the extension is.
    pub case_bits: u8,
    /// Written, created and, its date, accessed.
    pub stamp: DosTime,
    /// 0 for an empty file, and for a `..` that leads to the root.
    pub first_cluster: u32,
    /// 0 for directories.
    pub size_bytes: u32,
}

impl Entry {
    /// The record.
    pub fn encode(&self) -> [u8; RECORD_BYTES] {
        encode_short(self.name.bytes(), self)
    }

    /// The record `.` of a directory whose own record is `self`: the same cluster and stamp, and
    /// no attribute but that of a directory.
    pub fn encode_dot(&self) -> [u8; RECORD_BYTES] {
        encode_short(*b".          ", &self.as_dots())
    }

    /// The record `..` of a directory whose own record is `self`. `parent_cluster` is 0 when the
    /// parent is the root, on FAT32 too.
    pub fn encode_dot_dot(&self, parent_cluster: u32) -> [u8; RECORD_BYTES] {
        let dots = Self { first_cluster: parent_cluster, ..self.as_dots() };
        encode_short(*b"..         ", &dots)
    }

    fn as_dots(&self) -> Self {
        Self { attributes: Attributes::DIRECTORY, case_bits: 0, ..*self }
    }
}

/// The label's record, the first of the root directory.
pub fn encode_label(label: &Label, stamp: DosTime) -> [u8; RECORD_BYTES] {
    let record = Entry {
        name: ShortName::from_bytes(label.bytes()),
        attributes: Attributes::LABEL,
        case_bits: 0,
        stamp,
        first_cluster: 0,
        size_bytes: 0,
    };
    record.encode()
}

fn encode_short(name: [u8; 11], entry: &Entry) -> [u8; RECORD_BYTES] {
    let [low, lower, high, higher] = entry.first_cluster.to_le_bytes();
    zerocopy::transmute!(ShortRecord {
        name,
        attributes: entry.attributes.bits(),
        case_bits: entry.case_bits,
        created_tens_of_ms: 0,
        created_time: entry.stamp.time.into(),
        created_date: entry.stamp.date.into(),
        accessed_date: entry.stamp.date.into(),
        first_cluster_high: U16::from_bytes([high, higher]),
        written_time: entry.stamp.time.into(),
        written_date: entry.stamp.date.into(),
        first_cluster_low: U16::from_bytes([low, lower]),
        size_bytes: entry.size_bytes.into(),
    })
}

/// The parts of long name `name`, at most 255 UTF-16 units, in the order of the disk: the last
/// part first. One zero unit ends the name and FFFF fills the rest, unless the name fills its
/// last part.
pub fn encode_long(name: &str, short: ShortName) -> Vec<[u8; RECORD_BYTES]> {
    let units: Vec<u16> = name.encode_utf16().collect();
    let checksum = short.checksum();
    let mut parts: Vec<[u8; RECORD_BYTES]> = units
        .chunks(UNITS_PER_PART)
        .zip(1..)
        .map(|(units, order)| encode_part(units, order, checksum))
        .collect();
    if let Some([order, ..]) = parts.last_mut() {
        *order |= LAST_PART;
    }
    parts.reverse();
    parts
}

fn encode_part(units: &[u16], order: u8, checksum: u8) -> [u8; RECORD_BYTES] {
    let mut padded = units.iter().copied().chain([0]).chain(std::iter::repeat(0xFFFF));
    let mut next = |_| U16::new(padded.next().unwrap_or(0xFFFF));
    zerocopy::transmute!(LongRecord {
        order,
        units_low: std::array::from_fn(&mut next),
        attributes: Attributes::LONG_NAME.bits(),
        part_type: 0,
        checksum,
        units_middle: std::array::from_fn(&mut next),
        first_cluster: 0.into(),
        units_high: std::array::from_fn(&mut next),
    })
}

/// A record as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundRecord {
    /// First byte 00: no record from here on.
    End,
    /// First byte E5.
    Deleted,
    /// A part of a long name.
    Long(FoundPart),
    /// A file, a directory or the label.
    Short(FoundEntry),
}

/// A part of a long name as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundPart {
    /// 1 for the first part of the name.
    pub order: u8,
    /// Whether no part with a higher order follows; it stands first.
    pub is_last: bool,
    /// Of the short name.
    pub checksum: u8,
    /// The units, terminator and padding among them.
    pub units: [u16; UNITS_PER_PART],
    /// Whether type and first cluster are zero and the attributes 0F exactly.
    pub is_clean: bool,
}

/// A short record as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundEntry {
    /// The eleven bytes.
    pub name: ShortName,
    /// `DIR_Attr`.
    pub attributes: u8,
    /// `DIR_NTRes`.
    pub case_bits: u8,
    /// `DIR_CrtTimeTenth`.
    pub created_tens_of_ms: u8,
    /// `DIR_CrtDate` and `DIR_CrtTime`.
    pub created: DosTime,
    /// `DIR_LstAccDate`.
    pub accessed_date: u16,
    /// `DIR_WrtDate` and `DIR_WrtTime`.
    pub written: DosTime,
    /// `DIR_FstClusHI` and `DIR_FstClusLO`.
    pub first_cluster: u32,
    /// `DIR_FileSize`.
    pub size_bytes: u32,
}

impl FoundEntry {
    /// Whether the directory bit is set.
    pub fn is_directory(&self) -> bool {
        self.attributes & Attributes::DIRECTORY.bits() != 0
    }

    /// Whether the label bit is set.
    pub fn is_label(&self) -> bool {
        self.attributes & Attributes::LABEL.bits() != 0
    }
}

/// Reads a record.
pub fn decode(record: &[u8; RECORD_BYTES]) -> FoundRecord {
    let [first, ..] = *record;
    let short: ShortRecord = zerocopy::transmute!(*record);
    match first {
        0x00 => return FoundRecord::End,
        0xE5 => return FoundRecord::Deleted,
        _ => {}
    }
    // The upper two bits are reserved and may be anything (specification, "Validating").
    if short.attributes & 0x3F == Attributes::LONG_NAME.bits() {
        let long: LongRecord = zerocopy::transmute!(*record);
        let mut units = [0; UNITS_PER_PART];
        let found = long.units_low.iter().chain(&long.units_middle).chain(&long.units_high);
        for (to, from) in units.iter_mut().zip(found) {
            *to = from.get();
        }
        return FoundRecord::Long(FoundPart {
            order: long.order & !LAST_PART,
            is_last: long.order & LAST_PART != 0,
            checksum: long.checksum,
            units,
            is_clean: long.attributes == Attributes::LONG_NAME.bits()
                && long.part_type == 0
                && long.first_cluster.get() == 0,
        });
    }
    let stamp = |date: U16, time: U16| DosTime { date: date.get(), time: time.get() };
    FoundRecord::Short(FoundEntry {
        name: ShortName::from_bytes(short.name),
        attributes: short.attributes,
        case_bits: short.case_bits,
        created_tens_of_ms: short.created_tens_of_ms,
        created: stamp(short.created_date, short.created_time),
        accessed_date: short.accessed_date.get(),
        written: stamp(short.written_date, short.written_time),
        first_cluster: u32::from(short.first_cluster_high.get()) << 16
            | u32::from(short.first_cluster_low.get()),
        size_bytes: short.size_bytes.get(),
    })
}

/// The long name of `parts`, which stand in the order of the disk before the short name `short`.
/// `None` when they do not belong together or do not make a name.
pub fn join_parts(parts: &[FoundPart], short: ShortName) -> Option<String> {
    let (last, _) = parts.split_first()?;
    let checksum = short.checksum();
    let orders = (1..=u8::try_from(parts.len()).ok()?).rev();
    let in_order = parts
        .iter()
        .zip(orders)
        .all(|(part, order)| part.order == order && part.checksum == checksum && part.is_clean);
    let one_last = last.is_last && parts.iter().skip(1).all(|part| !part.is_last);
    let all = parts.iter().rev().flat_map(|part| part.units);
    let mut padding = all.clone().skip_while(|unit| *unit != 0).skip(1);
    let units: Vec<u16> = all.take_while(|unit| *unit != 0).collect();
    // A last part without a unit of the name would be one too many.
    let fills = units.len() > (parts.len() - 1) * UNITS_PER_PART;
    let whole = in_order && one_last && fills && padding.all(|unit| unit == 0xFFFF);
    String::from_utf16(&units).ok().filter(|_| whole && units.len() <= MAX_UNITS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            name: ShortName::from_bytes(*b"README  TXT"),
            attributes: Attributes::ARCHIVE,
            case_bits: 0x18,
            stamp: DosTime { date: 0x585D, time: 0x68A3 },
            first_cluster: 0x0012_3456,
            size_bytes: 0x0403_0201,
        }
    }

    #[test]
    fn a_short_record_has_every_field_in_its_place() {
        assert_eq!(
            entry().encode(),
            *b"README  TXT\x20\x18\0\xA3\x68\x5D\x58\x5D\x58\x12\0\xA3\x68\x5D\x58\x56\x34\x01\x02\x03\x04"
        );
    }

    #[test]
    fn dot_records_carry_the_stamp_of_their_directory() {
        let directory =
            Entry { attributes: Attributes::DIRECTORY, size_bytes: 0, first_cluster: 5, ..entry() };
        assert_eq!(directory.encode_dot()[..13], *b".          \x10\0");
        assert_eq!(directory.encode_dot()[26..28], [5, 0]);
        assert_eq!(directory.encode_dot_dot(0)[..13], *b"..         \x10\0");
        assert_eq!(directory.encode_dot_dot(0)[22..32], [0xA3, 0x68, 0x5D, 0x58, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_long_name_is_stored_last_part_first_and_padded() {
        let parts = encode_long("The quick brown.fox", ShortName::from_bytes(*b"THEQUI~1FOX"));
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0], *b"\x42w\0n\0.\0f\0o\0\x0F\0\x07x\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0\0\xFF\xFF\xFF\xFF");
        assert_eq!(parts[1], *b"\x01T\0h\0e\0 \0q\0\x0F\0\x07u\0i\0c\0k\0 \0b\0\0\0r\0o\0");
    }

    #[test]
    fn a_name_that_fills_its_last_part_has_no_terminator() {
        let parts = encode_long("123456789.123", ShortName::from_bytes(*b"123456~1123"));
        assert_eq!(
            parts,
            [*b"\x411\x002\x003\x004\x005\0\x0F\0\x2D6\x007\x008\x009\0.\x001\0\0\x002\x003\0"]
        );
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let FoundRecord::Short(found) = decode(&entry().encode()) else {
            panic!("no short record")
        };
        assert_eq!(found.name, entry().name);
        assert_eq!((found.attributes, found.case_bits), (0x20, 0x18));
        assert_eq!((found.created, found.written), (entry().stamp, entry().stamp));
        assert_eq!((found.first_cluster, found.size_bytes), (0x0012_3456, 0x0403_0201));
        let short = ShortName::from_bytes(*b"LONGNA~1   ");
        for len in [1, 12, 13, 14, 26, 255] {
            let name = "é".repeat(len);
            let found = |record: &[u8; RECORD_BYTES]| match decode(record) {
                FoundRecord::Long(part) => part,
                other => panic!("{other:?}"),
            };
            let mut parts: Vec<FoundPart> = encode_long(&name, short).iter().map(found).collect();
            assert_eq!(join_parts(&parts, short), Some(name));
            assert_eq!(join_parts(&parts, ShortName::from_bytes(*b"OTHER      ")), None);
            parts[0].is_last = false;
            assert_eq!(join_parts(&parts, short), None);
        }
        assert_eq!(decode(&[0; 32]), FoundRecord::End);
        assert_eq!(decode(&[0xE5; 32]), FoundRecord::Deleted);
        assert_eq!(join_parts(&[], short), None);
    }
}
