//! The disk around the volume: how much of it there is, where the volume begins, and what the table
//! says. Knows nothing of clusters.

use super::Plan;
use super::identity;
use super::misfit::Misfit;
use super::request::{DiskIdWish, DiskWish, Format, TableWish, TypeWish};
use crate::disk::{Disk, Guid, MBR_CODE_BYTES, Scheme, Table, mbr};
use crate::fat::boot::NOT_BOOTABLE;
use crate::fat::kind::FatKind;
use crate::units::align_up;

/// Where partitions begin on disks that everybody makes: erase blocks of flash and stripes of arrays
/// divide it.
const USUAL_START_BYTES: u64 = 1 << 20;

/// Partitions of a GPT end on such a boundary, in bytes: a disk's own blocks.
const END_BYTES: u64 = 4096;

/// Sectors around the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Surroundings {
    /// Sectors between the beginning of the disk and the volume: what boundaries are counted from.
    pub(super) start: u64,
    /// Sectors of the image before the volume.
    pub(super) before: u64,
    /// Sectors of the image behind the volume, at least.
    pub(super) after: u64,
    /// The volume's sectors are a multiple of this, and so are the image's where they are ours.
    pub(super) step: u64,
}

impl Surroundings {
    /// As wanted.
    pub(super) fn of(disk: &DiskWish, format: &Format) -> Result<Self, Misfit> {
        let sector_bytes = u64::from(format.sector_bytes);
        match disk {
            DiskWish::None | DiskWish::Bare => Ok(Self { step: 1, ..Self::default() }),
            DiskWish::Within { start_bytes } => {
                check_hidden_sectors(format)?;
                let start = start_sectors(*start_bytes, sector_bytes)?;
                Ok(Self { start, step: 1, ..Self::default() })
            }
            DiskWish::Table(table) => {
                check_hidden_sectors(format)?;
                check_table(table)?;
                let scheme = table.scheme;
                let start_bytes = table.start_bytes.unwrap_or(USUAL_START_BYTES);
                let start = start_sectors(start_bytes, sector_bytes)?;
                let head = scheme.head_sectors(format.sector_bytes.into());
                if start < head {
                    let least = head * sector_bytes;
                    return Err(Misfit::StartInTable { start_bytes, least });
                }
                let after = scheme.tail_sectors(format.sector_bytes.into());
                let step = match scheme {
                    Scheme::Mbr => 1,
                    Scheme::Gpt => END_BYTES.div_ceil(sector_bytes),
                };
                Ok(Self { start, before: start, after, step })
            }
        }
    }

    /// Sectors of the largest volume in an image of `image_sectors`; 0 where there is room for none.
    pub(super) fn volume_sectors(&self, image_sectors: u64) -> u64 {
        let room = image_sectors.saturating_sub(self.before).saturating_sub(self.after);
        room - room % self.step
    }

    /// Sectors of the smallest image around a volume.
    pub(super) fn image_sectors(&self, volume_sectors: u64) -> u64 {
        let least = volume_sectors.saturating_add(self.before).saturating_add(self.after);
        align_up(least, self.step).unwrap_or(u64::MAX)
    }
}

/// The sector that begins there. Both the field in the boot sector and the entry of an MBR have 32
/// bits for it.
fn start_sectors(start_bytes: u64, sector_bytes: u64) -> Result<u64, Misfit> {
    if !start_bytes.is_multiple_of(sector_bytes) {
        return Err(Misfit::StartNotWholeSectors { start_bytes, sector_bytes });
    }
    let most = u64::from(u32::MAX) * sector_bytes;
    if start_bytes > most {
        return Err(Misfit::StartOverLimit { start_bytes, most });
    }
    Ok(start_bytes / sector_bytes)
}

fn check_hidden_sectors(format: &Format) -> Result<(), Misfit> {
    match format.hidden_sectors {
        Some(_) => Err(Misfit::HiddenSectorsOfPartition),
        None => Ok(()),
    }
}

/// That what is asked of the table is of its kind.
fn check_table(table: &TableWish) -> Result<(), Misfit> {
    let of_other = |flag, remedy| Err(Misfit::NotOfTable { flag, scheme: table.scheme, remedy });
    match (table.scheme, table.partition_type, table.disk_id) {
        (Scheme::Mbr, TypeWish::Guid(_), _) => {
            of_other("--partition-type", "use esp, fat or a byte such as 0C")
        }
        (Scheme::Gpt, TypeWish::Byte(_), _) => {
            of_other("--partition-type", "use esp, fat or a GUID")
        }
        (Scheme::Mbr, _, Some(DiskIdWish::Guid(_))) => {
            of_other("--disk-id", "use eight hexadecimal digits")
        }
        (Scheme::Gpt, _, Some(DiskIdWish::Signature(_))) => of_other("--disk-id", "use a GUID"),
        (Scheme::Mbr, ..) if table.label.is_some() => {
            of_other("--partition-label", "leave it out, or use --partition-table gpt")
        }
        _ => Ok(()),
    }
}

/// The disk around a volume that is decided, its serial number too; `digest` is that of the plan.
pub(super) fn disk(wish: &TableWish, plan: &Plan, digest: [u8; 32], image_sectors: u64) -> Disk {
    let geometry = plan.geometry();
    let derived = identity::disk(digest, plan.facts().volume_id);
    let [first, second] = [0, 16].map(|from| {
        let mut half = [0; 16];
        for (to, byte) in half.iter_mut().zip(derived.iter().skip(from)) {
            *to = *byte;
        }
        half
    });
    let table = match wish.scheme {
        Scheme::Mbr => Table::Mbr {
            signature: match wish.disk_id {
                Some(DiskIdWish::Signature(signature)) => signature,
                Some(DiskIdWish::Drawn(bytes)) => signature(bytes),
                _ => signature(first),
            },
            partition_type: match wish.partition_type {
                TypeWish::Byte(byte) => byte,
                TypeWish::Esp => mbr::ESP,
                _ if geometry.kind() == FatKind::Fat32 => mbr::FAT32_LBA,
                _ => mbr::FAT16_LBA,
            },
        },
        Scheme::Gpt => Table::Gpt {
            disk: match wish.disk_id {
                Some(DiskIdWish::Guid(guid)) => guid,
                Some(DiskIdWish::Drawn(bytes)) => Guid::from_digest(bytes),
                _ => Guid::from_digest(first),
            },
            partition: Guid::from_digest(second),
            partition_type: match wish.partition_type {
                TypeWish::Guid(guid) => guid,
                TypeWish::Esp => Guid::ESP,
                _ => Guid::BASIC_DATA,
            },
            label: wish.label.clone().unwrap_or_else(|| {
                plan.facts().label.map(|label| label.to_string()).unwrap_or_default()
            }),
        },
    };
    let given = wish.mbr_code.as_deref();
    let code = given.unwrap_or(&NOT_BOOTABLE).iter().take(MBR_CODE_BYTES).copied().collect();
    Disk {
        sector_bytes: geometry.sector_bytes(),
        total_sectors: image_sectors,
        first_sector: plan.facts().hidden_sectors.into(),
        sectors: geometry.shape().total_sectors.into(),
        code,
        bios_bootable: given.is_some() || plan.facts().boot_code.is_some(),
        table,
    }
}

/// A disk's signature; 0 would be none.
fn signature(bytes: [u8; 16]) -> u32 {
    let [a, b, c, d, ..] = bytes;
    u32::from_le_bytes([a, b, c, d]).max(1)
}
