//! Block devices as output: what must be said before one is overwritten, that nobody uses it, and that
//! whoever looks at any moment finds the new volume or none. The devices are loop devices.

mod support;

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mkfatimg::event::{Observer, Stage};
use mkfatimg::sink::Output;
use mkfatimg::verify::{Depth, VerifyError};
use mkfatimg::{Delivery, Error};
use rustix::fs::OFlags;
use serde_json::Value;
use support::{
    Expect, LoopDevice, Mounted, Ran, Tool, TreeBuilder, Workplace, assert_sound, request, schema,
    sha256, skip,
};

const MIB: u64 = 1 << 20;
const DEVICE_BYTES: u64 = 64 * MIB;

/// A tree and a device full of something.
struct Bench {
    // Before the folder in which its file lies.
    device: LoopDevice,
    place: Workplace,
}

impl Bench {
    fn new(bytes: u64, options: &[&str]) -> Option<Self> {
        let place = Workplace::new();
        let tree = TreeBuilder::new(place.path("tree"));
        tree.filled("sub/large", 3_000_123).filled("a longer name", 5000).file("empty", "");
        tree.file("kernel.img", "text\n").settle();
        let file = place.path("disk");
        fs::write(&file, vec![0xA5; usize::try_from(bytes).unwrap()]).unwrap();
        let device = LoopDevice::over(&file, options)?;
        Some(Self { device, place })
    }

    fn run(&self, flags: &[&str]) -> Ran {
        self.run_on(self.device.name(), flags)
    }

    fn run_on(&self, name: &str, flags: &[&str]) -> Ran {
        self.place.run(&[&["--from", "tree"], flags, &[name]].concat())
    }

    /// Overwrites the device, which must work and be sound.
    fn build(&self, flags: &[&str]) -> Ran {
        let ran = self.run(&[&["--force"], flags].concat());
        assert_eq!(ran.status, Some(0), "{flags:?}: {}", ran.stderr);
        ran
    }

    fn expect(&self) -> Expect {
        Expect { source: Some(self.place.path("tree")), ..Expect::default() }
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.device.file).unwrap()
    }

    /// Refused with that status and that message, and nothing of the device has changed.
    fn refused(&self, flags: &[&str], status: i32, message: &str) {
        let before = sha256(&self.bytes());
        let ran = self.run(flags);
        let told = (ran.status, ran.stderr.replace(self.device.name(), "DEVICE"));
        assert_eq!(told, (Some(status), format!("mkfatimg: {message}\n")), "{flags:?}");
        assert_eq!(sha256(&self.bytes()), before, "{flags:?}");
    }
}

fn zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

