//! I1..I22 and I40: the reserved sectors and what they say about the volume.

use std::io;

use super::volume_bytes::{array_at, u16_at, u32_at};
use super::{BootSector, Breaches, Expect, FatType, Geometry, Volume, VolumeBytes};

const SIGNATURE: [u8; 2] = [0x55, 0xAA];
const KIB: u64 = 1024;

/// Classic floppies: total sectors, sectors per cluster, sectors per FAT.
const FLOPPIES: [(u64, u64, u64); 5] =
    [(720, 2, 2), (1440, 2, 3), (2400, 1, 7), (2880, 1, 9), (5760, 2, 9)];

/// What can be judged before the type is known. [`Geometry::of`] judges what no geometry can do
/// without.
pub fn check_untyped_fields(boot: &BootSector, expect: &Expect, breaches: &mut Breaches) {
    breaches.require(2, boot.bytes[510..] == SIGNATURE, || {
        "bytes 510 and 511 are not 55 AA".to_owned()
    });
    let fats_wanted = expect.fats.is_none_or(|fats| fats == boot.fats);
    breaches
        .require(7, matches!(boot.fats, 1 | 2) && fats_wanted, || format!("{} FATs", boot.fats));
    let legal_media = matches!(boot.media, 0xF0 | 0xF8 | 0xF9 | 0xFB..=0xFF);
    breaches.require(10, legal_media, || format!("media {:#04x}", boot.media));
    let (heads, sectors) = (boot.heads, boot.sectors_per_track);
    breaches.require(14, (1..=63).contains(&sectors), || format!("{sectors} sectors per track"));
    breaches.require(14, (1..=255).contains(&heads), || format!("{heads} heads"));
    if let Some(hidden) = expect.hidden_sectors {
        let found = boot.hidden_sectors;
        breaches.require(15, found == hidden, || format!("{found} hidden sectors, not {hidden}"));
    }
    // EDK2 takes a boot sector for an MBR when there seems to be a partition in it.
    let no_table = boot.bytes[446..510].iter().all(|&byte| byte == 0);
    breaches.require(40, no_table || expect.stray_boot_code, || {
        "bytes in the boot sector where an MBR has its partitions".to_owned()
    });
}

/// The fields that depend on the type, and the figures that follow from them.
pub fn check_geometry(
    bytes: &VolumeBytes,
    boot: &BootSector,
    geometry: &Geometry,
    expect: &Expect,
    breaches: &mut Breaches,
) {
    let is_fat32 = geometry.fat_type == FatType::Fat32;
    let volume_bytes = geometry.total_sectors * geometry.bytes_per_sector;
    breaches.require(1, volume_bytes <= bytes.length(), || {
        format!("a volume of {volume_bytes} bytes in {} bytes of file", bytes.length())
    });
    let jump: [u8; 3] = if is_fat32 { [0xEB, 0x58, 0x90] } else { [0xEB, 0x3C, 0x90] };
    breaches.require(3, boot.bytes[..3] == jump || expect.stray_boot_code, || {
        format!("jump {:02X?}", &boot.bytes[..3])
    });
    let most_cluster_bytes = if expect.cluster_64k { 64 * KIB } else { 32 * KIB };
    breaches.require(5, geometry.cluster_bytes <= most_cluster_bytes, || {
        format!("clusters of {} bytes", geometry.cluster_bytes)
    });
    breaches.require(6, !is_fat32 || geometry.reserved_sectors >= 9, || {
        format!("{} reserved sectors", geometry.reserved_sectors)
    });
    let root_entries = u64::from(boot.root_entries);
    let fills_sectors =
        root_entries > 0 && root_entries.is_multiple_of(geometry.bytes_per_sector / 32);
    let legal_root = if is_fat32 { root_entries == 0 } else { fills_sectors };
    breaches.require(8, legal_root, || format!("{root_entries} root entries"));
    let in_16_bits = !is_fat32 && geometry.total_sectors < 65536;
    let one_total =
        (boot.total_sectors_16 != 0) == in_16_bits && (boot.total_sectors_32 == 0) == in_16_bits;
    breaches.require(9, one_total, || {
        format!("{} sectors in 16 bits, {} in 32", boot.total_sectors_16, boot.total_sectors_32)
    });
    breaches.require(11, (boot.fat_sectors_16 == 0) == is_fat32, || {
        format!("the 16-bit length of the FAT is {}", boot.fat_sectors_16)
    });
    check_type(boot, geometry, expect, breaches);
    check_fat_length(geometry, expect, breaches);
    check_extended_fields(boot, geometry, expect, breaches);
    if is_fat32 {
        check_fat32_fields(boot, breaches);
    }
    if let Some(alignment) = expect.align_bytes.filter(|&alignment| alignment > 0) {
        let position = bytes.start() + geometry.cluster_position(2);
        breaches.require(40, position.is_multiple_of(alignment), || {
            format!("cluster 2 at byte {position}, no multiple of {alignment}")
        });
    }
}

