//! Faults of the machine: disks that are full or fail, too little of everything, and places where an
//! image or what comes with it cannot go. What is not good ends with a message and a status, and
//! everything is as it was before.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use support::faulty::{Errno, Faults, FaultyDisk};
use support::{Mounted, Ran, TreeBuilder, Workplace, make_fifo};

const KIB: u64 = 1 << 10;
const NO_ROOM: &str = "no room left for it";
const BOTH: &str =
    "no room left for it; the old one stays until the new one is complete, so both need room";

/// The image and all that can come with it.
const ALL: [&str; 10] = [
    "--map",
    "disk/map",
    "--bmap",
    "disk/bmap",
    "--depfile",
    "disk/dep",
    "--digest",
    "sha256",
    "-q",
    "disk/out.img",
];

/// A folder with a source of some 2 MiB and the image that is right for it.
struct Scene {
    place: Workplace,
    right: Vec<u8>,
}

impl Scene {
    fn new() -> Self {
        let place = Workplace::new();
        let source = TreeBuilder::new(place.path("src"));
        source.filled("first", 1_700_000).filled("sub/second", 300_000).file("zero", "").settle();
        let ran = place.run(&["--from", "src", "-q", "right.img"]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        let right = fs::read(place.path("right.img")).unwrap();
        Self { place, right }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    /// The command with `arguments` after a shell's `preparation`.
    fn run_after(&self, preparation: &str, arguments: &[&str]) -> (Ran, Option<i32>) {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{preparation} && exec \"$0\" \"$@\"")]);
        command.arg(env!("CARGO_BIN_EXE_mkfatimg")).args(["--from", "src"]).args(arguments);
        command.current_dir(self.place.folder.path()).env_remove("SOURCE_DATE_EPOCH");
        // Without memory for it a backtrace waits for itself.
        command.env_remove("RUST_BACKTRACE");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let signal = output.status.signal();
        (output.into(), signal)
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.place.run(&[&["--from", "src"], arguments].concat())
    }

    /// A run that fails with this line and leaves everything as it was; tells nothing else.
    #[track_caller]
    fn fails(&self, arguments: &[&str], status: i32, line: &str) {
        let before = contents(self.place.folder.path());
        let ran = self.run(arguments);
        assert_eq!(ran.stderr, format!("mkfatimg: {line}\n"));
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""));
        assert!(contents(self.place.folder.path()) == before, "something has changed: {line}");
    }
}

/// All files in a folder and below it, and where links lead.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let found = fs::symlink_metadata(&path).unwrap();
        if found.is_dir() {
            contents.extend(self::contents(&path));
            contents.insert(path, Vec::new());
        } else if found.is_file() {
            let bytes = fs::read(&path).unwrap();
            contents.insert(path, bytes);
        } else {
            let target =
                fs::read_link(&path).map(|target| target.into_os_string().into_encoded_bytes());
            contents.insert(path, target.unwrap_or_default());
        }
    }
    contents
}

fn old_files(disk: &Path) {
    for name in ["map", "bmap", "dep", "out.img"] {
        fs::write(disk.join(name), format!("old {name}")).unwrap();
    }
}

