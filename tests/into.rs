//! A volume replaced in a disk image that is there: in which places that is done, what is refused, and
//! that nothing around the place is touched.

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use mkfatimg::event::{Observer, Stage};
use mkfatimg::sink::Output;
use mkfatimg::verify::Depth;
use mkfatimg::{Delivery, Error};
use serde_json::Value;
use support::{
    Expect, LoopDevice, Ran, Tool, TreeBuilder, Workplace, assert_sound, request, schema, sha256,
};

const MIB: u64 = 1 << 20;

/// A tree, and a disk on which every byte outside the table is of its own.
struct Bench {
    place: Workplace,
    sfdisk: Tool,
}

impl Bench {
    fn new() -> Option<Self> {
        let place = Workplace::new();
        let tree = TreeBuilder::new(place.path("tree"));
        tree.filled("sub/large", 1_000_123).filled("a longer name", 5000).file("empty", "");
        tree.settle();
        File::create(place.path("tree/sparse")).unwrap().set_len(MIB).unwrap();
        support::set_times(&place.path("tree"), support::TREE_SECONDS);
        Some(Self { place, sfdisk: Tool::find("sfdisk")? })
    }

    fn disk(&self) -> PathBuf {
        self.place.path("disk.img")
    }

    /// A disk of 64 MiB with that table, in `sfdisk`'s words.
    fn partition(&self, table: &str) {
        let bytes: Vec<u8> = (0..251).map(|at| at | 1).collect();
        let mut bytes = bytes.repeat(64 * MIB as usize / 251 + 1);
        bytes.truncate(64 * MIB as usize);
        fs::write(self.disk(), bytes).unwrap();
        // What could be taken for a table already.
        File::options().write(true).open(self.disk()).unwrap().write_all_at(&[0; 512], 0).unwrap();
        let script = self.place.path("table");
        fs::write(&script, table).unwrap();
        let mut command = self.sfdisk.command();
        command.args(["--quiet", "--no-tell-kernel"]).arg(self.disk());
        let ran: Ran = command.stdin(File::open(script).unwrap()).output().unwrap().into();
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    }

    fn fill(&self, bytes: std::ops::Range<u64>, byte: u8) {
        let file = File::options().write(true).open(self.disk()).unwrap();
        file.write_all_at(&vec![byte; (bytes.end - bytes.start) as usize], bytes.start).unwrap();
    }

    fn run(&self, into: &str, flags: &[&str]) -> Ran {
        self.place.run(&[&["--from", "tree", "--into", into], flags].concat())
    }

    /// Writes into a place, which must work: the place is sound, and nothing around it has changed.
    fn build(&self, into: &str, flags: &[&str], bytes: std::ops::Range<u64>) -> Value {
        let before = fs::read(self.disk()).unwrap();
        let ran = self.run(into, &[&["--json", "--verify"], flags].concat());
        assert_eq!(ran.status, Some(0), "{into} {flags:?}: {}", ran.stderr);
        let after = fs::read(self.disk()).unwrap();
        assert_eq!(before.len(), after.len());
        let (start, end) = (bytes.start as usize, bytes.end as usize);
        assert_eq!(sha256(&before[..start]), sha256(&after[..start]), "{into}: before the place");
        assert_eq!(sha256(&before[end..]), sha256(&after[end..]), "{into}: behind the place");
        let part = self.place.path("part");
        fs::write(&part, &after[start..end]).unwrap();
        assert_sound(&part, &Expect { source: Some(self.place.path("tree")), ..Expect::default() });
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["image_bytes"], bytes.end - bytes.start);
        assert_eq!(report["written"]["target"], "part");
        assert_eq!(report["written"]["left_bytes"], 0);
        report
    }

    /// Refused with that status and message, and nothing has changed.
    fn refused(&self, into: &str, flags: &[&str], status: i32, message: &str) {
        let before = sha256(&fs::read(self.disk()).unwrap());
        let ran = self.run(into, flags);
        let expected = (Some(status), format!("mkfatimg: {message}\n"));
        assert_eq!((ran.status, ran.stderr), expected, "{into} {flags:?}");
        assert_eq!(sha256(&fs::read(self.disk()).unwrap()), before, "{into}");
    }
}

