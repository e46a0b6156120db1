//! What each consumer demands, and why: the table of `docs/profiles.md` as data. The reasons are said
//! both when something is refused for them and when something is chosen for them.

use super::Profile;
use super::refusal::Refusal;
use crate::disk::Scheme;
use crate::fat::kind::FatKind::{self, Fat12, Fat16, Fat32};

/// Sectors of 512 bytes that a boot catalogue can count, in 16 bits, as whole sectors of a CD.
const EL_TORITO_BYTES: u64 = 65_535 * 512 / CD_SECTOR_BYTES * CD_SECTOR_BYTES;
const CD_SECTOR_BYTES: u64 = 2048;

/// Which types of a partition the consumer looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Types {
    /// Whichever is asked for.
    Any,
    /// The EFI system partition.
    Esp,
    /// The byte that the type of FAT has.
    OfFat,
}

/// The size that an image may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sizes {
    /// Any.
    Any,
    /// So many bytes.
    Exactly(u64),
    /// Multiples of a unit, up to a limit.
    UpTo {
        most_bytes: u64,
        unit_bytes: u64,
        /// The limit in words.
        why: &'static str,
        /// What to do about a tree that needs more.
        remedy: &'static str,
    },
}

/// What one consumer demands.
#[derive(Debug, Clone, Copy)]
pub(in crate::plan) struct Rules {
    /// Tables around the volume, or none; the first is made when none is asked for.
    pub(super) tables: &'static [Option<Scheme>],
    pub(super) why_table: &'static str,
    pub(super) types: Types,
    pub(super) why_type: &'static str,
    /// Where the partition begins unless it is asked for.
    pub(super) start_bytes: Option<u64>,
    pub(super) why_start: &'static str,
    /// Types of FAT that may be.
    pub(in crate::plan) kinds: &'static [FatKind],
    /// The one that is made unless another is asked for; `None` is by size.
    pub(in crate::plan) kind: Option<FatKind>,
    pub(super) why_kind: &'static str,
    /// What the other types are good for.
    pub(in crate::plan) other_kinds_are: &'static str,
    /// Why sectors have 512 bytes, where they must.
    pub(super) why_512: Option<&'static str>,
    pub(in crate::plan) most_cluster_bytes: u32,
    pub(super) why_cluster: &'static str,
    /// Why no flag can change the layout, where none can.
    pub(super) why_fixed: Option<&'static str>,
    /// Clusters that stay free at the end.
    pub(in crate::plan) spare_clusters: u64,
    pub(super) why_spare: &'static str,
    pub(super) sizes: Sizes,
}

const KIB_32: u32 = 32 << 10;
const KIB_64: u32 = 64 << 10;

/// Of a consumer that demands nothing.
const ANYTHING: Rules = Rules {
    tables: &[Some(Scheme::Mbr), Some(Scheme::Gpt), None],
    why_table: "",
    types: Types::Any,
    why_type: "",
    start_bytes: None,
    why_start: "",
    kinds: &FatKind::ALL,
    kind: None,
    why_kind: "",
    other_kinds_are: "",
    why_512: None,
    most_cluster_bytes: KIB_64,
    why_cluster: "",
    why_fixed: None,
    spare_clusters: 0,
    why_spare: "",
    sizes: Sizes::Any,
};

const ESP: Rules = Rules {
    tables: &[None, Some(Scheme::Gpt), Some(Scheme::Mbr)],
    why_table: "firmware reads a bare volume too; --partition-table gpt makes a whole disk",
    types: Types::Esp,
    why_type: "firmware looks for partitions of the type EFI system",
    kind: Some(Fat32),
    why_kind: "firmware reads FAT32 on every disk, and the others on removable media",
    other_kinds_are: " for removable media",
    most_cluster_bytes: KIB_32,
    why_cluster: "not all firmware reads clusters of more than 32K",
    ..ANYTHING
};

