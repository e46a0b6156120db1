//! A real root file system, as debootstrap makes it: refused as it stands with every offending path
//! told, built with the flags that the messages name, and equal to what a process inside it sees.

mod support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Expect, Tool, assert_sound, fsck, run, scratch};

/// The folder in `MKFATIMG_ROOTFS`, made by `debootstrap --variant=minbase`.
fn root_filesystem() -> Option<PathBuf> {
    let root = std::env::var_os("MKFATIMG_ROOTFS").map(PathBuf::from);
    if root.is_none() {
        eprintln!("SKIPPED: MKFATIMG_ROOTFS names no root file system");
    }
    root
}

/// What the tool must not take as it is, found by another walk: names with a colon, device nodes,
/// and links to what is not there.
fn offenders(root: &Path) -> BTreeMap<PathBuf, &'static str> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if entry.file_name().to_string_lossy().contains(':') {
                found.insert(path.clone(), "name");
            }
            if kind.is_char_device() || kind.is_block_device() {
                found.insert(path.clone(), "device");
            }
            if kind.is_symlink() && is_dangling_inside(root, &path) {
                found.insert(path.clone(), "dangling");
            }
            if kind.is_dir() {
                waiting.push(path);
            }
        }
    }
    found
}

/// Asked of a process whose root directory it is.
fn is_dangling_inside(root: &Path, link: &Path) -> bool {
    let inside = Path::new("/").join(link.strip_prefix(root).unwrap());
    let status = Command::new("chroot").arg(root).args(["test", "-e"]).arg(inside).status();
    !status.unwrap().success()
}

/// The tree that a process inside the root sees, links followed, without what was left out, and
/// with the names that the image has.
fn staged(root: &Path, folder: &Path) -> PathBuf {
    let archive = folder.join("staged.tar");
    let staged = folder.join("staged");
    fs::create_dir_all(staged.join("dev")).unwrap();
    let packed = Command::new("chroot")
        .arg(root)
        .args(["tar", "-chf", "-", "--hard-dereference", "--exclude=./dev", "-C", "/", "."])
        .stdout(File::create(&archive).unwrap())
        .status();
    assert!(packed.unwrap().success());
    let unpacked = Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&staged).status();
    assert!(unpacked.unwrap().success());
    fs::remove_file(archive).unwrap();
    for entry in fs::read_dir(root.join("dev")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(staged.join("dev").join(entry.file_name())).unwrap();
        }
    }
    rename_colons(&staged);
    let link = "usr/share/man/man7/pam.7.gz";
    assert!(root.join(link).symlink_metadata().unwrap().is_symlink());
    fs::remove_file(staged.join(link)).unwrap();
    staged
}

fn rename_colons(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rename_colons(&path);
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.contains(':') {
            fs::rename(&path, path.with_file_name(name.replace(':', "_"))).unwrap();
        }
    }
}

#[test]
fn a_root_file_system_is_refused_as_it_stands_and_built_as_the_messages_say() {
    let Some(root) = root_filesystem() else { return };
    let folder = scratch();
    let image = folder.path().join("root.img");
    let (root_text, image_text) = (root.to_str().unwrap(), image.to_str().unwrap());

    let refused = run(["--from", root_text, image_text]);
    assert_eq!(refused.status, Some(4), "{}", refused.stderr);
    assert!(!image.exists());
    let lines: Vec<&str> = refused.stderr.lines().collect();
    let (way_out, problems) = lines.split_last().unwrap();
    let offenders = offenders(&root);
    for (path, what) in &offenders {
        let told = format!("mkfatimg: {}: ", path.display());
        let line = problems.iter().find(|line| line.starts_with(&told));
        let line = line.unwrap_or_else(|| panic!("{} is not told", path.display()));
        let flag = match *what {
            "name" => "--invalid-names replace",
            "device" => "--special skip",
            _ => "--dangling skip",
        };
        assert!(line.contains(flag), "{line}");
    }
    assert_eq!(problems.len(), offenders.len());
    assert!(offenders.len() > 200, "only {} offenders", offenders.len());

    let flags: Vec<&str> = way_out.split_once(" add ").unwrap().1.split(' ').collect();
    let arguments = [&["--from", root_text, "--verify"], &flags[..], &[image_text]].concat();
    let built = run(arguments);
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    assert!(built.stderr.contains("pam.7.gz: folded into"), "{}", built.stderr);

    let staged = staged(&root, folder.path());
    assert_sound(&image, &Expect { source: Some(staged.clone()), ..Expect::default() });
    if let Some(tool) = Tool::find("fsck.fat") {
        fsck::assert_accepts(&tool, &image);
    }
    if let Some(oracles) = std::env::var_os("MKFATIMG_ORACLES") {
        let readers = PathBuf::from(oracles).join("readers.sh");
        let judged = Command::new(readers).arg(&image).arg(&staged).output().unwrap();
        let told = String::from_utf8_lossy(&judged.stdout);
        assert_eq!(judged.status.code(), Some(0), "{told}");
    }
}
