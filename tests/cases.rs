//! Runs the scripts of a folder of cases against the command, each of which judges for itself.

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const VARIABLE: &str = "MKFATIMG_CASES";

#[test]
fn every_case_of_the_folder_passes() {
    let Some(folder) = std::env::var_os(VARIABLE) else {
        eprintln!("SKIPPED all cases: {VARIABLE} names no folder of them");
        return;
    };
    let scripts = scripts_of(Path::new(&folder));
    assert!(!scripts.is_empty(), "{VARIABLE} names a folder without cases: {}", folder.display());
    let scratch = support::scratch();
    // Cases may run the command as somebody else.
    fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).unwrap();
    let failures: Vec<String> =
        scripts.iter().filter_map(|script| failure_of(script, scratch.path())).collect();
    let (failed, all) = (failures.len(), scripts.len());
    assert!(failures.is_empty(), "{failed} of {all} cases fail:\n{}", failures.join("\n"));
}

/// `NN-name.sh`, in order.
fn scripts_of(folder: &Path) -> Vec<PathBuf> {
    let is_case = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(|first: char| first.is_ascii_digit()) && name.ends_with(".sh")
    };
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<PathBuf> = entries.filter(is_case).collect();
    scripts.sort();
    scripts
}

/// What a case that failed said last.
fn failure_of(script: &Path, scratch: &Path) -> Option<String> {
    let room = scratch.join(script.file_stem().unwrap());
    fs::create_dir(&room).unwrap();
    fs::set_permissions(&room, Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(script)
        .env("MKFATIMG", env!("CARGO_BIN_EXE_mkfatimg"))
        .env("T", &room)
        .env_remove("SOURCE_DATE_EPOCH")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    fs::remove_dir_all(&room).unwrap();
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    let last = told.lines().last().unwrap_or("no output");
    let name = script.file_name().unwrap_or_default().display();
    (!output.status.success()).then(|| format!("{name}: {}: {last}", output.status))
}