fn check_type(boot: &BootSector, geometry: &Geometry, expect: &Expect, breaches: &mut Breaches) {
    let count = geometry.cluster_count;
    let is_fat32 = geometry.fat_type == FatType::Fat32;
    breaches.require(12, (boot.fat_sectors_16 == 0) == is_fat32, || {
        format!("{count} clusters, but the 16-bit length of the FAT is {}", boot.fat_sectors_16)
    });
    breaches.require(12, (boot.root_entries == 0) == is_fat32, || {
        format!("{count} clusters, but {} root entries", boot.root_entries)
    });
    let name = array_at::<8>(&boot.bytes, geometry.extended_at() + 18);
    let (right_name, window) = match geometry.fat_type {
        FatType::Fat12 => (b"FAT12   ", 1..=4068),
        FatType::Fat16 => (b"FAT16   ", 4101..=65508),
        FatType::Fat32 => (b"FAT32   ", 65541..=0x0FFF_FFF5),
    };
    breaches.require(12, name == *right_name, || {
        format!("{count} clusters, but type {}", name.escape_ascii())
    });
    // A margin may be given up, but a FAT32 with more clusters has no numbers for them.
    let has_numbers = count <= 0x0FFF_FFF5;
    let in_window = expect.windowless || window.contains(&count);
    breaches.require(12, has_numbers && in_window, || {
        format!("{count} clusters are too near to another type")
    });
}

fn check_fat_length(geometry: &Geometry, expect: &Expect, breaches: &mut Breaches) {
    let found = geometry.fat_sectors;
    let capacity = found * geometry.bytes_per_sector;
    breaches.require(13, geometry.fat_bytes_needed() <= capacity, || {
        format!("{found} sectors per FAT are too few for {} clusters", geometry.cluster_count)
    });
    if expect.explicit_reserved {
        return;
    }
    // Reserved sectors grow for alignment after the table is measured; the table must not have
    // grown with them.
    let reserved_sectors = if geometry.fat_type == FatType::Fat32 { 32 } else { 1 };
    let floppy = FLOPPIES.iter().find(|(total, per_cluster, _)| {
        let same_sectors = geometry.bytes_per_sector == 512 && geometry.total_sectors == *total;
        same_sectors && geometry.sectors_per_cluster == *per_cluster
    });
    let classic = floppy.map_or(0, |(_, _, sectors)| *sectors);
    let most = geometry.shortest_fat(reserved_sectors).max(classic);
    breaches.require(13, found <= most, || format!("{found} sectors per FAT where {most} suffice"));
}

fn check_extended_fields(
    boot: &BootSector,
    geometry: &Geometry,
    expect: &Expect,
    breaches: &mut Breaches,
) {
    let at = geometry.extended_at();
    let (drive, reserved, signature) = (boot.bytes[at], boot.bytes[at + 1], boot.bytes[at + 2]);
    let right_drive = if boot.media == 0xF8 { 0x80 } else { 0 };
    breaches.require(16, drive == right_drive, || {
        format!("drive {drive:#04x} with media {:#04x}", boot.media)
    });
    breaches.require(16, reserved == 0, || format!("BS_Reserved1 is {reserved:#04x}"));
    breaches.require(16, signature == 0x29, || format!("BS_BootSig is {signature:#04x}"));
    if let Some(wanted) = expect.volume_id {
        let found = u32_at(&boot.bytes, at + 3);
        breaches
            .require(17, found == wanted, || format!("volume id {found:08X}, not {wanted:08X}"));
    }
}