const GPT: &str = "label: gpt\nstart=2048, size=20480, type=U\n\
    start=22529, size=40003, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7\n\
    start=80000, size=2000, type=L\n";
const MBR: &str = "label: dos\nstart=2048, size=20480, type=c\n\
    start=22529, size=40003, type=6\nstart=63000, size=1000, type=83\n\
    start=65000, size=60000, type=5\nstart=67048, size=20000, type=e\n";

#[test]
fn a_partition_becomes_the_new_volume_and_nothing_around_it_changes() {
    let Some(bench) = Bench::new() else { return };
    for table in [GPT, MBR] {
        bench.partition(table);
        let first = 2048 * 512..22_528 * 512;
        // Neither end on a block of the file, and not the usual boundary.
        let second = 22_529 * 512..62_532 * 512;
        let told = "partition 1 holds something that is no FAT volume; add --force to overwrite it";
        bench.refused("disk.img@p1", &[], 2, &format!("disk.img: {told}"));
        let report = bench.build("disk.img@p1", &["--force"], first.clone());
        let schema = schema::of("docs/report.schema.json");
        let judged = schema::judged(&schema, std::slice::from_ref(&report)).unwrap_or_default();
        assert_eq!(judged.concat(), [""; 0]);
        assert_eq!(report["output"], "disk.img, partition 1");
        assert_eq!(report["volume"]["hidden_sectors"], 2048);
        // A blank place needs no word, and neither does FAT.
        bench.fill(second.clone(), 0);
        let report = bench.build("disk.img@partition 2", &[], second.clone());
        assert_eq!(report["volume"]["hidden_sectors"], 22_529);
        // Clusters lie on their boundary of the disk.
        let data_at = report["volume"]["data_at_byte"].as_u64().unwrap();
        assert!((second.start + data_at).is_multiple_of(4096), "{data_at}");
        bench.build("disk.img@Partition2", &["--label", "AGAIN"], second.clone());
        // By its place, the volume is the same.
        let part = fs::read(bench.place.path("part")).unwrap();
        let at = format!("disk.img@{}", second.start);
        let report = bench.build(&at, &["--label", "AGAIN"], second.clone());
        assert_eq!(report["output"], format!("disk.img from byte {} on", second.start));
        assert!(part == fs::read(bench.place.path("part")).unwrap());
        let other = bench.build("disk.img@1M", &["--direct", "always", "--sync"], first);
        assert_eq!(other["volume"]["hidden_sectors"], 2048);
    }
}

#[test]
fn a_disk_that_we_made_gets_the_same_volume_again() {
    let Some(bench) = Bench::new() else { return };
    for (kind, sectors) in [("mbr", "512"), ("gpt", "512"), ("mbr", "4096"), ("gpt", "4096")] {
        let flags = ["--partition-table", kind, "--sector-size", sectors, "--size", "40M"];
        let words = [&["--from", "tree"][..], &flags, &["disk.img"]].concat();
        assert_eq!(bench.place.run(&words).status, Some(0));
        let made = sha256(&fs::read(bench.disk()).unwrap());
        let report = bench.run("disk.img@p1", &["--json", "--force"]);
        assert_eq!(report.status, Some(0), "{}", report.stderr);
        assert_eq!(sha256(&fs::read(bench.disk()).unwrap()), made, "{kind} {sectors}");
        let other = if sectors == "512" { "4096" } else { "512" };
        let message = format!(
            "--sector-size {other}: the disk has sectors of {sectors} bytes, and readers want those; leave it out"
        );
        bench.refused("disk.img@p1", &["--sector-size", other], 2, &message);
    }
    // An MBR does not tell its sectors: those that are asked for, where no volume knows better.
    let place = bench.place.path("part");
    File::options().write(true).open(bench.disk()).unwrap().set_len(0).unwrap();
    let flags = ["--partition-table", "mbr", "--sector-size", "4096", "--size", "40M"];
    let words = [&["--from", "tree"][..], &flags, &["disk.img"]].concat();
    assert_eq!(bench.place.run(&words).status, Some(0));
    bench.fill(MIB..40 * MIB, 0);
    bench.build("disk.img@p1", &["--sector-size", "4096"], MIB..40 * MIB);
    assert!(place.exists());
}