/// Builds onto `disk` with every amount of free room from none on, in steps, until it is enough.
/// Every build before that fails, names what has no room, and leaves the disk as it was.
fn fill_up_to(scene: &Scene, disk: &Mounted, free_bytes: impl Fn() -> u64, step_bytes: u64) {
    for old in [false, true] {
        let mut told = BTreeMap::new();
        for step in 0.. {
            if old {
                old_files(&disk.at);
            }
            let keep = step * step_bytes;
            let filler = fs::File::create(disk.path("filler")).unwrap();
            let full = rustix::fs::fallocate(
                &filler,
                rustix::fs::FallocateFlags::empty(),
                0,
                free_bytes().saturating_sub(keep).max(1),
            );
            full.unwrap();
            drop(filler);
            let before = contents(&disk.at);
            let ran = scene.run(&ALL);
            let after = contents(&disk.at);
            fs::remove_file(disk.path("filler")).unwrap();
            if ran.status == Some(0) {
                assert!(fs::read(disk.path("out.img")).unwrap() == scene.right);
                assert_eq!(after.len(), 5, "{:?}", after.keys());
                break;
            }
            assert_eq!(ran.status, Some(1), "{}", ran.stderr);
            assert!(before == after, "the disk has changed with {keep} bytes free: {}", ran.stderr);
            let reason = if old { BOTH } else { NO_ROOM };
            let line = ran.stderr.strip_prefix("mkfatimg: disk/").unwrap();
            let name =
                line.strip_suffix(&format!(": {reason}\n")).unwrap_or_else(|| panic!("{line}"));
            *told.entry(name.to_owned()).or_insert(0) += 1;
            assert!(keep < 64 << 20, "never enough");
        }
        assert!(told["out.img"] > 3, "{told:?}");
        for entry in fs::read_dir(&disk.at).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

fn free_bytes(disk: &Path) -> u64 {
    let found = rustix::fs::statvfs(disk).unwrap();
    found.f_bavail * found.f_frsize
}

#[test]
fn a_disk_in_memory_is_full_at_every_moment() {
    let scene = Scene::new();
    let Some(disk) = Mounted::tmpfs(scene.path("disk"), "size=6m") else { return };
    fill_up_to(&scene, &disk, || free_bytes(&disk.at), 36 * KIB);
}

#[test]
fn a_disk_with_ext4_is_full_at_every_moment() {
    let scene = Scene::new();
    let Some(disk) = Mounted::ext4(scene.path("disk"), 16 << 20) else { return };
    // Of the room that is told as free, the filler needs some for its own blocks of extents.
    fill_up_to(&scene, &disk, || free_bytes(&disk.at) - 64 * KIB, 100 * KIB);
}

#[test]
fn a_limit_on_the_size_of_files_is_met_at_every_moment() {
    let scene = Scene::new();
    fs::create_dir(scene.path("disk")).unwrap();
    old_files(&scene.path("disk"));
    let image_bytes = scene.right.len() as u64;
    // The shell counts in blocks of 512 bytes. The map is longer than one, and the image longer than all.
    let mut names = BTreeMap::new();
    for blocks in (0..8).chain((8..image_bytes / 512).step_by(211)) {
        let before = contents(&scene.path("disk"));
        let (ran, _) = scene.run_after(&format!("ulimit -f {blocks}"), &ALL);
        let why =
            "the file system or a limit of this process (ulimit -f) allows no file of this size";
        let line = ran.stderr.strip_prefix("mkfatimg: disk/").unwrap();
        let name = line.strip_suffix(&format!(": {why}\n")).unwrap_or_else(|| panic!("{line}"));
        names.insert(name.to_owned(), blocks);
        assert_eq!(ran.status, Some(1));
        assert!(contents(&scene.path("disk")) == before, "{blocks} blocks");
        // A stream is a file too, where the shell has made it one.
        let to_file = format!("ulimit -f {blocks} && exec >stdout");
        let (ran, _) = scene.run_after(&to_file, &["--map", "disk/map", "-q", "-"]);
        assert_eq!(ran.stderr, format!("mkfatimg: standard output: {why}\n"));
        assert_eq!(ran.status, Some(1));
        assert!(contents(&scene.path("disk")) == before, "{blocks} blocks");
    }
    assert_eq!(names.keys().collect::<Vec<_>>(), ["out.img"]);
    // Of companions only: the image is a stream into a pipe, which has no size.
    for (flag, blocks) in [("--map", 1), ("--bmap", 0)] {
        let before = contents(&scene.path("disk"));
        let arguments = [flag, "disk/map", "-q", "-"];
        let (ran, _) = scene.run_after(&format!("ulimit -f {blocks}"), &arguments);
        assert_eq!(ran.status, Some(1), "{flag}: {}", ran.stderr);
        assert!(
            ran.stderr.starts_with("mkfatimg: disk/map: the file system or a limit"),
            "{}",
            ran.stderr
        );
        assert!(contents(&scene.path("disk")) == before, "{flag}");
    }
}

#[test]
fn too_few_descriptors_are_told_or_do() {
    let scene = Scene::new();
    fs::create_dir(scene.path("disk")).unwrap();
    old_files(&scene.path("disk"));
    let before = contents(&scene.path("disk"));
    let mut enough = Vec::new();
    for descriptors in 3..=16 {
        for jobs in ["1", "64"] {
            let arguments = [&["--jobs", jobs], &ALL[..]].concat();
            let (ran, signal) = scene.run_after(&format!("ulimit -n {descriptors}"), &arguments);
            // The loader of the system finds no library then.
            let of_loader = ran.status == Some(127);
            if ran.status == Some(0) {
                assert!(fs::read(scene.path("disk/out.img")).unwrap() == scene.right);
                enough.push(descriptors);
                old_files(&scene.path("disk"));
            } else {
                assert_eq!(signal, None, "{descriptors}: {}", ran.stderr);
                let words = ": cannot be read: too many open files\n";
                let told = ran.stderr.ends_with(words)
                    || ran.stderr.ends_with(": cannot be written: too many open files\n");
                assert!(of_loader || told && ran.status == Some(1), "{descriptors}: {ran:?}");
            }
            assert!(contents(&scene.path("disk")) == before, "{descriptors}");
        }
    }
    assert!(enough.contains(&16), "{enough:?}");
}

/// Any program may abort without memory; nothing is half-made all the same.
#[test]
fn too_little_memory_leaves_nothing_half_made() {
    let scene = Scene::new();
    fs::create_dir(scene.path("disk")).unwrap();
    old_files(&scene.path("disk"));
    let before = contents(&scene.path("disk"));
    let mut done = 0;
    let mut ends = BTreeMap::new();
    for kib in (3_000..90_000).step_by(2_900) {
        let arguments = [&["--jobs", "64", "--verify"], &ALL[..]].concat();
        let (ran, signal) = scene.run_after(&format!("ulimit -v {kib}"), &arguments);
        *ends.entry((ran.status, signal)).or_insert(0) += 1;
        if ran.status == Some(0) {
            assert!(fs::read(scene.path("disk/out.img")).unwrap() == scene.right, "{kib} KiB");
            done += 1;
            old_files(&scene.path("disk"));
        }
        assert!(contents(&scene.path("disk")) == before, "{kib} KiB: {}", ran.stderr);
    }
    assert!(done > 3 && ends.len() > 1, "{ends:?}");
}

#[test]
fn sixty_four_threads_make_the_same_image() {
    let scene = Scene::new();
    for out in ["out.img", "-"] {
        let mut command = scene.place.command(&["--from", "src", "--jobs", "64", "-q", out]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let made = if out == "-" { output.stdout } else { fs::read(scene.path(out)).unwrap() };
        assert!(made == scene.right, "{out}");
    }
}

#[test]
fn companions_have_no_place_where_an_image_has_none() {
    let scene = Scene::new();
    fs::create_dir(scene.path("dir")).unwrap();
    fs::write(scene.path("plain"), "no folder").unwrap();
    let _socket = UnixListener::bind(scene.path("socket")).unwrap();
    symlink("dir", scene.path("link")).unwrap();
    symlink("round", scene.path("round")).unwrap();
    fs::write(scene.path("out.img"), "old image").unwrap();
    for flag in ["--map", "--bmap", "--depfile"] {
        for (there, why) in [
            ("dir", "is a directory; name a file in it"),
            ("link", "is a directory; name a file in it"),
            ("socket", "is a socket; write a file and copy it there"),
            ("round", "cannot be written: too many symbolic links"),
            ("none/map", "there is no directory none; make it first"),
            ("plain/map", "there is no directory plain; make it first"),
            ("/dev/full", "no room left for it"),
        ] {
            scene.fails(&[flag, there, "out.img"], 1, &format!("{there}: {why}"));
        }
    }
}

#[test]
fn companions_on_a_disk_that_is_only_read_are_told_and_others_stay() {
    let scene = Scene::new();
    let Some(_disk) = Mounted::tmpfs(scene.path("disk"), "size=1m,ro") else { return };
    fs::write(scene.path("map"), "old map").unwrap();
    for flag in ["--bmap", "--depfile"] {
        let arguments = ["--map", "map", flag, "disk/there", "out.img"];
        let line = "disk/there: cannot be written: read-only file system";
        scene.fails(&arguments, 1, line);
    }
}

#[test]
fn image_and_companions_can_lie_on_disks_of_their_own() {
    let scene = Scene::new();
    let Some(one) = Mounted::tmpfs(scene.path("one"), "size=8m") else { return };
    let Some(other) = Mounted::tmpfs(scene.path("other"), "size=1m") else { return };
    symlink("one/old.img", scene.path("out.img")).unwrap();
    symlink(other.path("map"), scene.path("map")).unwrap();
    for old in [false, true] {
        if old {
            fs::write(one.path("old.img"), "old image").unwrap();
            fs::write(other.path("map"), "old map").unwrap();
        }
        let ran = scene.run(&["--map", "map", "-q", "out.img"]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert!(fs::read(one.path("old.img")).unwrap() == scene.right);
        assert!(fs::read(other.path("map")).unwrap().starts_with(b"{"));
        assert!(fs::symlink_metadata(scene.path("map")).unwrap().is_symlink());
        assert_eq!((contents(&one.at).len(), contents(&other.at).len()), (1, 1));
    }
}

/// A reader that goes away after some bytes, at many places of the stream.
#[test]
fn a_pipe_that_is_closed_at_any_byte_is_told_and_companions_stay() {
    let scene = Scene::new();
    fs::write(scene.path("map"), "old map").unwrap();
    let before = contents(scene.place.folder.path());
    let image_bytes = scene.right.len();
    for taken in [0, 1, 511, 512, 70_000, 1 << 20, image_bytes - 70_000] {
        let mut command = scene.place.command(&["--from", "src", "--map", "map", "-q", "-"]);
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut vec![0; taken]).unwrap();
        drop(stdout);
        let ran = Ran::from(child.wait_with_output().unwrap());
        let line = "standard output: the reader went away before all of it was written";
        // A pipe of its own holds 64 KiB that nobody reads.
        assert_eq!(ran.stderr, format!("mkfatimg: {line}\n"), "{taken}");
        assert_eq!(ran.status, Some(1));
        assert!(contents(scene.place.folder.path()) == before);
    }
    // Of a companion that is a stream.
    make_fifo(&scene.path("fifo"));
    let before = contents(scene.place.folder.path());
    let command = &mut scene.place.command(&["--from", "src", "--bmap", "fifo", "-q", "out.img"]);
    let child = command.spawn().unwrap();
    drop(fs::File::open(scene.path("fifo")).unwrap());
    let ran = Ran::from(child.wait_with_output().unwrap());
    // It may have written before the reader went, and then it knows nothing of it.
    if ran.status != Some(0) {
        let line = "fifo: the reader went away before all of it was written";
        assert_eq!((ran.status, ran.stderr), (Some(1), format!("mkfatimg: {line}\n")));
        assert!(contents(scene.place.folder.path()) == before);
    }
}

#[test]
fn a_disk_that_cannot_be_read_at_some_byte_is_told() {
    let place = Workplace::new();
    let Some(disk) = FaultyDisk::mount(place.path("src"), Faults::default()) else { return };
    disk.put("a", vec![1; 5000]);
    disk.put("large", vec![2; 3 << 20]);
    disk.put("z", vec![3; 700]);
    fs::create_dir(place.path("out")).unwrap();
    fs::write(place.path("out/map"), "old map").unwrap();
    let before = contents(&place.path("out"));
    for at in [600, 4999, 5000, 1 << 20, (3 << 20) - 1] {
        disk.set(Faults { read_at: Some((at, Errno::EIO)), ..Faults::default() });
        // The first file in the order of the image that has such a byte.
        let name = if at < 5000 { "a" } else { "large" };
        for jobs in ["1", "2", "8"] {
            for out in ["out/out.img", "-"] {
                let arguments = ["--from", "src", "--jobs", jobs, "--map", "out/map", "-q", out];
                let ran = place.run(&arguments);
                let line = format!("src/{name}: cannot be read: input/output error");
                assert_eq!(ran.stderr, format!("mkfatimg: {line}\n"), "{jobs} threads, byte {at}");
                assert_eq!(ran.status, Some(4));
                assert!(contents(&place.path("out")) == before);
            }
        }
    }
    // The read-back meets what the copy did not.
    disk.set(Faults { open_after: Some((3, Errno::EIO)), ..Faults::default() });
    let ran = place.run(&["--from", "src", "--jobs", "1", "-q", "--verify", "out/out.img"]);
    assert_eq!(ran.status, Some(4), "{}", ran.stderr);
    assert!(contents(&place.path("out")) == before);
}

#[test]
fn short_reads_and_writes_make_the_same_image() {
    let place = Workplace::new();
    let Some(source) = FaultyDisk::mount(place.path("src"), Faults::default()) else { return };
    let Some(disk) = FaultyDisk::mount(place.path("disk"), Faults::default()) else { return };
    source.put("a", b"not much".to_vec());
    source.put("large", (0..1_500_000_u32).map(|at| (at % 251) as u8).collect::<Vec<u8>>());
    assert_eq!(place.run(&["--from", "src", "-q", "right.img"]).status, Some(0));
    let right = fs::read(place.path("right.img")).unwrap();
    for most in [1000, 4096, 65_537] {
        source.set(Faults { most_read_bytes: Some(most), ..Faults::default() });
        let faults = Faults {
            most_read_bytes: Some(most),
            most_written_bytes: Some(most - 1),
            ..Faults::default()
        };
        disk.set(faults);
        for jobs in ["1", "4"] {
            let arguments = [
                "--from",
                "src",
                "--jobs",
                jobs,
                "--verify",
                "-q",
                "--map",
                "disk/map",
                "disk/out.img",
            ];
            let ran = place.run(&arguments);
            assert_eq!(ran.status, Some(0), "{}", ran.stderr);
            let found = disk.contents();
            assert!(found["out.img"] == right, "{most} bytes at a time, {jobs} threads");
            assert_eq!(found.keys().collect::<Vec<_>>(), ["map", "out.img"]);
            let script = format!(
                "{} --from src --jobs {jobs} -q - >>disk/stream",
                env!("CARGO_BIN_EXE_mkfatimg")
            );
            let mut command = Command::new("sh");
            command.args(["-c", &script]).current_dir(place.folder.path());
            assert!(command.status().unwrap().success());
            assert!(disk.contents()["stream"] == right, "{most} bytes at a time, {jobs} threads");
            fs::remove_file(place.path("disk/stream")).unwrap();
        }
    }
}

/// What a disk without unnamed files, holes, links and exchange of names can refuse besides.
#[test]
fn a_disk_that_refuses_a_step_keeps_what_it_had() {
    let scene = Scene::new();
    let Some(disk) = FaultyDisk::mount(scene.path("disk"), Faults::default()) else { return };
    let with = |faults| disk.set(faults);
    let none = Faults::default();
    for old in [false, true] {
        if old {
            old_files(&disk.at);
        }
        let before = disk.contents();
        let fails = |faults: Faults, line: &str| {
            with(faults);
            let ran = scene.run(&ALL);
            assert_eq!(
                (ran.status, ran.stderr.as_str()),
                (Some(1), format!("mkfatimg: {line}\n").as_str())
            );
            assert!(disk.contents() == before, "{line}: {:?}", disk.contents().keys());
        };
        let room = if old { BOTH } else { NO_ROOM };
        let faults = Faults { room_bytes: Some(1 << 20), ..none.clone() };
        fails(faults, &format!("disk/out.img: {room}"));
        // Told when a file is closed only, as NFS does.
        let faults = Faults { close: Some(Errno::ENOSPC), ..none.clone() };
        fails(faults, &format!("disk/out.img: {room}"));
        let faults = Faults { close: Some(Errno::EDQUOT), ..none.clone() };
        fails(faults, "disk/out.img: the quota leaves no room for it");
        let faults = Faults { close: Some(Errno::EIO), ..none.clone() };
        fails(faults, "disk/out.img: cannot be written: input/output error");
        let faults = Faults { rename: Some(Errno::EPERM), ..none.clone() };
        fails(faults, "disk/map: cannot be written: operation not permitted");
        let faults = Faults { extend: Some(Errno::EPERM), ..none.clone() };
        fails(faults, "disk/out.img: cannot be written: operation not permitted");
        if old {
            let faults = Faults { replace: Some(Errno::EEXIST), ..none.clone() };
            fails(faults, "disk/map: cannot be written: file exists");
        }
    }
    with(none);
    let ran = scene.run(&ALL);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let found = disk.contents();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["bmap", "dep", "map", "out.img"]);
    assert!(found["out.img"] == scene.right);
}

/// Also of what a shell has opened: the stream lies on the disk, and its last word comes at the end.
#[test]
fn a_stream_into_a_file_that_is_full_in_the_end_is_told() {
    let scene = Scene::new();
    let faults = Faults { close: Some(Errno::ENOSPC), ..Faults::default() };
    let Some(_disk) = FaultyDisk::mount(scene.path("disk"), faults) else { return };
    let (ran, _) = scene.run_after("exec >>disk/stream", &["-q", "-"]);
    assert_eq!(ran.stderr, format!("mkfatimg: standard output: {NO_ROOM}\n"));
    assert_eq!(ran.status, Some(1));
}

#[test]
fn a_slow_source_is_waited_for() {
    let place = Workplace::new();
    let Some(disk) = FaultyDisk::mount(place.path("src"), Faults::default()) else { return };
    disk.put("a", vec![1; 100_000]);
    disk.put("b", vec![2; 300_000]);
    assert_eq!(place.run(&["--from", "src", "-q", "right.img"]).status, Some(0));
    let read_delay = Duration::from_millis(20);
    disk.set(Faults { read_delay, most_read_bytes: Some(20_000), ..Faults::default() });
    for jobs in ["1", "4"] {
        let ran = place.run(&["--from", "src", "--jobs", jobs, "-q", "out.img"]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert!(
            fs::read(place.path("out.img")).unwrap() == fs::read(place.path("right.img")).unwrap()
        );
    }
}
