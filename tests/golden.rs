//! Images to the byte: small ones of each kind, kept as text so that a change of the format shows
//! in a review. `UPDATE=1 cargo test --test golden` writes the dumps anew.

mod support;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use support::{Expect, TreeBuilder, build_with, scratch};

const LINE_BYTES: usize = 16;

/// A long name, case bits, a file of two clusters of 4 KiB, an empty one, and a directory.
fn tree(root: &Path) -> PathBuf {
    let tree = TreeBuilder::new(root.join("tree"));
    tree.file("README.TXT", "Read me.\n")
        .file("boot/grub.cfg", "timeout=3\n")
        .file("A long name.text", "long\n")
        .file("boot/empty", "")
        .file("two.bin", [b'2'; 5000])
        .settle();
    tree.root().to_path_buf()
}

/// The image that `arguments` make of [`tree`] is the one in `tests/golden`.
fn assert_golden(name: &str, arguments: &[&str]) {
    assert_golden_disk(name, arguments, 0);
}

/// As [`assert_golden`], with the volume at byte `offset`.
fn assert_golden_disk(name: &str, arguments: &[&str], offset: u64) {
    let scratch = scratch();
    let image = scratch.path().join("image");
    let source = tree(scratch.path());
    let expect = Expect { offset, source: Some(source.clone()), ..Expect::default() };
    build_with(&source, &image, arguments, &expect);
    let command = format!("mkfatimg --from tree {} {name}.img", arguments.join(" "));
    let made = dump(&command, &fs::read(&image).unwrap());

    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.hex"));
    if std::env::var_os("UPDATE").is_some_and(|update| update == "1") {
        fs::write(&kept, &made).unwrap();
    }
    let golden = fs::read_to_string(&kept).unwrap();
    let differing: Vec<String> = golden
        .lines()
        .zip(made.lines())
        .filter(|(golden, made)| golden != made)
        .map(|(golden, made)| format!("- {golden}\n+ {made}"))
        .take(8)
        .collect();
    assert!(made == golden, "{name} is another image:\n{}", differing.join("\n"));
}

/// Sixteen bytes a line with their offset, repeated lines told by their number.
fn dump(command: &str, image: &[u8]) -> String {
    let mut text = format!(
        "# {command}\n# The tree is that of tests/golden.rs, everything in it of 2024-02-29 12:00:00 UTC.\n"
    );
    let lines: Vec<&[u8]> = image.chunks(LINE_BYTES).collect();
    let mut at = 0;
    for equal in lines.chunk_by(|one, next| one == next) {
        let line = equal[0];
        if equal.len() > 1 && line == [0; LINE_BYTES] {
            let _ = writeln!(text, "{at:08x}  zero, {} lines", equal.len());
        } else {
            let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            let shown: String = line
                .iter()
                .map(|byte| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { '.' })
                .collect();
            let _ = writeln!(text, "{at:08x}  {}  |{shown}|", hex.join(" "));
            if equal.len() > 1 {
                let _ = writeln!(text, "          the same, {} lines more", equal.len() - 1);
            }
        }
        at += equal.len() * LINE_BYTES;
    }
    let _ = writeln!(text, "{:08x}  end", image.len());
    text
}

#[test]
fn fat12_of_the_least_size_is_as_kept() {
    assert_golden("fat12", &["--label", "GOLDEN-12"]);
}

#[test]
fn fat16_is_as_kept() {
    assert_golden(
        "fat16",
        &["--fat-type", "16", "--cluster-size", "512", "--volume-id", "1616-CAFE"],
    );
}

#[test]
fn fat32_of_34_mib_is_as_kept() {
    assert_golden("fat32", &["--fat-type", "32", "--size", "34M", "--label", "GOLDEN-32"]);
}

#[test]
fn sectors_of_4096_bytes_are_as_kept() {
    assert_golden(
        "sectors-4096",
        &[
            "--sector-size",
            "4096",
            "--fats",
            "1",
            "--label",
            "GOLDEN-4K",
            "--volume-id",
            "4096-4096",
        ],
    );
}

#[test]
fn a_floppy_of_1440_kib_is_as_kept() {
    assert_golden("floppy-1440", &["--size", "1440K", "--label", "GOLDEN-FD"]);
}

#[test]
fn a_disk_with_an_mbr_is_as_kept() {
    assert_golden_disk("mbr", &["--partition-table", "mbr", "--label", "GOLDEN-MBR"], 1 << 20);
}

#[test]
fn a_disk_with_a_gpt_is_as_kept() {
    let arguments =
        ["--partition-table", "gpt", "--partition-type", "esp", "--label", "GOLDEN-GPT"];
    assert_golden_disk("gpt", &arguments, 1 << 20);
}

#[test]
fn a_disk_with_a_gpt_of_sectors_of_4096_bytes_is_as_kept() {
    let arguments = ["--partition-table", "gpt", "--sector-size", "4096"];
    assert_golden_disk("gpt-4096", &arguments, 1 << 20);
}
