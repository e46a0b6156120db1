//! What is wanted, in the terms of the format: every option with its default. Knows neither the
//! command line nor the system: zone, seed and epoch arrive here as values.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::disk::{Guid, Scheme};
use crate::fat::attr::Attributes;
use crate::fat::kind::FatKind;
use crate::fat::label::Label;
use crate::pattern::Patterns;
use crate::source::Sources;

pub use super::profile::Profile;

/// A whole wish: sources and how to store them. By default nothing is stored, in the smallest image.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// What goes in.
    pub sources: Sources,
    /// Who is to read the image: it completes what is left open of size, volume, disk and names.
    pub profile: Option<Profile>,
    /// How large the image is.
    pub size: ImageSize,
    /// Room that is left for later.
    pub free: Free,
    /// The volume.
    pub format: Format,
    /// The disk around it.
    pub disk: DiskWish,
    /// What to do with names.
    pub names: Names,
    /// What to do with times.
    pub times: Times,
    /// What to do with attributes.
    pub attributes: AttributeWishes,
}

/// How large the image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImageSize {
    /// As small as the tree and the free room allow.
    #[default]
    Auto,
    /// So many bytes exactly.
    Bytes(u64),
    /// So many bytes exactly, since the place that it goes to has them: a device or a partition.
    Place(u64),
}

/// What lies around the volume.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum DiskWish {
    /// Nothing, unless the profile has a table: the image is the volume.
    #[default]
    None,
    /// Nothing, whatever the profile has.
    Bare,
    /// A table with the volume as its only partition: the image is a whole disk.
    Table(TableWish),
    /// A disk that is there already; the image is the volume, and begins at this byte of it.
    Within {
        /// A multiple of the sector size.
        start_bytes: u64,
    },
}

/// A partition table; `None` is our choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableWish {
    /// Which kind.
    pub scheme: Scheme,
    /// Byte at which the partition begins.
    pub start_bytes: Option<u64>,
    /// What the table says that it holds.
    pub partition_type: TypeWish,
    /// What people call it; of GPT only, at most 36 UTF-16 units.
    pub label: Option<String>,
    /// What names the disk; derived from the plan without one.
    pub disk_id: Option<DiskIdWish>,
    /// Code that a BIOS starts; the table's own part of the sector is not taken from it.
    pub mbr_code: Option<Vec<u8>>,
}

impl TableWish {
    /// A table of that kind with every choice left open.
    pub fn of(scheme: Scheme) -> Self {
        let (start_bytes, label, disk_id, mbr_code) = (None, None, None, None);
        Self { scheme, start_bytes, partition_type: TypeWish::Fat, label, disk_id, mbr_code }
    }
}

/// What a partition table says that the partition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TypeWish {
    /// FAT, by the type that suits table and volume.
    #[default]
    Fat,
    /// The EFI system partition.
    Esp,
    /// A byte that [may be](crate::disk::mbr::may_hold_a_volume) a volume's; wants MBR.
    Byte(u8),
    /// A GUID; wants GPT.
    Guid(Guid),
}

/// What names a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskIdWish {
    /// The signature of an MBR.
    Signature(u32),
    /// The name of a GPT.
    Guid(Guid),
    /// By chance: whoever asks has drawn these bytes.
    Drawn([u8; 16]),
}

/// Room that is left for later, at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Free {
    /// Bytes.
    Bytes(u64),
    /// Percent of the volume's clusters, below 100.
    Percent(u8),
}

impl Default for Free {
    fn default() -> Self {
        Self::Bytes(0)
    }
}

