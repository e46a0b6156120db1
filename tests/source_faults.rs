//! Faults of the source: directories that change while they are listed, files that are written to all
//! the time or turn unreadable, and what is too deep, too large or too much.
//!
//! Files that change between scan and copy: `tests/hostile.rs` and `tests/changing.rs`; links that lead
//! in circles and hard links: `tests/source.rs`; sources that are slow: `tests/machine_faults.rs`.
//! `MKFATIMG_FILES=1000000` builds an image of so many files.

mod support;

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, Write};
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::scope;

use mkfatimg::event::Observer;
use mkfatimg::jobs::Jobs;
use mkfatimg::source::{Place, Sources};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use support::faulty::{Errno, Faults, FaultyDisk};
use support::{TreeBuilder, Workplace, scratch};

const AGAIN: &str = "build again when nothing changes the source";

/// Changes the source when a listing asks for the second time whether it is to go on.
struct Meddler<'a> {
    change: &'a (dyn Fn() + Sync),
    asked: AtomicUsize,
}

impl Observer for Meddler<'_> {
    fn must_stop(&self) -> bool {
        if self.asked.fetch_add(1, Ordering::Relaxed) == 1 {
            (self.change)();
        }
        false
    }
}

/// What the walk refuses when `change` happens to the source between its first entry and its second.
fn refused(jobs: Jobs, change: impl Fn(&Path) + Sync) -> Vec<String> {
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    tree.file("a", "x").file("b", "y").file("c", "z").file("sub/inside", "in").settle();
    let places = vec![Place { path: tree.root().to_path_buf(), destination: Vec::new() }];
    let sources = Sources { places, jobs, ..Sources::default() };
    let change = || change(tree.root());
    let meddler = Meddler { change: &change, asked: AtomicUsize::new(0) };
    let scanned = mkfatimg::source::scan(&sources, &meddler).unwrap();
    let root = tree.root().to_str().unwrap();
    scanned.refusals.iter().map(|told| told.to_string().replace(root, "SOURCE")).collect()
}

#[test]
fn a_directory_that_changes_while_it_is_listed_is_refused() {
    for jobs in [Jobs::ONE, Jobs::new(NonZeroUsize::new(4).unwrap())] {
        let changed = format!("SOURCE: changed while the source was walked; {AGAIN}");
        let vanished =
            |name: &str| format!("SOURCE/{name}: vanished while the source was walked; {AGAIN}");
        let came = refused(jobs, |root| fs::write(root.join("new"), "new").unwrap());
        assert_eq!(came, [changed.as_str()]);
        let went = refused(jobs, |root| fs::remove_file(root.join("c")).unwrap());
        assert_eq!(went, [changed.clone(), vanished("c")]);
        // Under its new name it was not met.
        let renamed = refused(jobs, |root| fs::rename(root.join("b"), root.join("d")).unwrap());
        assert_eq!(renamed, [changed.clone(), vanished("b")]);
        let replaced = refused(jobs, |root| {
            fs::rename(root.join("sub"), root.join("other")).unwrap();
            fs::create_dir(root.join("sub")).unwrap();
        });
        assert_eq!(replaced, [changed.as_str()]);
        let gone = refused(jobs, |root| fs::remove_dir_all(root).unwrap());
        assert_eq!(gone, [changed, vanished("b"), vanished("c"), vanished("sub")]);
        assert_eq!(refused(jobs, |_| ()), [""; 0]);
    }
}

const LOG_BYTES: usize = 8 << 20;
/// What the file that is written to all the time holds: a number that counts up.
const MARK: &str = "COUNTER=";

fn counter(number: u64) -> String {
    format!("{MARK}{number:08}")
}

/// The counters in an image, in their order.
fn counters(image: &[u8]) -> Vec<u64> {
    let marks = image.windows(MARK.len()).enumerate();
    let marks = marks.filter(|(_, bytes)| *bytes == MARK.as_bytes()).map(|(at, _)| at + MARK.len());
    marks.map(|at| std::str::from_utf8(&image[at..at + 8]).unwrap().parse().unwrap()).collect()
}

