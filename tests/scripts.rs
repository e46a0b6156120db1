//! The shell scripts of the repository, those that documents print among them: each can be run by its
//! name, and shellcheck finds no fault.

mod support;

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use support::Tool;

/// Every file of the repository, but for its history and what was built in it.
fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if [".git", "target"].iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// The files that name a program to run them, all of which are shell scripts.
fn scripts() -> Vec<PathBuf> {
    let is_script = |path: &PathBuf| {
        let mut beginning = Vec::new();
        fs::File::open(path).unwrap().take(2).read_to_end(&mut beginning).unwrap();
        beginning == b"#!"
    };
    files().into_iter().filter(is_script).collect()
}

#[test]
fn scripts_and_nothing_else_can_be_run_by_their_names() {
    let scripts = scripts();
    for path in files() {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o111 != 0, scripts.contains(&path), "{}", path.display());
    }
}

#[test]
fn shellcheck_finds_no_fault_in_any_script() {
    let Some(tool) = Tool::find("shellcheck") else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scripts = scripts();
    for expected in [".ci/run", "benches/compare", "tests/recipes/esp.sh"] {
        assert!(scripts.contains(&root.join(expected)), "{expected}");
    }
    let ran = tool.run(&scripts);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
}
