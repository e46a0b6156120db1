//! What a build asks of the system, as strace sees it: every byte of the image is written once, in
//! large pieces, and nothing waits for the disk unless asked to.

mod support;

use std::fs;
use std::path::Path;

use support::{Expect, TempDir, Tool, TreeBuilder, assert_sound, scratch};

const MIB: u64 = 1 << 20;
const SMALL_FILES: usize = 2000;

/// The calls of a build of a tree of many small files and a large one; `None` without strace.
fn calls(flags: &[&str]) -> Option<(TempDir, Vec<String>)> {
    let strace = Tool::find("strace")?;
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    for number in 0..SMALL_FILES {
        tree.filled(&format!("small/{}/a small file {number}", number % 40), 700 + number);
    }
    tree.filled("large", 20 * MIB as usize + 12_345).settle();
    let (log, image) = (folder.path().join("log"), folder.path().join("image"));
    let mut command = strace.command();
    command.args(["-f", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_mkfatimg"));
    command.arg("--from").arg(tree.root()).args(["-q", "--size", "300M"]).args(flags).arg(&image);
    assert!(command.status().unwrap().success());
    let expect = Expect { source: Some(tree.root().to_path_buf()), ..Expect::default() };
    assert_sound(&image, &expect);
    let lines = fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    Some((folder, lines))
}

fn count(calls: &[String], name: &str) -> usize {
    calls.iter().filter(|line| line.contains(&format!(" {name}("))).count()
}

/// Offset and length of a write at a place.
fn written(call: &str) -> Option<(u64, u64)> {
    let arguments = call.split_once(" pwrite64(")?.1;
    let (arguments, result) = arguments.rsplit_once(") = ")?;
    let mut numbers = arguments.rsplit(", ");
    let at = numbers.next()?.parse().ok()?;
    let asked: u64 = numbers.next()?.parse().ok()?;
    assert_eq!(result.trim(), asked.to_string(), "{call}");
    Some((at, asked))
}

#[test]
fn every_byte_is_written_once_and_in_large_pieces() {
    let Some((folder, calls)) = calls(&[]) else { return };
    let mut writes: Vec<(u64, u64)> = calls.iter().filter_map(|call| written(call)).collect();
    // Several threads write.
    writes.sort_unstable();
    let mut end = 0;
    for (at, len) in &writes {
        assert!(*at >= end, "byte {at} is written again");
        assert!(*len <= MIB, "{len} bytes in one write");
        end = at + len;
    }
    let total: u64 = writes.iter().map(|(_, len)| len).sum();
    // Boot sectors and each FAT end in a hole, so each begins a write of its own; the rest is full
    // buffers.
    let full = writes.iter().filter(|(_, len)| *len == MIB).count() as u64;
    assert!(full >= total / MIB - 1, "{full} full writes of {total} bytes");
    assert!(writes.len() as u64 <= total / MIB + 8, "{} writes", writes.len());
    let image = fs::metadata(folder.path().join("image")).unwrap().len();
    assert!(end <= image);
}

#[test]
fn a_small_file_costs_one_open_one_read_and_one_close() {
    let Some((_folder, calls)) = calls(&[]) else { return };
    let named = |line: &&String| line.contains("a small file ") && !line.contains("statx");
    let opened = calls.iter().filter(named).filter(|line| line.contains(" openat(")).count();
    assert_eq!(opened, SMALL_FILES);
    // Each is read once; the rest is the large file and the check of the finished image.
    let reads = count(&calls, "pread64");
    assert!((SMALL_FILES..SMALL_FILES + 120).contains(&reads), "{reads} reads");
}

#[test]
fn the_disk_is_waited_for_only_on_request_and_the_bytes_before_the_name() {
    let Some((_folder, calls_without)) = calls(&[]) else { return };
    let waits = ["fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync"];
    for wait in waits {
        assert_eq!(count(&calls_without, wait), 0, "{wait}");
    }
    let Some((_folder, calls_with)) = calls(&["--sync"]) else { return };
    let order: Vec<&str> = ["fsync", "linkat", "renameat"]
        .iter()
        .flat_map(|name| calls_with.iter().enumerate().map(move |line| (name, line)))
        .filter(|(name, (_, line))| line.contains(&format!(" {name}(")))
        .map(|(name, (at, _))| (at, *name))
        .collect::<std::collections::BTreeMap<usize, &str>>()
        .into_values()
        .collect();
    // The bytes, then the name, then the folder that holds the name.
    assert_eq!(order, ["fsync", "linkat", "fsync"]);
}

#[test]
fn a_special_file_is_not_opened() {
    let Some(strace) = Tool::find("strace") else { return };
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    tree.file("file", "x");
    let made = std::process::Command::new("mkfifo").arg(tree.root().join("pipe")).status();
    assert!(made.unwrap().success());
    let log = folder.path().join("log");
    let mut command = strace.command();
    command.args(["-f", "-e", "trace=open,openat,openat2", "-o"]).arg(&log);
    command.arg(env!("CARGO_BIN_EXE_mkfatimg")).arg("--from").arg(tree.root());
    command.args(["-q", "--special", "skip"]).arg(folder.path().join("image"));
    assert!(command.status().unwrap().success());
    assert!(!opens(&log, "pipe"));
    assert!(opens(&log, "file"));
}

fn opens(log: &Path, name: &str) -> bool {
    fs::read_to_string(log).unwrap().lines().any(|line| line.contains(&format!("\"{name}\"")))
}

/// File systems that know no unnamed files: the call is made to fail.
#[test]
fn without_unnamed_files_a_named_one_takes_their_place_and_is_not_left() {
    let Some(strace) = Tool::find("strace") else { return };
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    tree.filled("file", 100_000).settle();
    let target = folder.path().join("target");
    fs::create_dir(&target).unwrap();
    let image = target.join("image");
    let names = || {
        let entries = fs::read_dir(&target).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
    };
    let build = |flags: &[&str], old: bool| {
        let _ = fs::remove_file(&image);
        if old {
            fs::write(&image, "old image").unwrap();
        }
        let log = folder.path().join("log");
        let mut command = strace.command();
        command.args(["-f", "-o"]).arg(&log).arg("-P").arg(&target);
        command.args(["-e", "trace=openat,open", "-e", "inject=openat,open:error=EOPNOTSUPP"]);
        command.arg(env!("CARGO_BIN_EXE_mkfatimg")).arg("--from").arg(tree.root());
        let status = command.args(flags).arg("-q").arg(&image).status().unwrap();
        let log = fs::read_to_string(log).unwrap();
        assert!(log.contains("O_TMPFILE") && log.contains("(INJECTED)"), "{log}");
        status.code()
    };
    for old in [false, true] {
        assert_eq!(build(&[], old), Some(0));
        assert_eq!(names(), ["image"]);
        let expect = Expect { source: Some(tree.root().to_path_buf()), ..Expect::default() };
        assert_sound(&image, &expect);
    }
    // Something fails after the file was made: it is removed, and the old image stays.
    let limited = "ulimit -f 20; exec \"$0\" \"$@\"";
    fs::write(&image, "old image").unwrap();
    let mut command = strace.command();
    command.args(["-f", "-o"]).arg(folder.path().join("log")).arg("-P").arg(&target);
    command.args(["-e", "trace=openat,open", "-e", "inject=openat,open:error=EOPNOTSUPP"]);
    command.args(["sh", "-c", limited]).arg(env!("CARGO_BIN_EXE_mkfatimg"));
    command.arg("--from").arg(tree.root()).args(["-q", "--size", "1M"]).arg(&image);
    assert_eq!(command.output().unwrap().status.code(), Some(1));
    assert_eq!(names(), ["image"]);
    assert_eq!(fs::read(&image).unwrap(), b"old image");
}