/// Builds of `src/log` while `write` goes on and on, with one number after the other. The change is
/// told; or, if nobody wrote in just that time, the image has the file as it was at one moment, of which
/// `whole` is sure.
fn build_while(
    write: impl Fn(&mut File, u64) + Sync,
    told: impl Fn(&str) -> bool,
    whole: impl Fn(&[u64]) -> bool,
) {
    let place = Workplace::new();
    let source = TreeBuilder::new(place.path("src"));
    source.file("a", "x").filled("log", LOG_BYTES).file("z", "y").settle();
    let mut failed = 0;
    for jobs in ["1", "4"].repeat(8) {
        let (done, begun) = (AtomicBool::new(false), AtomicBool::new(false));
        let ran = scope(|scope| {
            scope.spawn(|| {
                let mut log = OpenOptions::new().write(true).open(place.path("src/log")).unwrap();
                log.set_len(LOG_BYTES as u64).unwrap();
                for number in 0.. {
                    write(&mut log, number);
                    begun.store(true, Ordering::Relaxed);
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            while !begun.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let ran = place.run(&["--from", "src", "--jobs", jobs, "-q", "out.img"]);
            done.store(true, Ordering::Relaxed);
            ran
        });
        if ran.status == Some(0) {
            let found = counters(&fs::read(place.path("out.img")).unwrap());
            assert!(whole(&found), "not of one moment: {found:?}");
            fs::remove_file(place.path("out.img")).unwrap();
            continue;
        }
        failed += 1;
        assert_eq!(ran.status, Some(4));
        let line = ran.stderr.strip_prefix("mkfatimg: src/log: ").unwrap_or(&ran.stderr);
        assert!(told(line) && line.ends_with(&format!(" {AGAIN}\n")), "{}", ran.stderr);
        assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 1, "something is left");
    }
    assert!(failed > 0, "nobody wrote in the time of any build");
}

#[test]
fn a_file_that_grows_all_the_time_is_told_or_stored_as_it_was_at_one_moment() {
    let grow = |log: &mut File, number| {
        log.seek(std::io::SeekFrom::End(0)).unwrap();
        log.write_all(counter(number).as_bytes()).unwrap();
    };
    let told = |line: &str| line.starts_with("grew from");
    build_while(grow, told, |found| found.iter().copied().eq(0..found.len() as u64));
}

#[test]
fn a_file_that_is_overwritten_all_the_time_is_told_or_stored_as_it_was_at_one_moment() {
    let overwrite = |log: &mut File, number| {
        log.write_all_at(counter(number).as_bytes(), 0).unwrap();
        log.write_all_at(counter(number).as_bytes(), LOG_BYTES as u64 - 100).unwrap();
    };
    let told = |line: &str| line.starts_with("changed while the image was built");
    build_while(overwrite, told, |found| match found {
        [first, last] => first == last || *first == last + 1,
        // Before the very first number came to the end of the file.
        [first] => *first == 0,
        _ => false,
    });
}

#[test]
fn a_file_that_turns_unreadable_after_the_scan_is_told() {
    let place = Workplace::new();
    let faults = Faults { open_after: Some((0, Errno::EACCES)), ..Faults::default() };
    let Some(disk) = FaultyDisk::mount(place.path("src"), faults) else { return };
    disk.put("file", vec![1; 5000]);
    disk.put("large", vec![2; 3 << 20]);
    fs::create_dir(place.path("out")).unwrap();
    for jobs in ["1", "4"] {
        let ran = place.run(&["--from", "src", "--jobs", jobs, "-q", "out/out.img"]);
        assert_eq!(ran.stderr, "mkfatimg: src/file: cannot be read: permission denied\n");
        assert_eq!(ran.status, Some(4));
        assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 0);
    }
}

/// Directories of 200 letters in each other, `levels` of them, with a file in the last.
fn nest(place: &Workplace, levels: usize) -> String {
    let name = "d".repeat(200);
    fs::create_dir(place.path("src")).unwrap();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut here: OwnedFd = openat(CWD, place.path("src"), flags, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&here, &name, Mode::from_raw_mode(0o755)).unwrap();
        here = openat(&here, &name, flags, Mode::empty()).unwrap();
    }
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(&here, "a file in the depth", flags, Mode::from_raw_mode(0o644)).unwrap();
    File::from(file).write_all(b"deep").unwrap();
    format!("src/{}", [name.as_str()].repeat(levels).join("/"))
}