#[test]
fn a_device_is_overwritten_only_when_that_is_said() {
    let Some(bench) = Bench::new(DEVICE_BYTES, &[]) else { return };
    bench.refused(
        &[],
        2,
        "DEVICE: is a block device of 64M, and would lose all that it holds; add --force to overwrite it",
    );
    // To plan for it does no harm.
    let ran = bench.run(&["--dry-run", "--json"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["image_bytes"], DEVICE_BYTES);
    assert!(bench.bytes().iter().all(|byte| *byte == 0xA5));
}

#[test]
fn without_a_size_the_volume_fills_the_device_in_its_own_sectors() {
    for sector_bytes in [512_u64, 4096] {
        let sector_size = sector_bytes.to_string();
        let options = ["--sector-size", sector_size.as_str()];
        let Some(bench) = Bench::new(DEVICE_BYTES, &options) else { return };
        let ran = bench.build(&["--json", "--verify"]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["image_bytes"], DEVICE_BYTES);
        assert_eq!(report["volume"]["sector_bytes"], sector_bytes);
        assert_eq!(report["written"]["target"], "device");
        assert_eq!(report["written"]["page_cache_reason"], "device");
        let parts = ["bytes", "hole_bytes", "left_bytes"];
        let parts = parts.map(|part| report["written"][part].as_u64().unwrap());
        assert_eq!(parts.iter().sum::<u64>(), DEVICE_BYTES);
        let schema = schema::of("docs/report.schema.json");
        assert_eq!(schema::judged(&schema, &[report]).unwrap_or_default().concat(), [""; 0]);
        assert_sound(&bench.device.file, &bench.expect());
        // The same bytes as in a file.
        let size = DEVICE_BYTES.to_string();
        let flags = ["--sector-size", &sector_size, "--size", &size];
        assert_eq!(bench.run_on("image", &flags).status, Some(0));
        assert_eq!(sha256(&bench.bytes()), sha256(&fs::read(bench.place.path("image")).unwrap()));
        let other = if sector_bytes == 512 { "4096" } else { "512" };
        bench.refused(
            &["--force", "--sector-size", other],
            2,
            &format!("--sector-size {other}: the device has sectors of {sector_bytes} bytes, and readers want those; leave it out"),
        );
    }
}

#[test]
fn a_size_is_no_larger_than_the_device() {
    let Some(bench) = Bench::new(DEVICE_BYTES, &[]) else { return };
    bench.refused(
        &["--force", "--size", "65M"],
        3,
        "DEVICE: has 64M, and the image needs 65M; leave out --size for an image of just that size",
    );
    let ran = bench.run(&["--force", "--dry-run", "--size", "65M"]);
    assert_eq!(ran.status, Some(3), "{}", ran.stderr);
    // The least that holds the tree, since auto was typed; old signatures at the end go all the same.
    bench.build(&["--size", "auto"]);
    let bytes = bench.bytes();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64;
    assert!(zero(&bytes[bytes.len() - MIB as usize..]));
    assert_eq!(used, DEVICE_BYTES - MIB - 1);
    assert_eq!(bytes[4 * MIB as usize], 0xA5);
    let part = bench.place.path("part");
    fs::write(&part, &bytes[..4 * MIB as usize]).unwrap();
    let fields = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let volume_bytes = u64::from(fields(19)) * 512;
    assert!(volume_bytes < 4 * MIB, "{volume_bytes}");
    assert!(zero(&bytes[volume_bytes as usize..4 * MIB as usize]));
    File::options().write(true).open(&part).unwrap().set_len(volume_bytes).unwrap();
    assert_sound(&part, &bench.expect());
}

#[test]
fn a_tree_that_does_not_fit_is_told_how_large_a_device_would_do() {
    let Some(bench) = Bench::new(2 * MIB, &[]) else { return };
    bench.refused(
        &["--force"],
        3,
        "image of 2M is too small: the source needs 2948K in clusters of 4K, and there is room for 2028K; take a device or a partition of 2976K",
    );
}

#[test]
fn a_device_in_use_is_refused_with_the_name_of_the_user() {
    let Some(mut bench) = Bench::new(DEVICE_BYTES, &[]) else { return };
    let name = bench.device.name().to_owned();
    // Somebody holds it.
    let exclusive = OFlags::EXCL.bits().cast_signed();
    let held = File::options().read(true).custom_flags(exclusive).open(&name).unwrap();
    bench.refused(&["--force"], 1, "DEVICE: is in use; end what has it open");
    drop(held);
    // It is mounted; it is swapped to.
    let Some(mkfs) = Tool::find("mkfs.ext4") else { return };
    assert_eq!(mkfs.run(["-q", "-F", &name]).status, Some(0));
    let at = bench.place.path("a mount");
    if let Some(mounted) = Mounted::device(at.clone(), Path::new(&name)) {
        let at = at.display();
        let message = format!(
            "DEVICE: is in use: it, or a partition of it, is mounted at {at}; unmount it first"
        );
        bench.refused(&["--force"], 1, &message);
        drop(mounted);
    }
    let (Some(mkswap), Some(swapon)) = (Tool::find("mkswap"), Tool::find("swapon")) else { return };
    let Some(swapoff) = Tool::find("swapoff") else { return };
    assert_eq!(mkswap.run([&name]).status, Some(0));
    let ran = swapon.run([&name]);
    if ran.status == Some(0) {
        let message = "DEVICE: is in use: the system swaps to DEVICE; end that first (swapoff)";
        bench.refused(&["--force"], 1, message);
        assert_eq!(swapoff.run([&name]).status, Some(0));
    } else {
        skip(&format!("swapping to a loop device is not allowed: {}", ran.stderr.trim_end()));
    }
    // A partition of it is mounted: the whole is refused, and so is the partition.
    bench.build(&["--partition-table", "mbr"]);
    if bench.device.add_partitions().is_none() {
        return;
    }
    let partition = bench.device.partition(1);
    let partition = partition.to_str().unwrap();
    assert_eq!(mkfs.run(["-q", "-F", partition]).status, Some(0));
    let Some(mounted) = Mounted::device(at.clone(), Path::new(partition)) else { return };
    let at = at.display();
    let message = format!(
        "DEVICE: is in use: it, or a partition of it, is mounted at {at}; unmount it first"
    );
    bench.refused(&["--force"], 1, &message);
    assert_eq!(bench.run_on(partition, &["--force"]).status, Some(1));
    drop(mounted);
    bench.build(&[]);
}

#[test]
fn a_read_only_device_is_refused() {
    let Some(bench) = Bench::new(DEVICE_BYTES, &["--read-only"]) else { return };
    bench.refused(&["--force"], 1, "DEVICE: is read-only");
}

#[test]
fn what_makes_no_sense_with_a_device_is_refused_with_the_reason() {
    let Some(bench) = Bench::new(DEVICE_BYTES, &[]) else { return };
    let free = "free clusters of a device may hold anything";
    for (flags, flag, why) in [
        (
            &["--if-changed"][..],
            "--if-changed",
            "the old image is gone before the new one can be compared with it",
        ),
        (&["--preallocate"], "--preallocate", "a device has all the room that it will ever have"),
        (&["--depfile", "rule"], "--depfile", "the time of a device tells make nothing"),
        (&["--digest", "sha256"], "--digest", free),
        (&["--bmap", "map"], "--bmap", free),
    ] {
        let flags = [&["--force"], flags].concat();
        bench.refused(
            &flags,
            2,
            &format!("{flag} is for image files; DEVICE is a block device: {why}"),
        );
    }
    let name = bench.device.name().to_owned();
    bench.refused(
        &["--force", "--map", &name],
        2,
        "--map DEVICE: is the image as well; name another file",
    );
    let ran = bench.run_on("image", &["--map", &name]);
    assert_eq!(ran.status, Some(2));
    assert_eq!(ran.stderr, format!("mkfatimg: --map {name}: is a block device; name a file\n"));
    // A file that tells of it is as good as any.
    bench.build(&["--map", "map", "--sync"]);
    let map: Value = serde_json::from_slice(&fs::read(bench.place.path("map")).unwrap()).unwrap();
    assert!(map.to_string().contains("a longer name"));
}

#[test]
fn a_partition_knows_where_it_lies() {
    let Some(mut bench) = Bench::new(DEVICE_BYTES, &[]) else { return };
    bench.build(&["--partition-table", "mbr", "--partition-start", "2M"]);
    if bench.device.add_partitions().is_none() {
        return;
    }
    let partition = bench.device.partition(1);
    let partition = partition.to_str().unwrap();
    let ran = bench.run_on(partition, &["--force", "--partition-table", "mbr"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("is for whole disks"), "{}", ran.stderr);
    let head = bench.bytes()[..2 * MIB as usize].to_vec();
    let ran = bench.run_on(partition, &["--force", "--json"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["volume"]["hidden_sectors"], 4096);
    assert_eq!(report["image_bytes"], DEVICE_BYTES - 2 * MIB);
    // The disk around it is as it was, and finds the new volume.
    let bytes = bench.bytes();
    assert!(bytes[..2 * MIB as usize] == head);
    let part = bench.place.path("part");
    fs::write(&part, &bytes[2 * MIB as usize..]).unwrap();
    assert_sound(&part, &bench.expect());
}

/// What programs that look for signatures find.
fn signatures(device: &LoopDevice) -> Option<Vec<String>> {
    let wipefs = Tool::find("wipefs")?;
    let ran = wipefs.run(["--no-act", "--noheadings", "--output", "TYPE", device.name()]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let mut found: Vec<String> = ran.stdout.lines().map(|line| line.trim().to_owned()).collect();
    found.sort();
    found.dedup();
    Some(found)
}

/// What `blkid` takes the device for.
fn probed(device: &LoopDevice) -> Option<String> {
    let ran = Tool::find("blkid")?.run(["--probe", "--output", "export", device.name()]);
    let kind = ran.stdout.lines().find_map(|line| line.strip_prefix("TYPE="));
    let table = ran.stdout.lines().find_map(|line| line.strip_prefix("PTTYPE="));
    Some(kind.or(table).unwrap_or("nothing").to_owned())
}

#[test]
fn nothing_that_was_there_before_confuses_a_prober() {
    for (maker, words) in [
        ("mkfs.ext4", &["-q", "-F"][..]),
        ("mkfs.btrfs", &["-q", "-f"]),
        ("mkfs.xfs", &["-q", "-f"]),
        ("mkswap", &[]),
        ("sgdisk", &["--new", "1:2048:0"]),
    ] {
        let Some(bench) = Bench::new(320 * MIB, &[]) else { return };
        let Some(maker) = Tool::find(maker) else { continue };
        let name = bench.device.name();
        let ran = maker.run(words.iter().copied().chain([name]));
        assert_eq!(ran.status, Some(0), "{words:?}: {}", ran.stderr);
        // The size of the whole, and one that ends long before.
        for flags in [&[][..], &["--size", "40M"]] {
            bench.build(flags);
            assert_eq!(probed(&bench.device), Some("vfat".to_owned()));
            assert_eq!(signatures(&bench.device), Some(vec!["vfat".to_owned()]));
        }
        bench.build(&["--partition-table", "gpt"]);
        assert_eq!(probed(&bench.device), Some("gpt".to_owned()));
        let sgdisk = Tool::find("sgdisk").unwrap();
        assert!(sgdisk.run(["--verify", name]).stdout.contains("No problems found"));
    }
}

#[test]
fn free_clusters_that_cannot_be_zeroed_at_once_stay_as_they_are() {
    // Files in ramfs know no holes, and so neither do loop devices over them.
    let place = Workplace::new();
    let Some(ram) = Mounted::ramfs(place.path("ram")) else { return };
    let tree = TreeBuilder::new(place.path("tree"));
    tree.filled("large", 3_000_123).settle();
    // A hole of a file is part of the file.
    File::create(place.path("tree/sparse")).unwrap().set_len(3 * MIB).unwrap();
    let disk = ram.path("disk");
    fs::write(&disk, vec![0xA5; DEVICE_BYTES as usize]).unwrap();
    let Some(device) = LoopDevice::over(&disk, &[]) else { return };
    let ran = place.run(&["--from", "tree", "--force", "--json", "-v", "--verify", device.name()]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let left_bytes = report["written"]["left_bytes"].as_u64().unwrap();
    let regions = report["regions"].as_array().unwrap();
    let free = regions.iter().find(|region| region["name"] == "free").unwrap();
    let free_at = free["at_byte"].as_u64().unwrap();
    assert!(free_at > 5 * MIB);
    let bytes = fs::read(&disk).unwrap();
    let end = DEVICE_BYTES - MIB;
    assert_eq!(left_bytes, end - free_at.next_multiple_of(4096));
    assert!(
        bytes[free_at.next_multiple_of(4096) as usize..end as usize].iter().all(|b| *b == 0xA5)
    );
    assert!(zero(&bytes[end as usize..]));
    let Some(fsck) = Tool::find("fsck.fat") else { return };
    assert_eq!(fsck.run(["-n", device.name()]).status, Some(0));
    drop(device);
    drop(ram);
}

#[test]
fn there_is_one_sync_and_it_comes_after_the_last_write() {
    let (Some(bench), Some(strace)) = (Bench::new(DEVICE_BYTES, &[]), Tool::find("strace")) else {
        return;
    };
    for flags in [&[][..], &["--sync"], &["--direct", "never"], &["--partition-table", "gpt"]] {
        let log = bench.place.path("log");
        let mut command = strace.command();
        command.args(["-f", "-e", "trace=pwrite64,fallocate,fsync,fdatasync,sync,syncfs", "-o"]);
        command.arg(&log).arg(env!("CARGO_BIN_EXE_mkfatimg")).args(["-q", "--force", "--from"]);
        command.arg(bench.place.path("tree")).args(flags).arg(bench.device.name());
        assert!(command.status().unwrap().success());
        let log = fs::read_to_string(log).unwrap();
        let calls: Vec<&str> = log.lines().filter(|line| !line.contains("+++")).collect();
        let syncs: Vec<usize> =
            (0..calls.len()).filter(|at| calls[*at].contains("sync(")).collect();
        assert_eq!(syncs, [calls.len() - 1], "{flags:?}: {calls:#?}");
        // The first block is the last to be written.
        assert!(
            calls[calls.len() - 2].ends_with(", 4096, 0) = 4096"),
            "{}",
            calls[calls.len() - 2]
        );
    }
}

/// Acts once when writing begins.
struct WhenWriting<F> {
    act: F,
    stop: AtomicBool,
    acted: AtomicBool,
}

impl<F: Fn() + Sync> Observer for WhenWriting<F> {
    fn stage(&self, stage: Stage) {
        if matches!(stage, Stage::Write { .. }) && !self.acted.swap(true, Ordering::Relaxed) {
            (self.act)();
        }
    }

    fn must_stop(&self) -> bool {
        self.acted.load(Ordering::Relaxed) && self.stop.load(Ordering::Relaxed)
    }
}

#[test]
fn a_build_that_fails_leaves_no_volume() {
    let Some(bench) = Bench::new(DEVICE_BYTES, &[]) else { return };
    let name = bench.device.name().to_owned();
    let tree = bench.place.path("tree");
    let fail = |stop: bool, flags: bool| {
        bench.build(if flags { &["--partition-table", "gpt"] } else { &[] });
        let mut output = Output::at(Path::new(&name)).unwrap();
        output.force = true;
        let act = || {
            if !stop {
                fs::write(tree.join("kernel.img"), "longer text\n").unwrap();
            }
        };
        let watch = WhenWriting { act, stop: stop.into(), acted: false.into() };
        let delivery = Delivery::of(output, Depth::Structure);
        let error = mkfatimg::build(&request(&tree), &delivery, &watch).unwrap_err();
        let Error::Emptied { output, cause } = &error else { panic!("{error}") };
        assert_eq!(output, &name);
        let text = error.to_string();
        assert_eq!(text, format!("{cause}; {name} holds no volume now"));
        assert!(zero(&bench.bytes()[..4096]));
        assert_eq!(probed(&bench.device), Some("nothing".to_owned()));
        TreeBuilder::new(&tree).file("kernel.img", "text\n").settle();
        text
    };
    for with_table in [false, true] {
        assert!(fail(true, with_table).starts_with("stopped; "));
        assert!(fail(false, with_table).contains("kernel.img"));
    }
    // Without the word nothing begins.
    bench.build(&[]);
    let delivery = Delivery::of(Output::at(Path::new(&name)).unwrap(), Depth::Structure);
    let error = mkfatimg::build(&request(&tree), &delivery, &()).unwrap_err();
    assert!(error.to_string().ends_with("add --force to overwrite it"), "{error}");
    assert_sound(&bench.device.file, &bench.expect());
}

/// Changes a byte of the device when the image is to be compared with its source.
struct Corruptor<'a>(&'a File);

impl Observer for Corruptor<'_> {
    fn stage(&self, stage: Stage) {
        if matches!(stage, Stage::Verify { .. }) {
            // Where the contents of files lie.
            self.0.write_all_at(&[0xFF; 4096], MIB).unwrap();
        }
    }
}

#[test]
fn a_device_that_does_not_hold_what_was_written_holds_no_volume_then() {
    let Some(bench) = Bench::new(DEVICE_BYTES, &[]) else { return };
    let mut output = Output::at(&bench.device.path).unwrap();
    output.force = true;
    let device = File::options().write(true).open(&bench.device.path).unwrap();
    let delivery = Delivery::of(output, Depth::Contents);
    let request = request(&bench.place.path("tree"));
    let error = mkfatimg::build(&request, &delivery, &Corruptor(&device)).unwrap_err();
    let Error::Emptied { cause, .. } = &error else { panic!("{error}") };
    assert!(matches!(**cause, Error::Verify(VerifyError::Differs(_))), "{error}");
    assert!(zero(&bench.bytes()[..4096]));
    assert_eq!(probed(&bench.device), Some("nothing".to_owned()));
}

#[test]
fn a_device_that_takes_no_more_is_an_error_of_the_system() {
    // The device is larger than what there is to keep its bytes in.
    let place = Workplace::new();
    let Some(small) = Mounted::tmpfs(place.path("small"), "size=2m") else { return };
    TreeBuilder::new(place.path("tree")).filled("large", 6_000_000).settle();
    let Some(device) = LoopDevice::new(&small.path("disk"), DEVICE_BYTES, &[]) else { return };
    let ran = place.run(&["--from", "tree", "--force", device.name()]);
    assert_eq!(ran.status, Some(1), "{}", ran.stderr);
    let end = format!("; {} holds no volume now\n", device.name());
    assert!(ran.stderr.ends_with(&end), "{}", ran.stderr);
    let mut first = [1; 4096];
    File::open(device.file.as_path()).unwrap().read_exact_at(&mut first, 0).unwrap();
    assert!(zero(&first));
    drop(device);
    drop(small);
}

#[test]
fn a_signal_says_what_became_of_the_device() {
    let Some(bench) = Bench::new(DEVICE_BYTES, &[]) else { return };
    bench.build(&[]);
    let mut times_told = 0;
    for milliseconds in (0..40).step_by(3) {
        let name = bench.device.name();
        let mut child = bench
            .place
            .command(&["--from", "tree", "--force", "--jobs", "1", name])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        let pid = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let status = child.wait().unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let emptied = stderr == format!("mkfatimg: interrupted; {name} holds no volume now\n");
        times_told += u32::from(emptied);
        let found = probed(&bench.device);
        if emptied {
            assert_eq!(status.signal(), Some(15));
            assert_eq!(found, Some("nothing".to_owned()));
            bench.build(&[]);
        } else {
            // Before anything was written the old one stays, after everything the new one.
            assert_eq!(found, Some("vfat".to_owned()), "{stderr}");
            assert_sound(&bench.device.file, &bench.expect());
        }
    }
    eprintln!("{times_told} signals met the writing");
}

/// Kills so many builds, each at another moment, and looks after each.
fn kill_builds(bench: &Bench, flags: &[&str], mut look: impl FnMut(u64)) {
    let began = Instant::now();
    bench.build(flags);
    let longest = u64::try_from(began.elapsed().as_micros()).unwrap() * 3 / 2;
    let rounds = std::env::var("MKFATIMG_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(30);
    // A fixed sequence that has no period within the rounds.
    let mut state = 12_345_u64;
    for round in 0..rounds {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let label = format!("ROUND{}", round % 10);
        let words = ["--from", "tree", "--force", "--label", &label];
        let words = [&words, flags, &[bench.device.name()]].concat();
        let mut child = bench.place.command(&words).spawn().unwrap();
        std::thread::sleep(Duration::from_micros((state >> 33) % longest));
        child.kill().unwrap();
        child.wait().unwrap();
        look(round);
    }
}

#[test]
fn killed_at_any_moment_it_holds_a_sound_volume_or_none() {
    let Some(bench) = Bench::new(DEVICE_BYTES, &[]) else { return };
    let Some(fsck) = Tool::find("fsck.fat") else { return };
    let (mut sound, mut none) = (0, 0);
    kill_builds(&bench, &[], |round| match probed(&bench.device).unwrap_or_default().as_str() {
        "vfat" => {
            sound += 1;
            let ran = fsck.run(["-n", bench.device.name()]);
            assert_eq!(ran.status, Some(0), "round {round}: {}", ran.stdout);
            assert_sound(&bench.device.file, &bench.expect());
        }
        "nothing" => none += 1,
        other => panic!("round {round}: {other}"),
    });
    eprintln!("{sound} times a sound volume, {none} times none");
}

#[test]
fn killed_at_any_moment_the_place_of_its_partition_holds_a_sound_volume_or_none() {
    let Some(bench) = Bench::new(DEVICE_BYTES, &[]) else { return };
    let (mut tables, mut sound, mut none) = (0, 0, 0);
    kill_builds(&bench, &["--partition-table", "mbr"], |round| {
        let bytes = bench.bytes();
        // The kernel may know the place of the partition still, whatever the table says now.
        let volume = &bytes[MIB as usize..];
        if zero(&volume[..4096]) {
            none += 1;
        } else {
            sound += 1;
            let part = bench.place.path("part");
            fs::write(&part, volume).unwrap();
            assert_sound(&part, &bench.expect());
        }
        if !zero(&bytes[..4096]) {
            tables += 1;
            assert!(!zero(&volume[..4096]), "round {round}: a table without its volume");
        }
    });
    eprintln!("{sound} times a sound volume, {tables} of them with a table, {none} times none");
}
