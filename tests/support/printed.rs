//! What a document prints is a file that tests run: each code block of it is the whole of one file,
//! which the line above links to. `UPDATE=1` writes the files into the document.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const FENCE: &str = "```";

/// Each block of `document` is a file of `folder`, and each file of `folder` is printed once.
pub fn assert_prints_folder(document: &str, folder: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join(document);
    let text = fs::read_to_string(&path).unwrap();
    let mut fresh = String::new();
    let mut printed = BTreeSet::new();
    let mut linked = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        fresh.push('\n');
        if !line.starts_with(FENCE) {
            linked = link_into(line, folder).or(linked.filter(|_| line.is_empty()));
            continue;
        }
        let name: String =
            linked.take().unwrap_or_else(|| panic!("{document}: no file for {line}"));
        fresh.push_str(&fs::read_to_string(root.join(folder).join(&name)).unwrap());
        fresh.push_str(FENCE);
        fresh.push('\n');
        assert!(lines.by_ref().any(|line| line == FENCE), "{document}: no end of {name}");
        assert!(printed.insert(name.clone()), "{document}: {name} twice");
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &fresh).unwrap();
    } else {
        assert!(text == fresh, "{document} is stale: run the test with UPDATE=1");
    }
    let entries = fs::read_dir(root.join(folder)).unwrap();
    let there = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(printed, there, "{document} and the files of {folder}");
}

/// The file of `folder` to which the last link of `line` leads.
fn link_into(line: &str, folder: &str) -> Option<String> {
    let (_, rest) = line.rsplit_once(&format!("](../{folder}/"))?;
    rest.split_once(')').map(|(name, _)| name.to_owned())
}