#[test]
fn what_lies_deeper_than_a_path_can_name_is_refused_by_name() {
    // The path of the directory has 4023 bytes, and that of the file more than 4042.
    let place = Workplace::new();
    nest(&place, 20);
    let ran = place.run(&["--from", "src", "-q", "--verify", "out.img"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let place = Workplace::new();
    let path = nest(&place, 21);
    let ran = place.run(&["--from", "src", "-q", "out.img"]);
    let remedy = "a path has at most 4095 bytes: give a directory on the way as a source of its own, \
                  --from DIRECTORY:/PATH";
    assert_eq!(
        ran.stderr,
        format!("mkfatimg: {path}: cannot be read: file name too long; {remedy}\n")
    );
    assert_eq!(ran.status, Some(4));
    assert!(!place.path("out.img").exists());
    // The remedy helps.
    let half = &path[..3 + 201 * 10];
    let ran = place.run(&["--from", &format!("{half}:/half"), "-q", "--verify", "out.img"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
}

#[test]
fn a_sparse_file_of_the_largest_size_is_stored_and_one_byte_more_is_refused() {
    let place = Workplace::new();
    let source = TreeBuilder::new(place.path("src"));
    let file = File::create(source.root().join("sparse")).unwrap();
    let most = u64::from(u32::MAX);
    file.set_len(most).unwrap();
    file.write_all_at(b"end", most - 3).unwrap();
    let ran = place.run(&["--from", "src", "-q", "out.img"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let volume = support::invariants::read(&place.path("out.img"), 0).unwrap();
    let stored = volume.find("/sparse").unwrap();
    assert_eq!(u64::from(stored.size), most);
    let image = File::open(place.path("out.img")).unwrap();
    let image_bytes = image.metadata().unwrap().len();
    // The file lies at the end of the image, but for its last cluster.
    let mut tail = vec![0; 64 << 10];
    image.read_exact_at(&mut tail, image_bytes - (64 << 10)).unwrap();
    let at = tail.windows(3).position(|bytes| bytes == b"end").unwrap();
    assert!(tail[..at].iter().chain(&tail[at + 3..]).all(|byte| *byte == 0));
    file.set_len(most + 1).unwrap();
    let ran = place.run(&["--from", "src", "-q", "more.img"]);
    let words =
        "is 4294967296 bytes long; a file on FAT has at most 4294967295; split or compress it";
    assert_eq!(ran.stderr, format!("mkfatimg: src/sparse: {words}\n"));
    assert_eq!(ran.status, Some(3));
    assert!(!place.path("more.img").exists());
}

/// A build by one thread has addresses for what it needs without files, and then for these per file.
const ADDRESSES_OF_ALL_KIB: usize = 24 << 10;
const ADDRESSES_PER_FILE_BYTES: usize = 300;

#[test]
fn many_files_take_memory_in_proportion() {
    let asked = std::env::var("MKFATIMG_FILES").ok().map(|text| text.parse().unwrap());
    let most: usize = asked.unwrap_or(60_000);
    let place = Workplace::new();
    fs::create_dir(place.path("src")).unwrap();
    let mut made = 0;
    for files in [most / 4, most / 2, most] {
        while made < files {
            let folder = place.path(&format!("src/{}/{}", made / 50_000, made / 500));
            fs::create_dir_all(&folder).unwrap();
            for number in made..(made + 500).min(files) {
                fs::write(folder.join(format!("a file with number {number:07}")), "x").unwrap();
            }
            made = (made + 500).min(files);
        }
        let kib = ADDRESSES_OF_ALL_KIB + files * ADDRESSES_PER_FILE_BYTES / 1024;
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {kib} && exec \"$0\" \"$@\"")]);
        command.arg(env!("CARGO_BIN_EXE_mkfatimg")).args(["--from", "src", "--jobs", "1"]);
        command.args(["--cluster-size", "512", "-q", "--json", "out.img"]);
        let output = command.current_dir(place.folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{files} files, {kib} KiB: {output:?}");
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["contents"]["files"], files);
    }
}
