//! `fsck.fat` as a judge that is taken at every word: what it says of a sound volume follows from
//! the boot sector and the tree to the last line.

use std::path::Path;

use super::Tool;
use super::invariants::{self, FatType, Volume};

/// `fsck.fat -n -v` accepts `image` and has nothing to say beyond what it says of every sound
/// volume. Its exit status alone is not enough: it is 0 for a wrong checksum of a long name.
pub fn assert_accepts(fsck: &Tool, image: &Path) {
    let ran = fsck.command().args(["-n", "-v"]).arg(image).output().unwrap();
    let told = String::from_utf8(ran.stdout).unwrap();
    let (version, told) = told.split_once('\n').unwrap();
    assert!(version.starts_with("fsck.fat "), "{version}");
    let volume = invariants::read(image, 0).unwrap();
    assert_eq!(told, report(image, &volume), "{}", image.display());
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "", "{}", image.display());
    assert_eq!(ran.status.code(), Some(0), "{}", image.display());
}

/// What dosfstools 4.2 says of a sound volume, but for its own version.
fn report(image: &Path, volume: &Volume) -> String {
    let geometry = &volume.geometry;
    let boot = &volume.boot;
    let sector_bytes = geometry.bytes_per_sector;
    let fat_bytes = geometry.fat_sectors * sector_bytes;
    let data_bytes = u64::from(geometry.cluster_count) * geometry.cluster_bytes;
    let oem_name = String::from_utf8_lossy(&boot.bytes[3..11]).into_owned();
    let media = match boot.media {
        0xF0 => "5.25\" or 3.5\" HD floppy",
        0xF8 => "hard disk",
        0xF9 => "3,5\" 720k floppy 2s/80tr/9sec or 5.25\" 1.2M floppy 2s/80tr/15sec",
        0xFD => "5.25\" 360k floppy 2s/40tr/9sec",
        media => panic!("no word of fsck.fat for media {media:#04x} is known"),
    };
    let mut lines = vec![
        "Checking we can access the last sector of the filesystem".to_owned(),
        "Boot sector contents:".to_owned(),
        format!("System ID \"{oem_name}\""),
        format!("Media byte {:#04x} ({media})", boot.media),
        format!("{sector_bytes:>10} bytes per logical sector"),
        format!("{:>10} bytes per cluster", geometry.cluster_bytes),
        format!(
            "{:>10} reserved sector{}",
            geometry.reserved_sectors,
            if geometry.reserved_sectors == 1 { "" } else { "s" }
        ),
        format!(
            "First FAT starts at byte {} (sector {})",
            geometry.fat_position(0),
            geometry.reserved_sectors
        ),
        format!("{:>10} FATs, {} bit entries", geometry.fats, geometry.fat_type.bits()),
        format!("{fat_bytes:>10} bytes per FAT (= {} sectors)", geometry.fat_sectors),
    ];
    if geometry.fat_type == FatType::Fat32 {
        lines.push("Root directory start at cluster 2 (arbitrary size)".to_owned());
    } else {
        let root = geometry.root_directory_position();
        lines
            .push(format!("Root directory starts at byte {root} (sector {})", root / sector_bytes));
        lines.push(format!("{:>10} root directory entries", boot.root_entries));
    }
    lines.extend([
        format!(
            "Data area starts at byte {} (sector {})",
            geometry.cluster_position(2),
            geometry.first_data_sector
        ),
        format!("{:>10} data clusters ({data_bytes} bytes)", geometry.cluster_count),
        format!("{} sectors/track, {} heads", boot.sectors_per_track, boot.heads),
        format!("{:>10} hidden sectors", boot.hidden_sectors),
        format!("{:>10} sectors total", geometry.total_sectors),
        "Checking for unused clusters.".to_owned(),
    ]);
    if geometry.fat_type == FatType::Fat32 {
        lines.push("Checking free cluster summary.".to_owned());
    }
    let labels: usize = volume.directories.iter().map(|directory| directory.labels.len()).sum();
    let used = volume.owned.iter().filter(|owned| **owned).count();
    lines.push(format!(
        "{}: {} files, {used}/{} clusters\n",
        image.display(),
        volume.entries.len() + labels,
        geometry.cluster_count
    ));
    lines.join("\n")
}