#[test]
fn a_place_that_is_not_what_it_should_be_is_refused() {
    let Some(bench) = Bench::new() else { return };
    let refused = |into: &str, message: &str| bench.refused(into, &["--force"], 2, message);
    bench.partition(MBR);
    refused("disk.img@p9", "disk.img: has no partition 9; it has 1, 2, 3 and 4");
    refused(
        "disk.img@p3",
        "disk.img: partition 3 is of type 83, which is not for FAT; change the type first if it is to hold FAT",
    );
    refused(
        "disk.img@p4",
        "disk.img: partition 4 is an extended one, which holds others; name the volume in it by its first byte (IMAGE@OFFSET)",
    );
    refused(
        "disk.img@3M",
        "disk.img: no FAT volume begins at byte 3145728, so that nothing tells how much may be written there; name a partition",
    );
    refused(
        "disk.img@64M",
        "disk.img: the place ends at byte 67108864, and the image has 67108864 bytes",
    );
    bench.partition(GPT);
    refused(
        "disk.img@p3",
        "disk.img: partition 3 is of type 0FC63DAF-8483-4772-8E79-3D69D8477DE4, which is not for FAT; change the type first if it is to hold FAT",
    );
    let file = File::options().write(true).open(bench.disk()).unwrap();
    file.set_len(20 * MIB).unwrap();
    refused(
        "disk.img@p2",
        "disk.img: partition 2 ends at byte 32016384, and the image has 20971520 bytes; the image was cut",
    );
    file.write_all_at(b"x", 1024 + 40).unwrap();
    refused("disk.img@p1", "disk.img: has a damaged GPT; let a partitioner repair it first");
    // Two that claim the same, and one that begins in the table.
    bench.partition("label: dos\nstart=2048, size=20480, type=c\n");
    let file = File::options().write(true).open(bench.disk()).unwrap();
    let entry = |first: u32, sectors: u32| {
        let mut entry = vec![0, 0, 0, 0, 0x0C, 0, 0, 0];
        entry.extend(first.to_le_bytes().iter().chain(&sectors.to_le_bytes()));
        entry
    };
    file.write_all_at(&entry(20_000, 10_000), 462).unwrap();
    refused("disk.img@p1", "disk.img: partition 1 overlaps partition 2; correct the table first");
    file.write_all_at(&entry(0, 2000), 462).unwrap();
    let over = "the place lies over the partition table or its backup; correct the table first";
    refused("disk.img@p2", &format!("disk.img: {over}"));
    file.write_all_at(&entry(40_000, 0), 462).unwrap();
    let ran = bench.run("disk.img@p2", &["--force"]);
    assert_eq!(ran.status, Some(2), "{}", ran.stderr);
    // A volume that says that it is longer than its partition.
    bench.run("disk.img@p1", &["--force"]);
    file.write_all_at(&entry(22_528, 20_000), 462).unwrap();
    file.write_all_at(&20_484_u16.to_le_bytes(), MIB + 19).unwrap();
    refused(
        "disk.img@1M",
        "disk.img: the volume there says that it ends at byte 11536384, across an end of partition 1; name the partition",
    );
    // No table at all: a blank disk, and a volume that is all of it.
    fs::write(bench.disk(), vec![0; MIB as usize]).unwrap();
    refused("disk.img@p1", "disk.img: has no partition table");
    assert_eq!(bench.place.run(&["--from", "tree", "--size", "4M", "disk.img"]).status, Some(0));
    refused(
        "disk.img@p1",
        "disk.img: has no partition table, but is a FAT volume itself: its place is @0",
    );
    bench.build("disk.img@0", &["--label", "whole"], 0..4 * MIB);
}

