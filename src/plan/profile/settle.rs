//! A request as its profile completes it, as far as the tree has no say. What is asked for stays, or
//! is refused.

use super::Profile;
use super::refusal::Refusal;
use super::rules::{Rules, Sizes, Types};
use crate::disk::{Guid, Scheme, mbr};
use crate::fat::kind::FatKind;
use crate::plan::request::{DiskWish, Format, ImageSize, Request, TableWish, TypeWish};

/// What the profile has a say in.
#[derive(Debug, Clone)]
pub(in crate::plan) struct Settled {
    pub(in crate::plan) format: Format,
    pub(in crate::plan) disk: DiskWish,
    pub(in crate::plan) size: ImageSize,
}

impl Settled {
    /// The request as it is, or as its profile completes it.
    pub(in crate::plan) fn of(request: &Request) -> Result<Self, Refusal> {
        let asked =
            Self { format: request.format.clone(), disk: request.disk.clone(), size: request.size };
        match request.profile {
            None => Ok(asked),
            Some(profile) => profile.settle(asked),
        }
    }
}

impl Profile {
    fn settle(self, mut wish: Settled) -> Result<Settled, Refusal> {
        let rules = self.rules();
        if let (Some(why), true) = (rules.why_512, wish.format.sector_bytes != 512) {
            return refuse(
                why,
                match wish.size {
                    ImageSize::Place(_) => "take a device with such",
                    _ => "leave out --sector-size",
                },
            );
        }
        let kind = self.kind(&rules, &wish.format)?;
        wish.disk = disk(&rules, wish.disk, kind)?;
        if let Some(why) = rules.why_fixed {
            match self.changed_layout(&wish) {
                Some(flag) => return refuse(why, format!("leave out {flag}")),
                None => wish.format = open_layout(wish.format),
            }
        } else {
            wish.format.kind = kind;
        }
        if wish.format.cluster_bytes.is_some_and(|bytes| bytes > rules.most_cluster_bytes) {
            return refuse(rules.why_cluster, "use --cluster-size 32K or less");
        }
        wish.size = size(&rules, wish.size)?;
        Ok(wish)
    }

    fn kind(self, rules: &Rules, format: &Format) -> Result<Option<FatKind>, Refusal> {
        match (format.kind, rules.kind) {
            (Some(asked), _) if !rules.kinds.contains(&asked) => {
                refuse(rules.why_kind, "leave out --fat-type")
            }
            (Some(asked), _) => Ok(Some(asked)),
            (None, Some(FatKind::Fat32)) if format.root_entries.is_some() => {
                refuse(rules.why_kind, "leave out --root-entries, or add --fat-type 16")
            }
            (None, usual) => Ok(usual),
        }
    }

    /// The first flag that would make another layout than the fixed one.
    fn changed_layout(self, wish: &Settled) -> Option<&'static str> {
        let (format, usual) = (&wish.format, self.floppy());
        let start = matches!(&wish.disk, DiskWish::Table(table) if table.start_bytes.is_some());
        let differs = [
            (usual.is_none() && format.kind.is_some(), "--fat-type"),
            (
                format.cluster_bytes.is_some_and(|bytes| {
                    usual.is_none_or(|floppy| bytes != u32::from(floppy.sectors_per_cluster) * 512)
                }),
                "--cluster-size",
            ),
            (format.fat_count.is_some_and(|count| count != 2), "--fats"),
            (
                format.root_entries.is_some_and(|entries| {
                    usual.is_none_or(|floppy| entries != floppy.root_entries)
                }),
                "--root-entries",
            ),
            (
                format.reserved_sectors.is_some_and(|sectors| usual.is_none() || sectors != 1),
                "--reserved-sectors",
            ),
            (format.align_bytes.is_some(), "--align"),
            (
                format.media.is_some_and(|media| usual.is_some_and(|floppy| media != floppy.media)),
                "--media",
            ),
            (
                format.heads.is_some_and(|heads| usual.is_some_and(|floppy| heads != floppy.heads)),
                "--heads",
            ),
            (
                format.sectors_per_track.is_some_and(|sectors| {
                    usual.is_some_and(|floppy| sectors != floppy.sectors_per_track)
                }),
                "--sectors-per-track",
            ),
            (format.hidden_sectors.is_some_and(|sectors| sectors != 0), "--hidden-sectors"),
            (start, "--partition-start"),
        ];
        differs.into_iter().find_map(|(differs, flag)| differs.then_some(flag))
    }
}

