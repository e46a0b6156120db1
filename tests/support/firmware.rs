//! Images that UEFI firmware boots: the program in them, and the judge that starts it.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::{Oracle, TreeBuilder};

/// The content of `/marker.txt`, which the boot program shows.
const SEEN_BY_THE_FIRMWARE: &str = "read from the volume that was booted";

/// Puts a program that UEFI firmware starts into `tree`, and what it shows; `None` if it cannot be had.
pub fn make_bootable(oracle: &Oracle, tree: &TreeBuilder) -> Option<()> {
    let program = tree.root().with_extension("program");
    let ran = oracle.prepare([OsStr::new("--make-efi"), program.as_ref()])?;
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    tree.file("EFI/BOOT/BOOTX64.EFI", fs::read(&program).unwrap())
        .file("marker.txt", format!("{SEEN_BY_THE_FIRMWARE}\n"))
        .settle();
    Some(())
}

/// Firmware starts the program in `image`, attached as `options` of the judge say; `what` is for the
/// message if it does not.
pub fn assert_boots(oracle: &Oracle, image: &Path, options: &[&str], what: &str) {
    let Some(ran) = oracle.ask(options.iter().map(OsStr::new).chain([image.as_ref()])) else {
        return;
    };
    assert_eq!(ran.status, Some(0), "{what}: {}{}", ran.stdout, ran.stderr);
    let shown = ran.stdout.lines().filter(|line| line.trim() == SEEN_BY_THE_FIRMWARE).count();
    assert_eq!(shown, 1, "{what}: {}", ran.stdout);
}