/// The volume; `None` is our choice. Numbers are in the range that the field can hold and that
/// some reader accepts; whether they fit together is for the plan to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// FAT12, FAT16 or FAT32.
    pub kind: Option<FatKind>,
    /// Bytes of a cluster: a power of two from the sector size to 128 sectors, at most 64 KiB.
    pub cluster_bytes: Option<u32>,
    /// 512, 1024, 2048 or 4096.
    pub sector_bytes: u16,
    /// 1 or 2.
    pub fat_count: Option<u8>,
    /// Records of the fixed root directory; wants FAT12 or FAT16.
    pub root_entries: Option<u16>,
    /// Sectors before the first FAT, exactly.
    pub reserved_sectors: Option<u16>,
    /// Bytes of which the data area's place in the image is a multiple; a multiple of the sector
    /// size.
    pub align_bytes: Option<u32>,
    /// The media byte.
    pub media: Option<u8>,
    /// Heads for old boot code, 1 to 255.
    pub heads: Option<u16>,
    /// Sectors per track for old boot code, 1 to 63.
    pub sectors_per_track: Option<u16>,
    /// Sectors before the volume on its disk, where the image does not tell.
    pub hidden_sectors: Option<u32>,
    /// The OEM name, blank-padded.
    pub oem_name: [u8; 8],
    /// The label.
    pub label: Option<LabelWish>,
    /// The serial number; derived from the plan without one.
    pub volume_id: Option<u32>,
    /// At most 512 bytes.
    pub boot_code: Option<Vec<u8>>,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            kind: None,
            cluster_bytes: None,
            sector_bytes: 512,
            fat_count: None,
            root_entries: None,
            reserved_sectors: None,
            align_bytes: None,
            media: None,
            heads: None,
            sectors_per_track: None,
            hidden_sectors: None,
            // The specification recommends it: some drivers look at the name.
            oem_name: *b"MSWIN4.1",
            label: None,
            volume_id: None,
            boot_code: None,
        }
    }
}

impl Format {
    /// Whether nothing is asked of the layout, so that a floppy's size means a floppy.
    pub fn leaves_layout_open(&self) -> bool {
        let open = Self {
            oem_name: self.oem_name,
            label: self.label,
            volume_id: self.volume_id,
            boot_code: self.boot_code.clone(),
            ..Self::default()
        };
        *self == open
    }
}

/// A label, and whether it was typed otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelWish {
    /// The label.
    pub label: Label,
    /// Whether it was typed in small letters.
    pub made_capital: bool,
}

/// What to do with names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Names {
    /// Whether a name that is not all capital takes a long name even where case bits would do.
    pub always_long: bool,
    /// Whether names that Windows cannot open are refused.
    pub windows_safe: bool,
    /// What to do with a name that FAT cannot hold.
    pub invalid: InvalidNames,
    /// What to do with a name that FAT takes for an earlier one.
    pub clash: Clash,
}

/// What to do with a name that FAT cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InvalidNames {
    /// Refuse.
    #[default]
    Error,
    /// Put `_` for what cannot stand.
    Replace,
    /// Leave the entry out.
    Skip,
}

/// What to do with a name that FAT takes for an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clash {
    /// Refuse.
    #[default]
    Error,
    /// Leave the later entry out.
    Skip,
    /// Give the later entry a name with `~` and a number.
    Rename,
}

/// What to do with times.
#[derive(Debug, Clone)]
pub struct Times {
    /// In which civil time stamps are stored: FAT has no zone.
    pub zone: TimeZone,
    /// One time for everything.
    pub fixed: Option<Timestamp>,
    /// The latest time that may be stored.
    pub ceiling: Option<Timestamp>,
}

impl Default for Times {
    fn default() -> Self {
        Self { zone: TimeZone::UTC, fixed: None, ceiling: None }
    }
}

/// What to do with attributes. Without a wish files have [`Attributes::ARCHIVE`], directories nothing
/// but [`Attributes::DIRECTORY`].
#[derive(Debug, Clone, Default)]
pub struct AttributeWishes {
    /// Whether files that their owner may not write are read-only.
    pub keep_read_only: bool,
    /// Of paths in the image, under the names that are stored.
    pub patterns: Patterns,
    /// What each of the patterns changes, in their order; a later one has the last word.
    pub changes: Vec<AttributeChange>,
}

/// A change of attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttributeChange {
    /// Those to have.
    pub set: Attributes,
    /// Those not to have.
    pub clear: Attributes,
}