const RASPBERRY_PI: Rules = Rules {
    tables: &[Some(Scheme::Mbr), None],
    why_table: "the boot ROMs up to the Pi 3 read no table but MBR",
    types: Types::OfFat,
    why_type: "the boot ROMs up to the Pi 3 know FAT by the types 0C and 0E",
    start_bytes: Some(4 << 20),
    why_start: "the erase blocks of most cards divide it",
    kinds: &[Fat32, Fat16],
    kind: Some(Fat32),
    why_kind: "every Raspberry Pi starts from FAT32, and all but some Compute Modules 3 from FAT16",
    other_kinds_are: " for all but some Compute Modules 3",
    why_512: Some("boot ROMs read sectors of 512 bytes"),
    most_cluster_bytes: KIB_32,
    why_cluster: "clusters of more than 32K are not known to start",
    spare_clusters: 1,
    why_spare: "EEPROMs of the Pi 4 from before 2024 cannot read a file there",
    ..ANYTHING
};

const SD_CARD: Rules = Rules {
    tables: &[Some(Scheme::Mbr)],
    why_table: "memory cards have an MBR",
    types: Types::OfFat,
    why_type: "the capacity decides over the type of the partition",
    why_512: Some("memory cards have sectors of 512 bytes"),
    most_cluster_bytes: KIB_32,
    why_fixed: Some("the capacity decides over the layout of a memory card"),
    sizes: Sizes::UpTo {
        most_bytes: 32 << 30,
        unit_bytes: 512,
        why: "memory cards of more have exFAT",
        remedy: "leave something out of the source",
    },
    ..ANYTHING
};

const USB: Rules = Rules {
    why_table: "every system and BIOS reads it on a stick",
    why_kind: "it suits the size, and every system reads it",
    ..ANYTHING
};

const FLOPPY: Rules = Rules {
    tables: &[None],
    why_table: "floppies have no partition table",
    kinds: &[Fat12],
    why_kind: "floppies have FAT12",
    why_512: Some("floppies have sectors of 512 bytes"),
    why_fixed: Some("the layout of a floppy is fixed"),
    ..ANYTHING
};

const EL_TORITO: Rules = Rules {
    tables: &[None],
    why_table: "the boot catalogue of a CD names a bare volume",
    kinds: &[Fat12, Fat16],
    why_kind: "the boot catalogue of a CD counts too few sectors for FAT32",
    why_512: Some("the boot catalogue of a CD counts sectors of 512 bytes"),
    most_cluster_bytes: KIB_32,
    why_cluster: "not all firmware reads clusters of more than 32K",
    sizes: Sizes::UpTo {
        most_bytes: EL_TORITO_BYTES,
        unit_bytes: CD_SECTOR_BYTES,
        why: "the boot catalogue of a CD counts no farther",
        remedy: "leave out of this image what can lie on the CD itself",
    },
    ..ANYTHING
};

const U_BOOT: Rules = Rules {
    why_table: "every U-Boot reads it, and GPT where that was built in",
    why_kind: "it suits the size, and U-Boot reads all three types",
    ..ANYTHING
};

impl Profile {
    pub(in crate::plan) fn rules(self) -> Rules {
        match self {
            Self::Esp => ESP,
            Self::RaspberryPi => RASPBERRY_PI,
            Self::SdCard => SD_CARD,
            Self::Usb => USB,
            Self::ElTorito => EL_TORITO,
            Self::UBoot => U_BOOT,
            Self::Floppy360
            | Self::Floppy720
            | Self::Floppy1200
            | Self::Floppy1440
            | Self::Floppy2880 => {
                let bytes = u64::from(self.floppy_kib().unwrap_or(0)) << 10;
                Rules { sizes: Sizes::Exactly(bytes), ..FLOPPY }
            }
        }
    }
}

impl Rules {
    /// What a size is a multiple of.
    pub(in crate::plan) fn size_unit_bytes(&self) -> u64 {
        match self.sizes {
            Sizes::UpTo { unit_bytes, .. } => unit_bytes,
            Sizes::Any | Sizes::Exactly(_) => 1,
        }
    }

    /// What to say of a tree that takes so many bytes, if that is too much.
    pub(in crate::plan) fn over_limit(&self, image_bytes: u64) -> Option<Refusal> {
        match self.sizes {
            Sizes::UpTo { most_bytes: most, why, remedy, .. } if image_bytes > most => {
                Some(Refusal::TreeOverLimit { most, why, remedy })
            }
            _ => None,
        }
    }

    pub(super) fn usual_table(&self) -> Option<Scheme> {
        self.tables.first().copied().flatten()
    }
}