fn check_fat32_fields(boot: &BootSector, breaches: &mut Breaches) {
    let fields = [
        ("BPB_ExtFlags", u32::from(u16_at(&boot.bytes, 40)), 0),
        ("BPB_FSVer", u32::from(u16_at(&boot.bytes, 42)), 0),
        ("BPB_RootClus", boot.root_cluster, 2),
        ("BPB_FSInfo", u32::from(u16_at(&boot.bytes, 48)), 1),
        ("BPB_BkBootSec", u32::from(u16_at(&boot.bytes, 50)), 6),
    ];
    for (name, found, wanted) in fields {
        breaches.require(19, found == wanted, || format!("{name} is {found}, not {wanted}"));
    }
    let is_zero = boot.bytes[52..64].iter().all(|&byte| byte == 0);
    breaches.require(19, is_zero, || "BPB_Reserved is not zero".to_owned());
}

/// I20..I22.
pub fn check_reserved_sectors(
    bytes: &VolumeBytes,
    volume: &Volume,
    breaches: &mut Breaches,
) -> io::Result<()> {
    let sector_bytes = volume.geometry.bytes_per_sector;
    let sector = |number: u64| bytes.read(number * sector_bytes, sector_bytes);

    let boot_sector = sector(0)?;
    let (rest, end) = boot_sector[512..].split_at(boot_sector[512..].len().saturating_sub(2));
    // Behind the first 512 bytes only the signature may come again, at the end of the sector.
    let rest_is_zero = rest.iter().all(|&byte| byte == 0);
    let end_is_right = end.iter().all(|&byte| byte == 0) || end == SIGNATURE;
    breaches.require(22, rest_is_zero && end_is_right, || {
        "the boot sector goes on behind byte 511".to_owned()
    });

    let mut unused = vec![(1, volume.geometry.reserved_sectors)];
    if volume.geometry.fat_type == FatType::Fat32 {
        check_fs_info(volume, &sector(1)?, breaches);
        let boot_end = sector(2)?;
        breaches.require(21, boot_end[510..512] == SIGNATURE, || {
            "sector 2 does not end in 55 AA".to_owned()
        });
        for number in 0..3 {
            breaches.require(21, sector(number)? == sector(number + 6)?, || {
                format!("sector {} is no copy of sector {number}", number + 6)
            });
        }
        unused = vec![(3, 6), (9, volume.geometry.reserved_sectors)];
    }
    for (start, end) in unused {
        let found = bytes.first_nonzero(start * sector_bytes, end * sector_bytes)?;
        if let Some(position) = found {
            breaches.add(22, || format!("reserved sector {} is not zero", position / sector_bytes));
        }
    }
    Ok(())
}

fn check_fs_info(volume: &Volume, sector: &[u8], breaches: &mut Breaches) {
    let signatures = [(0, b"RRaA"), (484, b"rrAa"), (508, b"\0\0\x55\xAA")];
    for (at, signature) in signatures {
        breaches.require(20, sector[at..at + 4] == *signature, || {
            format!("no signature at byte {at} of FSInfo")
        });
    }
    let mut reserved = [&sector[4..484], &sector[496..508], &sector[512..]].into_iter().flatten();
    breaches.require(20, reserved.all(|&byte| byte == 0), || {
        "reserved bytes of FSInfo are not zero".to_owned()
    });
    let free = volume.free_clusters().count() as u32;
    let free_found = u32_at(sector, 488);
    breaches.require(20, free_found == free, || {
        format!("{free_found} free clusters in FSInfo, {free} in the FAT")
    });
    let first = volume.free_clusters().next().unwrap_or(0xFFFF_FFFF);
    let first_found = u32_at(sector, 492);
    breaches.require(20, first_found == first, || {
        format!("first free cluster {first_found} in FSInfo, {first} in the FAT")
    });
}
