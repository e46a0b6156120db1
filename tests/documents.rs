//! The documents: what they link to and what they name is there, and sizes are as they say.

mod support;

use std::fs;
use std::path::Path;

use mkfatimg::plan::Profile;
use support::{TreeBuilder, run, scratch};

#[test]
fn links_between_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/decisions"] {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        documents.extend(entries.map(|entry| entry.unwrap().path()));
    }
    let mut checked = 0;
    for document in documents.iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = document.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(target.exists(), "{}: {link}", document.display());
            checked += 1;
        }
    }
    assert!(checked > 5);
}

/// Sources that a document or a comment names by path.
#[test]
fn sources_that_documents_name_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut checked = 0;
    for document in [
        "README.md",
        "CONTRIBUTING.md",
        "docs/architecture.md",
        "docs/format.md",
        "docs/verification.md",
        "docs/performance.md",
        "docs/recipes.md",
        "docs/from-mtools.md",
        "docs/reproducible.md",
    ] {
        let text = fs::read_to_string(root.join(document)).unwrap();
        for name in text.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs")) {
            let found =
                ["", "src", "tests"].iter().any(|folder| root.join(folder).join(name).exists());
            assert!(found, "{document}: {name}");
            checked += 1;
        }
    }
    assert!(checked > 15);
}

/// Each profile has its row, and its name is in no other.
#[test]
fn profiles_are_told_of() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/profiles.md")).unwrap();
    for profile in Profile::ALL {
        let name = match profile.id().strip_prefix("floppy") {
            Some("-360") | None => format!("`{profile}`"),
            Some(size) => format!("`{size}`"),
        };
        let cells = text.lines().filter(|line| line.starts_with('|'));
        let names = cells.filter_map(|line| line.split('|').nth(1));
        assert_eq!(names.filter(|cell| cell.contains(&name)).count(), 1, "{profile}");
    }
}

/// A dry run of an empty image of `kibibytes`; whether it would be made.
fn is_made(source: &Path, fat_type: &str, cluster: &str, kibibytes: u64) -> bool {
    let size = format!("{kibibytes}K");
    let flags = ["--fat-type", fat_type, "--cluster-size", cluster, "--size", &size, "--dry-run"];
    let ran = run([&["--from", source.to_str().unwrap()], &flags[..]].concat());
    // 2 TiB is refused before the type is looked at.
    assert!([Some(0), Some(2), Some(3)].contains(&ran.status), "{flags:?}: {}", ran.stderr);
    ran.status == Some(0)
}

/// The table of least and most sizes, to the KiB.
#[test]
fn volumes_are_as_small_and_as_large_as_the_limits_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/limits.md")).unwrap();
    let scratch = scratch();
    let empty = TreeBuilder::new(scratch.path().join("empty"));
    let mut checked = 0;
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
    for row in text.lines().map(cells).filter(|row: &Vec<String>| row.len() == 6) {
        for (fat_type, range) in ["12", "16", "32"].iter().zip(&row[2..5]) {
            let Some((least, most)) = range.split_once(" to ") else { continue };
            let kibibytes = |text: &str| text.strip_suffix('K').unwrap().parse::<u64>().unwrap();
            let (least, most) = (kibibytes(least), kibibytes(most));
            for (size, made) in [(least - 1, false), (least, true), (most, true), (most + 1, false)]
            {
                let found = is_made(empty.root(), fat_type, &row[1], size);
                assert_eq!(found, made, "FAT{fat_type}, {}: {size}K", row[1]);
            }
            checked += 1;
        }
    }
    assert_eq!(checked, 12);
}
