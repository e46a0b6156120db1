//! The crate `fatfs` as a reader that others wrote: what it finds in a volume, entry by entry.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use fatfs::{Dir, FileAttributes, FileSystem, FsOptions};
use fscommon::StreamSlice;

use super::TREE_SECONDS;
use super::contents::Contents;

pub type Volume = FileSystem<StreamSlice<File>>;

/// The volume that lies in these bytes of the image.
pub fn open(image: &Path, bytes: std::ops::Range<u64>) -> Volume {
    let file = File::open(image).unwrap();
    FileSystem::new(StreamSlice::new(file, bytes.start, bytes.end).unwrap(), FsOptions::new())
        .unwrap()
}

/// The volume that fills the image.
pub fn open_all(image: &Path) -> Volume {
    open(image, 0..image.metadata().unwrap().len())
}

/// All entries, made by [`super::TreeBuilder`] or with its time: each has that time and no other
/// attributes than entries have by default.
pub fn contents(volume: &Volume) -> Contents {
    let mut contents = Contents::new();
    read_below(&volume.root_dir(), "", &mut contents);
    contents
}

fn read_below(directory: &Dir<'_, StreamSlice<File>>, path: &str, contents: &mut Contents) {
    for entry in directory.iter() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if [".", ".."].contains(&name.as_str()) {
            continue;
        }
        let path = format!("{path}{name}");
        let written = entry.modified();
        let (date, time) = (written.date, written.time);
        assert_eq!(
            (date.year, date.month, date.day, time.hour, time.min, time.sec),
            (2024, 2, 29, 12, 0, 0),
            "{path}"
        );
        let found = if entry.is_dir() {
            assert_eq!(entry.attributes(), FileAttributes::DIRECTORY, "{path}");
            read_below(&entry.to_dir(), &format!("{path}/"), contents);
            None
        } else {
            assert_eq!(entry.attributes(), FileAttributes::ARCHIVE, "{path}");
            let mut bytes = Vec::new();
            entry.to_file().read_to_end(&mut bytes).unwrap();
            assert_eq!(entry.len(), bytes.len() as u64, "{path}");
            Some((bytes, TREE_SECONDS))
        };
        assert!(contents.insert(path.clone(), found).is_none(), "{path} comes twice");
    }
}
