//! A tree as names and bytes, to be compared between a folder and what a reader finds in an image.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// A file's bytes and its time in seconds since 1970; `None` is a directory.
pub type Contents = BTreeMap<String, Option<(Vec<u8>, u64)>>;

/// All that lies below a folder.
pub fn below(root: &Path) -> Contents {
    let mut contents = Contents::new();
    let mut unseen = vec![root.to_path_buf()];
    while let Some(directory) = unseen.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                contents.insert(name, None);
                unseen.push(path);
            } else {
                let written = path.metadata().unwrap().modified().unwrap();
                let seconds = written.duration_since(UNIX_EPOCH).unwrap().as_secs();
                contents.insert(name, Some((fs::read(&path).unwrap(), seconds)));
            }
        }
    }
    contents
}

/// Equal, or the names of what is not: the contents would fill the screen.
pub fn assert_same(found: &Contents, wanted: &Contents, who: &str) {
    let names = |contents: &Contents| contents.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(wanted), "{who}");
    let differing: Vec<&String> =
        found.keys().filter(|name| found.get(*name) != wanted.get(*name)).collect();
    assert!(differing.is_empty(), "{who}: other contents or times: {differing:?}");
}
