//! The disk around a volume: partition tables as bytes, to be written and to be read. Pure; knows no
//! FAT, no files and no options.
//!
//! | Room | Is |
//! |---|---|
//! | [`guid`] | sixteen bytes that name a thing |
//! | [`mbr`] | the table in the first sector, its protective form too |
//! | [`gpt`] | the table with names, digests and a backup |
//! | [`found`] | the partitions of a disk that is there already |
#![deny(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::indexing_slicing)]

pub mod found;
pub mod gpt;
pub mod guid;
pub mod mbr;

pub use guid::Guid;

/// Bytes of boot code before the disk's signature in the first sector (fat-facts 9).
pub const MBR_CODE_BYTES: usize = 440;

/// Which kind of table a disk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Four entries in the first sector.
    Mbr,
    /// The table of UEFI, with a backup at the disk's end.
    Gpt,
}

impl Scheme {
    /// A name for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::Mbr => "mbr",
            Self::Gpt => "gpt",
        }
    }

    /// Sectors that the table takes at the disk's beginning, at least.
    pub fn head_sectors(self, sector_bytes: u32) -> u64 {
        match self {
            Self::Mbr => 1,
            Self::Gpt => 2 + gpt::entries_sectors(sector_bytes),
        }
    }

    /// Sectors that its backup takes at the disk's end.
    pub fn tail_sectors(self, sector_bytes: u32) -> u64 {
        match self {
            Self::Mbr => 0,
            Self::Gpt => 1 + gpt::entries_sectors(sector_bytes),
        }
    }
}

/// A disk with one partition, decided to the last byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Bytes of a sector: what all numbers of sectors here count.
    pub sector_bytes: u32,
    /// Sectors of the disk.
    pub total_sectors: u64,
    /// First sector of the partition.
    pub first_sector: u64,
    /// Sectors of the partition.
    pub sectors: u64,
    /// Code that a BIOS starts, at most [`MBR_CODE_BYTES`].
    pub code: Vec<u8>,
    /// Whether a BIOS may start the partition: the active flag of MBR, an attribute of GPT.
    pub bios_bootable: bool,
    /// The table.
    pub table: Table,
}

/// What the two kinds of tables say beyond where the partition lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Table {
    /// MBR.
    Mbr {
        /// The disk's signature.
        signature: u32,
        /// The partition's type.
        partition_type: u8,
    },
    /// GPT.
    Gpt {
        /// The disk's name.
        disk: Guid,
        /// The partition's own name.
        partition: Guid,
        /// The partition's type.
        partition_type: Guid,
        /// What people call the partition, at most [`gpt::LABEL_UNITS`] UTF-16 units.
        label: String,
    },
}

impl Disk {
    /// Which kind of table it has.
    pub fn scheme(&self) -> Scheme {
        match self.table {
            Table::Mbr { .. } => Scheme::Mbr,
            Table::Gpt { .. } => Scheme::Gpt,
        }
    }

    /// Bytes of the disk.
    pub fn bytes(&self) -> u64 {
        self.total_sectors * u64::from(self.sector_bytes)
    }

    /// Byte at which the partition begins.
    pub fn partition_at_byte(&self) -> u64 {
        self.first_sector * u64::from(self.sector_bytes)
    }

    /// Bytes of the partition.
    pub fn partition_bytes(&self) -> u64 {
        self.sectors * u64::from(self.sector_bytes)
    }

    /// The disk's first bytes, up to the last of the table.
    pub fn head(&self) -> Vec<u8> {
        match &self.table {
            Table::Mbr { signature, partition_type } => {
                let entry = mbr::Entry {
                    active: self.bios_bootable,
                    partition_type: *partition_type,
                    first_sector: self.first_sector,
                    sectors: self.sectors,
                };
                mbr::encode(&self.code, *signature, &entry).to_vec()
            }
            Table::Gpt { .. } => {
                let mut head = mbr::encode_protective(&self.code, self.total_sectors).to_vec();
                head.extend(gpt::encode_head(self));
                head
            }
        }
    }

    /// The disk's last bytes, from the first of the backup on; none with MBR.
    pub fn tail(&self) -> Vec<u8> {
        match &self.table {
            Table::Mbr { .. } => Vec::new(),
            Table::Gpt { .. } => gpt::encode_tail(self),
        }
    }
}
