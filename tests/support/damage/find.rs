//! Finds in a sound image what is to be damaged.

use super::super::invariants::{Directory, Entry, Volume};

pub fn root(volume: &Volume) -> &Directory {
    &volume.directories[0]
}

pub fn find<'a>(volume: &'a Volume, what: &str, is_it: impl Fn(&Entry) -> bool) -> &'a Entry {
    let found = volume.entries.iter().find(|entry| is_it(entry));
    found.unwrap_or_else(|| panic!("the image to damage lacks {what}"))
}

pub fn long_file(volume: &Volume) -> &Entry {
    find(volume, "a file of three clusters and slack in the root", |entry| {
        let has_slack = !u64::from(entry.size).is_multiple_of(volume.geometry.cluster_bytes);
        !entry.is_directory() && entry.directory == 0 && entry.clusters() >= 3 && has_slack
    })
}

pub fn other_file(volume: &Volume) -> &Entry {
    let long_file = long_file(volume);
    find(volume, "another file with clusters in the root", |entry| {
        !entry.is_directory()
            && entry.directory == 0
            && entry.clusters() > 0
            && entry.slot != long_file.slot
    })
}

pub fn empty_file(volume: &Volume) -> &Entry {
    find(volume, "an empty file without a long name in the root", |entry| {
        !entry.is_directory() && entry.directory == 0 && entry.size == 0 && entry.long.is_none()
    })
}

pub fn short_neighbour(volume: &Volume) -> &Entry {
    let empty_file = empty_file(volume);
    find(volume, "a second entry without a long name in the root", |entry| {
        entry.directory == 0 && entry.long.is_none() && entry.slot != empty_file.slot
    })
}

pub fn deep_file(volume: &Volume) -> &Entry {
    find(volume, "a file below the root", |entry| !entry.is_directory() && entry.directory != 0)
}

pub fn nested_directory(volume: &Volume) -> &Entry {
    find(volume, "a directory in a directory", |entry| entry.is_directory() && entry.directory != 0)
}

/// The slots of the nested directory.
pub fn deepest(volume: &Volume) -> &Directory {
    let cluster = nested_directory(volume).first_cluster;
    let of_it =
        |directory: &&Directory| directory.runs.first().is_some_and(|run| run.first == cluster);
    volume.directories.iter().find(of_it).expect("the slots of the directory")
}

pub fn long_name(volume: &Volume) -> &Entry {
    find(volume, "a long name in two slots, the last not full, in the root", |entry| {
        let units = entry.long.as_ref().map_or(0, |name| name.encode_utf16().count());
        let has_padding = units % 13 > 0 && units % 13 < 11;
        entry.directory == 0 && entry.slots >= 3 && has_padding && entry.raw_short.contains(&b'~')
    })
}

/// Of as many parts.
pub fn other_long_name(volume: &Volume) -> &Entry {
    let long_name = long_name(volume);
    find(volume, "a second long name of as many parts in the root", |entry| {
        entry.directory == 0 && entry.slots == long_name.slots && entry.slot != long_name.slot
    })
}
