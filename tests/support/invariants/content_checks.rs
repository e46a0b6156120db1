//! I39: what is in the clusters, compared with zero where nothing belongs and with the source
//! elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::tree_checks::FAT_EPOCH;
use super::{Breaches, Directory, Entry, Expect, Stamp, Volume, VolumeBytes};

/// Of the free space only this much at its start and at its end is read.
pub const ZERO_SCAN_LIMIT_BYTES: u64 = 64 << 20;

/// 2107-12-31 23:59:58, the last stamp that FAT knows, in seconds since 1970.
const LAST_STAMP: u64 = 4_354_819_198;

pub fn check(
    bytes: &VolumeBytes,
    volume: &Volume,
    expect: &Expect,
    breaches: &mut Breaches,
) -> io::Result<()> {
    for entry in volume.entries.iter().filter(|entry| !entry.is_directory()) {
        check_slack(bytes, volume, entry, breaches)?;
    }
    check_free_space(bytes, volume, breaches)?;
    match &expect.source {
        Some(source) => check_source(bytes, volume, source, expect, breaches),
        None => Ok(()),
    }
}

fn check_slack(
    bytes: &VolumeBytes,
    volume: &Volume,
    entry: &Entry,
    breaches: &mut Breaches,
) -> io::Result<()> {
    let cluster_bytes = volume.geometry.cluster_bytes;
    let used = u64::from(entry.size) % cluster_bytes;
    // With another number of clusters, a breach of I28, it is not known where the file ends.
    let is_whole = entry.clusters() == u64::from(entry.size).div_ceil(cluster_bytes);
    let Some(run) = entry.runs.last().filter(|_| is_whole && used > 0) else {
        return Ok(());
    };
    let last = volume.geometry.cluster_position(run.first + run.count - 1);
    if let Some(position) = bytes.first_nonzero(last + used, last + cluster_bytes)? {
        breaches.add(39, || {
            format!(
                "{}: byte {position} of the volume, behind its end, is not zero",
                volume.path(entry)
            )
        });
    }
    Ok(())
}

fn check_free_space(
    bytes: &VolumeBytes,
    volume: &Volume,
    breaches: &mut Breaches,
) -> io::Result<()> {
    let geometry = &volume.geometry;
    // Sectors too few to be a cluster come last; like free clusters they belong to nobody.
    let volume_end = geometry.total_sectors * geometry.bytes_per_sector;
    let mut ranges = vec![(geometry.cluster_position(geometry.last_cluster() + 1), volume_end)];
    // From the last to the first, joined: the free clusters of a sound image are one range.
    for cluster in (2..=geometry.last_cluster()).rev().filter(|&cluster| volume.next(cluster) == 0)
    {
        let position = geometry.cluster_position(cluster);
        match ranges.last_mut() {
            Some((start, _)) if *start == position + geometry.cluster_bytes => *start = position,
            _ => ranges.push((position, position + geometry.cluster_bytes)),
        }
    }
    let mut left = ZERO_SCAN_LIMIT_BYTES;
    for &(start, end) in &ranges {
        let read = left.min(end - start);
        check_zero(bytes, end - read, end, breaches)?;
        left -= read;
    }
    let mut left = ZERO_SCAN_LIMIT_BYTES;
    for &(start, end) in ranges.iter().rev() {
        let read = left.min(end - start);
        check_zero(bytes, start, start + read, breaches)?;
        left -= read;
    }
    Ok(())
}

fn check_zero(
    bytes: &VolumeBytes,
    start: u64,
    end: u64,
    breaches: &mut Breaches,
) -> io::Result<()> {
    if let Some(position) = bytes.first_nonzero(start, end)? {
        breaches.add(39, || format!("byte {position} of the volume is in no chain, but not zero"));
    }
    Ok(())
}

