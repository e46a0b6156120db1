//! I30: the promised order of chains on the disk.

use super::{Breaches, Entry, Expect, Run, Volume};

pub fn check(volume: &Volume, expect: &Expect, breaches: &mut Breaches) {
    check_chains(volume, breaches);
    check_free_clusters(volume, breaches);
    // Only names that are known to be the source's own tell the order of the source.
    if expect.source.is_some() {
        check_siblings(volume, breaches);
    }
}

/// Directories depth first from the root, then files directory by directory: the order in which the
/// tree was read. Siblings come in the order of their slots, since a stored name may be another
/// than the one that was sorted.
fn check_chains(volume: &Volume, breaches: &mut Breaches) {
    let files = volume.entries.iter().filter(|entry| !entry.is_directory());
    let directories = volume.directories.iter().map(|directory| &directory.runs);
    let mut expected = 2;
    for (index, runs) in directories.chain(files.clone().map(|file| &file.runs)).enumerate() {
        let path = || match volume.directories.get(index) {
            Some(directory) => volume.directory_path(directory),
            None => files
                .clone()
                .nth(index - volume.directories.len())
                .map_or(String::new(), |file| volume.path(file)),
        };
        let Some(&Run { first, count }) = runs.first() else {
            continue;
        };
        breaches.require(30, first == expected, || {
            format!("{} starts at cluster {first}, not {expected}", path())
        });
        breaches.require(30, runs.len() == 1, || format!("{} is in {} pieces", path(), runs.len()));
        expected = first + count;
    }
}

fn check_free_clusters(volume: &Volume, breaches: &mut Breaches) {
    let Some(first_free) = volume.free_clusters().next() else {
        return;
    };
    let used_behind =
        (first_free..=volume.geometry.last_cluster()).find(|&cluster| volume.next(cluster) != 0);
    if let Some(used) = used_behind {
        breaches.add(30, || {
            format!("cluster {first_free} is free, but cluster {used} behind it is not")
        });
    }
}

fn check_siblings(volume: &Volume, breaches: &mut Breaches) {
    for directory in &volume.directories {
        let entries = &volume.entries[directory.entries.clone()];
        let (directories, files): (Vec<&Entry>, Vec<&Entry>) =
            entries.iter().partition(|entry| entry.is_directory());
        for siblings in [directories, files] {
            for pair in siblings.windows(2) {
                breaches.require(30, pair[0].name() < pair[1].name(), || {
                    format!("{} comes after {}", volume.path(pair[1]), pair[0].name())
                });
            }
        }
    }
}