#[test]
fn what_a_partition_holds_is_told_and_kept() {
    let Some(bench) = Bench::new() else { return };
    // As small as each of them may be.
    for (maker, words, bytes, what) in [
        ("mkfs.ext4", &["-q", "-F"][..], 16 * MIB, "ext2, ext3 or ext4"),
        ("mkfs.btrfs", &["-q", "-f"], 128 * MIB, "btrfs"),
        ("mkfs.xfs", &["-q", "-f"], 300 * MIB, "XFS"),
        ("mkswap", &[], 16 * MIB, "swap space"),
    ] {
        let Some(maker) = Tool::find(maker) else { continue };
        let part = bench.place.path("made");
        File::create(&part).unwrap().set_len(bytes).unwrap();
        let mut command = maker.command();
        assert!(command.args(words).arg(&part).output().unwrap().status.success());
        let disk = File::create(bench.disk()).unwrap();
        disk.set_len(bytes + 2 * MIB).unwrap();
        let script = bench.place.path("table");
        fs::write(&script, "label: dos\nstart=2048, type=c\n").unwrap();
        let mut command = bench.sfdisk.command();
        command.args(["--quiet", "--no-tell-kernel"]).arg(bench.disk());
        assert!(command.stdin(File::open(script).unwrap()).status().unwrap().success());
        disk.write_all_at(&fs::read(&part).unwrap(), MIB).unwrap();
        let told = format!("disk.img: partition 1 holds {what}; add --force to overwrite it");
        bench.refused("disk.img@p1", &[], 2, &told);
        // To plan for it does no harm.
        let ran = bench.run("disk.img@p1", &["--dry-run"]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        bench.build("disk.img@p1", &["--force"], MIB..bytes + 2 * MIB);
    }
}

#[test]
fn words_that_make_no_sense_are_refused() {
    let Some(bench) = Bench::new() else { return };
    bench.partition(MBR);
    for (flags, named) in [
        (&["--size", "4M"][..], "--size"),
        (&["--partition-table", "mbr"], "--partition-table"),
        (&["--if-changed"], "--if-changed"),
        (&["--preallocate"], "--preallocate"),
        (&["--depfile", "d"], "--depfile"),
        (&["--bmap", "b"], "--bmap"),
        (&["--digest", "sha256"], "--digest"),
        (&["out.img"], "OUT"),
    ] {
        let ran = bench.run("disk.img@p1", flags);
        assert_eq!(ran.status, Some(2), "{flags:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(named), "{flags:?}: {}", ran.stderr);
    }
    for into in ["disk.img", "@p1", "disk.img@", "disk.img@p", "disk.img@p0", "disk.img@x"] {
        let ran = bench.run(into, &[]);
        assert_eq!(ran.status, Some(2), "{into}: {}", ran.stderr);
        assert!(ran.stderr.contains("--into"), "{into}: {}", ran.stderr);
    }
    bench.refused("tree@p1", &[], 2, "tree: is no regular file");
    let ran = bench.run("nothing@p1", &[]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.stderr.starts_with("mkfatimg: nothing: cannot be read: "), "{}", ran.stderr);
    if let Some(device) = LoopDevice::over(&bench.disk(), &[]) {
        let into = format!("{}@p1", device.name());
        let ran = bench.run(&into, &[]);
        assert_eq!(ran.status, Some(2));
        let told = "is a block device; name the device of the partition as the output instead";
        assert_eq!(ran.stderr, format!("mkfatimg: {}: {told}\n", device.name()));
    }
    // The last @ counts.
    fs::rename(bench.disk(), bench.place.path("a@b")).unwrap();
    fs::copy(bench.place.path("a@b"), bench.disk()).unwrap();
    let ran = bench.run("a@b@p1", &["--force"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
}

#[test]
fn a_tree_that_does_not_fit_is_refused_and_the_old_volume_stays() {
    let Some(bench) = Bench::new() else { return };
    bench.partition("label: dos\nstart=2048, size=2048, type=1\n");
    bench.fill(MIB..2 * MIB, 0);
    let ran = bench.run("disk.img@p1", &[]);
    assert_eq!(ran.status, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("take a device or a partition of "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("--size"), "{}", ran.stderr);
    // The image in the source is an output of the build.
    bench.partition(MBR);
    fs::rename(bench.disk(), bench.place.path("tree/disk.img")).unwrap();
    let ran = bench.run("tree/disk.img@p1", &["--force"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("disk.img"), "{}", ran.stderr);
}

/// Stops when writing has begun.
struct Stopper(std::sync::atomic::AtomicBool);

impl Observer for Stopper {
    fn stage(&self, stage: Stage) {
        self.0.store(matches!(stage, Stage::Write { .. }), std::sync::atomic::Ordering::Relaxed);
    }

    fn must_stop(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[test]
fn a_build_that_stops_leaves_no_volume_and_all_the_rest() {
    let Some(bench) = Bench::new() else { return };
    bench.partition(MBR);
    let second = 22_529 * 512..62_532 * 512;
    bench.build("disk.img@p2", &["--force"], second.clone());
    let before = fs::read(bench.disk()).unwrap();
    let name = "disk.img, partition 2".to_owned();
    let output = Output::part(bench.disk(), second.clone(), name.clone());
    let delivery = Delivery::of(output, Depth::Structure);
    let mut request = request(&bench.place.path("tree"));
    request.size = mkfatimg::plan::request::ImageSize::Place(second.end - second.start);
    let error = mkfatimg::build(&request, &delivery, &Stopper(false.into())).unwrap_err();
    assert!(matches!(error, Error::Emptied { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!("stopped; no image was written; {name} holds no volume now")
    );
    let after = fs::read(bench.disk()).unwrap();
    let (start, end) = (second.start as usize, second.end as usize);
    assert!(after[start..start + 4096].iter().all(|byte| *byte == 0));
    assert!(before[..start] == after[..start] && before[end..] == after[end..]);
    // Nobody takes it for FAT, and the next build needs the word.
    let told =
        "disk.img: partition 2 holds something that is no FAT volume; add --force to overwrite it";
    bench.refused("disk.img@p2", &[], 2, told);
    bench.build("disk.img@p2", &["--force"], second);
}

#[test]
fn killed_at_any_moment_the_place_holds_a_sound_volume_or_none() {
    let Some(bench) = Bench::new() else { return };
    bench.partition(MBR);
    let place = 22_529 * 512..62_532_u64 * 512;
    bench.build("disk.img@p2", &["--force"], place.clone());
    let around = |bytes: &[u8]| {
        let (start, end) = (place.start as usize, place.end as usize);
        (sha256(&bytes[..start]), sha256(&bytes[end..]))
    };
    let before = around(&fs::read(bench.disk()).unwrap());
    let started = std::time::Instant::now();
    bench.run("disk.img@p2", &[]);
    let microseconds = u64::try_from(started.elapsed().as_micros()).unwrap();
    let (mut sound, mut none) = (0, 0);
    let rounds = 24;
    for round in 0..rounds {
        let words = ["--from", "tree", "--force", "--into", "disk.img@p2"];
        let mut child = bench.place.command(&words).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(microseconds * round / rounds));
        child.kill().unwrap();
        child.wait().unwrap();
        let bytes = fs::read(bench.disk()).unwrap();
        assert_eq!(around(&bytes), before, "round {round}");
        let volume = &bytes[place.start as usize..place.end as usize];
        if volume[..4096].iter().all(|byte| *byte == 0) {
            none += 1;
        } else {
            sound += 1;
            let part = bench.place.path("part");
            fs::write(&part, volume).unwrap();
            let source = Some(bench.place.path("tree"));
            assert_sound(Path::new(&part), &Expect { source, ..Expect::default() });
        }
    }
    eprintln!("{sound} times a sound volume, {none} times none");
    assert_eq!(sound + none, rounds);
}