/// Names, kinds, sizes, contents and, if asked for, stamps of the whole tree.
fn check_source(
    bytes: &VolumeBytes,
    volume: &Volume,
    source: &Path,
    expect: &Expect,
    breaches: &mut Breaches,
) -> io::Result<()> {
    let directories = volume.directories_by_entry();
    let mut unseen: Vec<(PathBuf, &Directory)> = Vec::new();
    unseen.extend(volume.directories.first().map(|root| (source.to_owned(), root)));
    while let Some((host_path, directory)) = unseen.pop() {
        let stored = stored_names(volume, directory);
        let mut host_names = BTreeSet::new();
        for host in fs::read_dir(&host_path)? {
            let host = host?;
            // A name that is not UTF-8 cannot be in the image, so its replacement character will
            // not be found there.
            let name = host.file_name().to_string_lossy().into_owned();
            let metadata = host.metadata()?;
            let Some(&index) = stored.get(&name) else {
                breaches.add(39, || format!("{} is not in the image", host.path().display()));
                continue;
            };
            host_names.insert(name);
            let entry = &volume.entries[index];
            if metadata.is_dir() != entry.is_directory() {
                breaches.add(39, || format!("{}: file and directory confused", volume.path(entry)));
                continue;
            }
            if expect.times {
                check_source_stamps(volume, entry, &metadata, expect, breaches)?;
            }
            if !metadata.is_dir() {
                check_contents(bytes, volume, entry, &host.path(), breaches)?;
            } else if let Some(below) = directories.get(&index) {
                unseen.push((host.path(), below));
            }
        }
        for (_, &index) in stored.iter().filter(|(name, _)| !host_names.contains(*name)) {
            breaches.add(39, || {
                format!("{} is not in the source", volume.path(&volume.entries[index]))
            });
        }
    }
    Ok(())
}

fn stored_names(volume: &Volume, directory: &Directory) -> BTreeMap<String, usize> {
    directory.entries.clone().map(|index| (volume.entries[index].name(), index)).collect()
}

fn check_source_stamps(
    volume: &Volume,
    entry: &Entry,
    metadata: &Metadata,
    expect: &Expect,
    breaches: &mut Breaches,
) -> io::Result<()> {
    let modified =
        metadata.modified()?.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let clamped =
        modified.min(expect.epoch_ceiling.unwrap_or(u64::MAX)).clamp(FAT_EPOCH, LAST_STAMP);
    let even = clamped - clamped % 2;
    let written = entry.written.seconds();
    breaches.require(39, written == Some(even), || {
        format!("{}: written at {written:?}, the source at {even}", volume.path(entry))
    });
    let accessed = Stamp { date: entry.accessed_date, time: entry.written.time };
    breaches.require(39, entry.created == entry.written && accessed == entry.written, || {
        format!("{}: created, accessed and written differ", volume.path(entry))
    });
    Ok(())
}

fn check_contents(
    bytes: &VolumeBytes,
    volume: &Volume,
    entry: &Entry,
    host: &Path,
    breaches: &mut Breaches,
) -> io::Result<()> {
    let mut file = File::open(host)?;
    let host_bytes = file.metadata()?.len();
    if host_bytes != u64::from(entry.size) {
        breaches
            .add(39, || format!("{}: {} bytes, not {host_bytes}", volume.path(entry), entry.size));
        return Ok(());
    }
    let mut unread = host_bytes;
    let mut expected = Vec::new();
    let mut is_equal = true;
    for run in &entry.runs {
        let start = volume.geometry.cluster_position(run.first);
        let run_bytes = unread.min(u64::from(run.count) * volume.geometry.cluster_bytes);
        bytes.pieces(start, start + run_bytes, |_, piece| {
            expected.resize(piece.len(), 0);
            file.read_exact(&mut expected)?;
            is_equal &= piece == expected;
            Ok(is_equal)
        })?;
        unread -= run_bytes;
    }
    breaches
        .require(39, is_equal && unread == 0, || format!("{}: other contents", volume.path(entry)));
    Ok(())
}
