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

/// The calls of each thread, one by one: in a log of all of them one call may cut another in two.
fn calls_of_threads(log: &Path) -> Vec<Vec<String>> {
    let prefix = format!("{}.", log.file_name().unwrap().to_str().unwrap());
    let logs = fs::read_dir(log.parent().unwrap()).unwrap().map(|entry| entry.unwrap());
    let logs = logs.filter(|entry| entry.file_name().to_str().unwrap().starts_with(&prefix));
    let text = |entry: fs::DirEntry| fs::read_to_string(entry.path()).unwrap();
    logs.map(|entry| text(entry).lines().map(str::to_owned).collect()).collect()
}

/// The first text in quotes among the arguments of a call of this name.
fn named<'a>(call: &'a str, name: &str) -> Option<&'a str> {
    let arguments = call.strip_prefix(name)?.strip_prefix('(')?;
    Some(arguments.split_once('"')?.1.split_once('"')?.0)
}

#[test]
fn entries_are_asked_after_once_in_the_scan_and_files_once_more_after_their_copy() {
    let Some(strace) = Tool::find("strace") else { return };
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    let mut entries = vec!["large".to_owned(), "empty file".to_owned(), "nothing in it".to_owned()];
    tree.filled("large", 20 * MIB as usize + 12_345).file("empty file", "");
    tree.directory("nothing in it");
    for number in 0..40 {
        let (directory, deeper) = (format!("directory {number}"), format!("deeper {number}"));
        for file in 0..10 {
            let name = format!("a small file {number} {file}");
            tree.filled(&format!("{directory}/{deeper}/{name}"), 700 + number);
            entries.push(name);
        }
        entries.extend([directory, deeper]);
    }
    tree.settle();
    entries.sort();
    for jobs in ["1", "2", "8"] {
        let log = folder.path().join(format!("log of {jobs}"));
        let mut command = strace.command();
        command.args(["-ff", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_mkfatimg"));
        command.arg("--from").arg(tree.root()).args(["-q", "--jobs", jobs]);
        assert!(command.arg(folder.path().join("image")).status().unwrap().success());
        let threads = calls_of_threads(&log);
        let asked = |name| {
            let calls = threads.iter().flatten().filter_map(move |call| named(call, name));
            let mut asked: Vec<&str> =
                calls.filter(|name| entries.iter().any(|entry| entry == name)).collect();
            asked.sort_unstable();
            asked
        };
        assert_eq!(asked("newfstatat"), entries, "{jobs} threads");
        assert_eq!(asked("statx"), [""; 0], "{jobs} threads");
        // What one thread does with each file that it opens, to the last call.
        let mut small_files = 0;
        let mut pieces = 0;
        for calls in &threads {
            for (at, call) in calls.iter().enumerate() {
                let Some(name) = named(call, "openat").filter(|name| !name.starts_with('/')) else {
                    continue;
                };
                let descriptor = call.rsplit_once(" = ").unwrap().1;
                let on_it = |call: &&String| {
                    let arguments = call.split_once('(').map_or("", |(_, arguments)| arguments);
                    arguments.split([',', ')']).next() == Some(descriptor)
                };
                let mut names = Vec::new();
                for call in calls[at + 1..].iter().filter(on_it) {
                    // By which a build for tests makes sure of what it closes.
                    if call.contains("F_GETFD") {
                        continue;
                    }
                    names.push(call.split_once('(').unwrap().0);
                    if names.last() == Some(&"close") {
                        break;
                    }
                }
                if name.starts_with("a small file ") {
                    small_files += 1;
                    assert_eq!(names, ["pread64", "statx", "close"], "{name}");
                } else if name == "empty file" {
                    assert_eq!(names, ["pread64", "statx", "close"], "{name}");
                // It is opened for a clone too, which may be refused and reads nothing.
                } else if name == "large" && names.contains(&"pread64") {
                    pieces += 1;
                    let (copy, end) = names.split_at(names.len() - 2);
                    assert!(copy.iter().all(|name| *name == "pread64"), "{names:?}");
                    assert_eq!(end, ["statx", "close"]);
                }
            }
        }
        // Runs of 8 MiB: the large file lies in three of them.
        assert_eq!((small_files, pieces), (400, 3), "{jobs} threads");
    }
}

/// The words of `-v` on the page cache after a build of a tree of `large` that is right, and what
/// strace, told `injection`, saw.
fn past_the_cache(strace: &Tool, injection: &[&str]) -> (Vec<String>, String) {
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    tree.filled("large", 20 * MIB as usize + 12_345).filled("small", 700).settle();
    let (log, image) = (folder.path().join("log"), folder.path().join("image"));
    let mut command = strace.command();
    command.args(["-f", "-o"]).arg(&log).args(injection).arg(env!("CARGO_BIN_EXE_mkfatimg"));
    command.arg("--from").arg(tree.root()).args(["-v", "--jobs", "1", "--direct", "always"]);
    let output = command.arg(&image).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    let expect = Expect { source: Some(tree.root().to_path_buf()), ..Expect::default() };
    assert_sound(&image, &expect);
    let words = told.lines().filter(|line| line.contains("the page cache"));
    (words.map(str::to_owned).collect(), fs::read_to_string(log).unwrap())
}

const REFUSED: &str = "written through the page cache: writes past it were refused";

#[test]
fn a_write_past_the_page_cache_that_is_refused_goes_through_it() {
    let Some(strace) = Tool::find("strace") else { return };
    let (words, log) = past_the_cache(&strace, &["-e", "trace=openat"]);
    let opened = log.lines().any(|call| call.contains("O_DIRECT|") && !call.contains("= -1"));
    if !opened || words == [REFUSED] {
        support::skip("nothing can be written past the page cache here");
        return;
    }
    assert_eq!(words, ["written past the page cache, as asked (--direct)"]);
    for error in ["EINVAL", "EOPNOTSUPP"] {
        // The first write, and one when others have gone past it.
        for number in ["1", "5"] {
            let inject = format!("inject=pwrite64:error={error}:when={number}");
            let (words, log) = past_the_cache(&strace, &["-e", "trace=pwrite64", "-e", &inject]);
            assert_eq!(log.matches("(INJECTED)").count(), 1, "{log}");
            assert_eq!(words, [REFUSED], "{inject}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_opened_past_the_page_cache_is_written_through_it() {
    let Some(strace) = Tool::find("strace") else { return };
    // The unnamed file is opened once more by the name of its descriptor, which is a small number.
    let names: Vec<String> = (3..20).map(|number| format!("/proc/self/fd/{number}")).collect();
    let mut injection = vec!["-e", "trace=openat", "-e", "inject=openat:error=EINVAL"];
    injection.extend(names.iter().flat_map(|name| ["-P", name]));
    let (words, log) = past_the_cache(&strace, &injection);
    let refused: Vec<&str> = log.lines().filter(|call| call.contains("(INJECTED)")).collect();
    assert_eq!(refused.len(), 1, "{log}");
    assert!(refused[0].contains("O_DIRECT"), "{log}");
    assert_eq!(words, [REFUSED]);
}

/// Other errors than a refusal are told: a disk that fails is not asked again in another way.
#[test]
fn a_write_past_the_page_cache_that_fails_ends_the_build() {
    let Some(strace) = Tool::find("strace") else { return };
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    tree.filled("large", 20 * MIB as usize).settle();
    let target = folder.path().join("target");
    fs::create_dir(&target).unwrap();
    for direct in ["always", "never"] {
        for jobs in ["1", "2", "4"] {
            let mut command = strace.command();
            command.args(["-f", "-o"]).arg(folder.path().join("log"));
            command.args(["-e", "trace=pwrite64", "-e", "inject=pwrite64:error=EIO:when=2+"]);
            command.arg(env!("CARGO_BIN_EXE_mkfatimg")).arg("--from").arg(tree.root());
            command.args(["-q", "--direct", direct, "--jobs", jobs, "image"]);
            let output = command.current_dir(&target).output().unwrap();
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(told, "mkfatimg: image: cannot be written: input/output error\n");
            assert_eq!(output.status.code(), Some(1));
            assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
        }
    }
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

/// Another directory that has its name for a moment cannot hide what is in it: names and what they
/// stand for come from one descriptor, which leads beneath the source.
#[test]
fn a_directory_is_opened_once_and_beneath_its_source() {
    let Some(strace) = Tool::find("strace") else { return };
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    let directories = 1 + 30 + 30;
    for number in 0..30 {
        tree.file(format!("above/{number}/below {number}/file"), "x");
    }
    let log = folder.path().join("log");
    for jobs in ["1", "2", "8"] {
        let mut command = strace.command();
        command.args(["-f", "-e", "trace=open,openat,openat2,stat,lstat,statx,newfstatat", "-o"]);
        command.arg(&log).arg(env!("CARGO_BIN_EXE_mkfatimg")).arg("--from").arg(tree.root());
        let output = command.args(["-q", "--dry-run", "--jobs", jobs]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let log = fs::read_to_string(&log).unwrap();
        let by_path = format!("\"{}/", tree.root().display());
        assert!(!log.contains(&by_path), "{log}");
        let beneath =
            |call: &&str| call.contains("RESOLVE_BENEATH") && call.contains("RESOLVE_NO_SYMLINKS");
        let opened = log.lines().filter(beneath).count();
        assert_eq!(opened, directories, "{jobs} threads: {log}");
    }
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
