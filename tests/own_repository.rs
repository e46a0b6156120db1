//! This repository with its history, a tree that nobody made for the purpose, as an image.

mod support;

use std::path::Path;
use std::process::Command;

use support::{Tool, build, fsck, scratch};

#[test]
fn this_repository_with_its_history_reads_back_equal() {
    let Some(git) = Tool::find("git") else { return };
    let folder = scratch();
    let clone = folder.path().join("clone");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !here.join(".git").exists() {
        eprintln!("SKIPPED: this copy of the sources has no history");
        return;
    }
    let mut command = git.command();
    command.args(["clone", "--quiet", "--no-hardlinks"]).arg(here).arg(&clone);
    assert!(command.status().unwrap().success());
    let image = folder.path().join("image");
    // No flags beyond what the contents need, and they need none.
    build(&clone, &image, &["--verify"]);
    if let Some(tool) = Tool::find("fsck.fat") {
        fsck::assert_accepts(&tool, &image);
    }
    if let Some(mcopy) = Tool::find("mcopy") {
        let copy = folder.path().join("copy");
        std::fs::create_dir(&copy).unwrap();
        let ran =
            mcopy.command().args(["-s", "-n", "-i"]).arg(&image).arg("::/").arg(&copy).status();
        assert!(ran.unwrap().success());
        let differs = Command::new("diff").arg("-r").arg(&clone).arg(&copy).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&differs.stdout), "");
        assert!(differs.status.success());
    }
}