/// Nothing asked of the layout, where what was asked is what it is anyway.
fn open_layout(format: Format) -> Format {
    Format {
        oem_name: format.oem_name,
        label: format.label,
        volume_id: format.volume_id,
        boot_code: format.boot_code,
        // A card's have no fixed value.
        media: format.media,
        heads: format.heads,
        sectors_per_track: format.sectors_per_track,
        ..Format::default()
    }
}

/// The disk around the volume.
fn disk(rules: &Rules, asked: DiskWish, kind: Option<FatKind>) -> Result<DiskWish, Refusal> {
    let mut table = match asked {
        DiskWish::None => match rules.usual_table() {
            Some(scheme) => TableWish::of(scheme),
            None => return Ok(DiskWish::None),
        },
        DiskWish::Bare if !rules.tables.contains(&None) => {
            return refuse(rules.why_table, "leave out --partition-table");
        }
        DiskWish::Within { .. } if !rules.tables.contains(&None) || rules.why_fixed.is_some() => {
            return refuse(rules.why_table, "leave out the place in the image");
        }
        DiskWish::Bare | DiskWish::Within { .. } => return Ok(asked),
        DiskWish::Table(table) if !rules.tables.contains(&Some(table.scheme)) => {
            return refuse(
                rules.why_table,
                match rules.usual_table() {
                    Some(_) => "use --partition-table mbr",
                    None => "leave out --partition-table",
                },
            );
        }
        DiskWish::Table(table) => table,
    };
    if rules.types == Types::Esp && table.partition_type == TypeWish::Fat {
        table.partition_type = TypeWish::Esp;
    }
    let suits = match (rules.types, table.partition_type) {
        (Types::Any, _) | (Types::OfFat, TypeWish::Fat) | (Types::Esp, TypeWish::Esp) => true,
        (Types::Esp, TypeWish::Byte(byte)) => table.scheme == Scheme::Gpt || byte == mbr::ESP,
        (Types::Esp, TypeWish::Guid(guid)) => table.scheme == Scheme::Mbr || guid == Guid::ESP,
        (Types::OfFat, TypeWish::Byte(mbr::FAT32_LBA)) => kind == Some(FatKind::Fat32),
        (Types::OfFat, TypeWish::Byte(mbr::FAT16_LBA)) => kind == Some(FatKind::Fat16),
        _ => false,
    };
    if !suits {
        return refuse(rules.why_type, "leave out --partition-type");
    }
    table.start_bytes = table.start_bytes.or(rules.start_bytes);
    Ok(DiskWish::Table(table))
}

fn size(rules: &Rules, asked: ImageSize) -> Result<ImageSize, Refusal> {
    let bytes = match asked {
        ImageSize::Auto => None,
        ImageSize::Bytes(bytes) | ImageSize::Place(bytes) => Some(bytes),
    };
    let placed = matches!(asked, ImageSize::Place(_));
    match (rules.sizes, bytes) {
        (Sizes::Any, _) | (Sizes::UpTo { .. }, None) => Ok(asked),
        (Sizes::Exactly(needed), None) => Ok(ImageSize::Bytes(needed)),
        (Sizes::Exactly(needed), Some(bytes)) if bytes != needed => {
            Err(Refusal::OtherSize { bytes, needed, placed })
        }
        (Sizes::Exactly(_), Some(_)) => Ok(asked),
        (Sizes::UpTo { most_bytes, why, .. }, Some(bytes)) if bytes > most_bytes => {
            Err(Refusal::SizeOverLimit { bytes, most: most_bytes, why, placed })
        }
        (Sizes::UpTo { unit_bytes, .. }, Some(bytes))
            if unit_bytes > 512 && !bytes.is_multiple_of(unit_bytes) =>
        {
            // A place does not grow.
            let less = bytes / unit_bytes * unit_bytes;
            let needed = if placed { less } else { bytes.next_multiple_of(unit_bytes) };
            Err(Refusal::NotWholeUnits { bytes, unit_bytes, needed, placed })
        }
        (Sizes::UpTo { .. }, Some(_)) => Ok(asked),
    }
}

fn refuse<T>(why: &'static str, remedy: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Option { why, remedy: remedy.into() })
}
