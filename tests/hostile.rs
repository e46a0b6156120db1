//! What others do meanwhile: sources that change, outputs that refuse, signals.

mod support;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_setfl, makedev, mknodat};
use support::{
    Expect, Mounted, Ran, Tool, TreeBuilder, Workplace, assert_sound, make_fifo, set_time,
};

/// Larger than what a builder reads ahead of a reader that waits: a pipe and its own buffer.
const FIRST_BYTES: usize = 4 << 20;
const LATER_BYTES: usize = 100_000;
const TICK: Duration = Duration::from_millis(1);

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// A folder with a source `src`: a large file, then smaller ones and an empty one.
struct Scene {
    place: Workplace,
    source: TreeBuilder,
}

impl std::ops::Deref for Scene {
    type Target = Workplace;

    fn deref(&self) -> &Workplace {
        &self.place
    }
}

impl Scene {
    fn new() -> Self {
        let place = Workplace::new();
        let source = TreeBuilder::new(place.path("src"));
        source
            .filled("first", FIRST_BYTES)
            .filled("later", LATER_BYTES)
            .filled("sub/deep", LATER_BYTES)
            .file("zero", "")
            .settle();
        Self { place, source }
    }

    /// The same, run by a shell after `preparation`.
    fn command_after(&self, preparation: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{preparation}; exec \"$0\" \"$@\"")]);
        command.arg(env!("CARGO_BIN_EXE_mkfatimg")).args(arguments);
        command.current_dir(self.folder.path()).env_remove("SOURCE_DATE_EPOCH");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A run that fails with this status and this line, and leaves the folder as it was.
    fn fails(&self, command: &mut Command, status: i32, line: &str) {
        let before = listing(self.folder.path());
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.stderr, format!("mkfatimg: {line}\n"));
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""));
        assert_eq!(listing(self.folder.path()), before);
    }

    fn holds_source(&self, image: &str) {
        let expect = Expect { source: Some(self.path("src")), ..Expect::default() };
        assert_sound(&self.path(image), &expect);
    }
}

/// The names in a folder and the bytes of what is no directory, to see that nothing changed.
fn listing(folder: &Path) -> Vec<(String, u64, u64)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let told = |entry: fs::DirEntry| {
        let found = entry.metadata().unwrap();
        let bytes = if found.is_dir() { 0 } else { found.len() };
        (entry.file_name().to_string_lossy().into_owned(), found.ino(), bytes)
    };
    let mut names: Vec<_> = entries.map(told).collect();
    names.sort();
    names
}

/// A build into a FIFO whose reader took the first bytes only: everything is scanned and planned,
/// `first` is being copied, and no other file has been opened.
struct Paused {
    child: Child,
    fifo: File,
    taken: Vec<u8>,
}

impl Paused {
    fn new(scene: &Scene, arguments: &[&str]) -> Self {
        make_fifo(&scene.path("fifo"));
        let arguments = [&["--from", "src"], arguments, &["fifo"]].concat();
        let mut child = scene.command(&arguments).spawn().unwrap();
        let nonblocking = OFlags::NONBLOCK.bits() as i32;
        let mut fifo = OpenOptions::new()
            .read(true)
            .custom_flags(nonblocking)
            .open(scene.path("fifo"))
            .unwrap();
        let mut taken = vec![0; 512];
        loop {
            match fifo.read(&mut taken) {
                // Nobody writes yet.
                Ok(0) => assert_eq!(child.try_wait().unwrap(), None, "ended before it wrote"),
                Ok(count) => {
                    taken.truncate(count);
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
            sleep(TICK);
        }
        fcntl_setfl(&fifo, OFlags::empty()).unwrap();
        Self { child, fifo, taken }
    }

    /// Takes the rest.
    fn drain(mut self) -> (Ran, Vec<u8>) {
        self.fifo.read_to_end(&mut self.taken).unwrap();
        let output = self.child.wait_with_output().unwrap();
        (output.into(), self.taken)
    }
}

/// Builds while `change` happens to the source behind the builder's back, and expects the build to
/// fail with this line.
fn notices(change: impl FnOnce(&Path), line: &str) {
    let scene = Scene::new();
    let paused = Paused::new(&scene, &[]);
    change(&scene.path("src"));
    expect_change(paused, line);
}

fn expect_change(paused: Paused, line: &str) {
    let (ran, _) = paused.drain();
    assert_eq!(
        ran.stderr,
        format!(
            "mkfatimg: {line} while the image was built; build again when nothing changes the source\n"
        )
    );
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(4), ""));
}

#[test]
fn a_source_that_nobody_changes_is_streamed_to_a_fifo_which_stays_a_fifo() {
    let scene = Scene::new();
    let (ran, streamed) = Paused::new(&scene, &[]).drain();
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(fs::symlink_metadata(scene.path("fifo")).unwrap().file_type().is_fifo());
    fs::write(scene.path("streamed.img"), &streamed).unwrap();
    scene.holds_source("streamed.img");
    assert_eq!(scene.run(&["--from", "src", "out.img"]).status, Some(0));
    assert!(streamed == fs::read(scene.path("out.img")).unwrap(), "FIFO and file differ");
}

#[test]
fn a_file_that_vanished_is_noticed() {
    notices(|src| fs::remove_file(src.join("later")).unwrap(), "src/later: vanished");
    notices(|src| fs::remove_dir_all(src.join("sub")).unwrap(), "src/sub/deep: vanished");
    notices(
        |src| fs::rename(src.join("later"), src.join("new name")).unwrap(),
        "src/later: vanished",
    );
}

#[test]
fn a_file_that_shrank_is_noticed() {
    let shrink = |name: &'static str, bytes| {
        move |src: &Path| {
            OpenOptions::new().write(true).open(src.join(name)).unwrap().set_len(bytes).unwrap();
        }
    };
    notices(shrink("later", 99_999), "src/later: shrank from 100000 to 99999 bytes");
    notices(shrink("later", 0), "src/later: shrank from 100000 to 0 bytes");
    // In the middle of its copy.
    notices(shrink("first", 1000), "src/first: shrank from 4194304 to 1000 bytes");
}

#[test]
fn a_file_that_grew_is_noticed() {
    let grow = |name: &'static str| {
        move |src: &Path| {
            let mut file = OpenOptions::new().append(true).open(src.join(name)).unwrap();
            file.write_all(b"more").unwrap();
        }
    };
    notices(grow("later"), "src/later: grew from 100000 to 100004 bytes");
    notices(grow("first"), "src/first: grew from 4194304 to 4194308 bytes");
    notices(grow("zero"), "src/zero: grew from 0 to 4 bytes");
}

#[test]
fn a_file_that_was_written_to_is_noticed() {
    let overwrite = |src: &Path| {
        let mut file = OpenOptions::new().write(true).open(src.join("later")).unwrap();
        file.write_all(b"other").unwrap();
    };
    notices(overwrite, "src/later: changed");
    notices(|src| set_time(&src.join("later"), 1_000_000_000), "src/later: changed");
    notices(|src| set_time(&src.join("first"), 1_000_000_000), "src/first: changed");
    notices(|src| set_time(&src.join("zero"), 1_000_000_000), "src/zero: changed");
}

#[test]
fn a_file_in_the_place_of_another_is_noticed_whatever_its_size() {
    for bytes in [LATER_BYTES, LATER_BYTES + 1, LATER_BYTES - 1, 0] {
        let replace = |src: &Path| {
            // As editors save: a new file takes the old one's name.
            fs::write(src.join("new"), vec![1; bytes]).unwrap();
            fs::rename(src.join("new"), src.join("later")).unwrap();
        };
        notices(replace, "src/later: was replaced by another file");
    }
    let replace_empty = |src: &Path| {
        fs::write(src.join("new"), "").unwrap();
        fs::rename(src.join("new"), src.join("zero")).unwrap();
    };
    notices(replace_empty, "src/zero: was replaced by another file");
}

#[test]
fn a_link_in_the_place_of_a_file_is_noticed_and_not_followed() {
    for name in ["later", "zero"] {
        let replace = |src: &Path| {
            fs::rename(src.join(name), src.join("moved")).unwrap();
            symlink("moved", src.join(name)).unwrap();
        };
        notices(replace, &format!("src/{name}: was replaced by another file"));
    }
}

#[test]
fn a_link_in_the_place_of_a_folder_leads_to_no_other_file() {
    let replace = |src: &Path| {
        fs::rename(src.join("sub"), src.join("moved")).unwrap();
        TreeBuilder::new(src.join("other")).filled("deep", LATER_BYTES).settle();
        symlink("other", src.join("sub")).unwrap();
    };
    notices(replace, "src/sub/deep: was replaced by another file");
}

#[test]
fn a_fifo_in_the_place_of_a_file_is_noticed_and_not_waited_for() {
    for name in ["later", "zero"] {
        let replace = |src: &Path| {
            fs::remove_file(src.join(name)).unwrap();
            make_fifo(&src.join(name));
        };
        notices(replace, &format!("src/{name}: was replaced by another file"));
    }
}

#[test]
fn a_socket_in_the_place_of_a_file_is_noticed() {
    let replace = |src: &Path| {
        fs::remove_file(src.join("later")).unwrap();
        drop(UnixListener::bind(src.join("later")).unwrap());
    };
    notices(replace, "src/later: was replaced by another file");
}

#[test]
fn a_directory_in_the_place_of_a_file_is_noticed() {
    for name in ["later", "zero"] {
        let replace = |src: &Path| {
            fs::remove_file(src.join(name)).unwrap();
            fs::create_dir(src.join(name)).unwrap();
        };
        notices(replace, &format!("src/{name}: was replaced by another file"));
    }
}

/// As [`notices`], with a file of 1 MiB that is one hole.
fn notices_of_sparse(change: impl FnOnce(&Path), line: &str) {
    let scene = Scene::new();
    File::create(scene.path("src/sparse")).unwrap().set_len(1 << 20).unwrap();
    scene.source.settle();
    let paused = Paused::new(&scene, &[]);
    change(&scene.path("src/sparse"));
    expect_change(paused, line);
}

#[test]
fn a_sparse_file_that_shrank_is_noticed() {
    let shrink = |sparse: &Path| {
        OpenOptions::new().write(true).open(sparse).unwrap().set_len(5000).unwrap();
    };
    notices_of_sparse(shrink, "src/sparse: shrank from 1048576 to 5000 bytes");
}

#[test]
fn a_fifo_in_the_place_of_a_sparse_file_is_noticed() {
    let replace = |sparse: &Path| {
        fs::remove_file(sparse).unwrap();
        make_fifo(sparse);
    };
    notices_of_sparse(replace, "src/sparse: was replaced by another file");
}

#[test]
fn the_source_is_blamed_in_the_report_for_its_change() {
    let scene = Scene::new();
    let paused = Paused::new(&scene, &["--json"]);
    fs::remove_file(scene.path("src/later")).unwrap();
    let (ran, _) = paused.drain();
    assert_eq!(ran.status, Some(4));
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(found["status"], "failed");
    assert_eq!(found["problems"][0]["blame"], "source");
    let text = found["problems"][0]["text"].as_str().unwrap();
    assert_eq!(ran.stderr, format!("mkfatimg: {text}\n"));
}

#[test]
fn a_file_that_came_after_the_scan_is_not_in_the_image() {
    let scene = Scene::new();
    let paused = Paused::new(&scene, &[]);
    scene.source.file("new", "x");
    let (ran, streamed) = paused.drain();
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    fs::remove_file(scene.path("src/new")).unwrap();
    fs::write(scene.path("streamed.img"), &streamed).unwrap();
    scene.holds_source("streamed.img");
}

#[test]
fn a_reader_that_goes_away_in_the_middle_is_told() {
    let scene = Scene::new();
    let Paused { child, fifo, .. } = Paused::new(&scene, &[]);
    drop(fifo);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.stderr, "mkfatimg: fifo: the reader went away before all of it was written\n");
    assert_eq!(ran.status, Some(1));
}

#[test]
fn a_folder_for_the_image_must_be_there() {
    let scene = Scene::new();
    fs::write(scene.path("plain"), "no folder").unwrap();
    for (out, folder) in [
        ("missing/out.img", "missing"),
        ("missing/deeper/out.img", "missing/deeper"),
        ("plain/out.img", "plain"),
    ] {
        let line = format!("{out}: there is no directory {folder}; make it first");
        scene.fails(&mut scene.command(&["--from", "src", out]), 1, &line);
    }
    assert!(!scene.path("missing").exists());
}

#[test]
fn a_name_that_ends_as_a_folders_is_refused_before_the_work() {
    let scene = Scene::new();
    let line = "missing/: there is no directory missing; make it first";
    scene.fails(&mut scene.command(&["--from", "src", "missing/"]), 1, line);
    scene.fails(&mut scene.command(&["--from", "src", "--dry-run", "missing/"]), 1, line);
}

#[test]
fn what_is_no_place_for_an_image_is_refused_with_a_word_on_what_it_is() {
    let scene = Scene::new();
    fs::create_dir(scene.path("dir")).unwrap();
    let _socket = UnixListener::bind(scene.path("socket")).unwrap();
    symlink("dir", scene.path("link")).unwrap();
    symlink("round", scene.path("round")).unwrap();
    for (out, what) in [
        ("dir", "is a directory; name a file in it"),
        ("dir/", "is a directory; name a file in it"),
        ("link", "is a directory; name a file in it"),
        ("socket", "is a socket; write a file and copy it there"),
        ("round", "cannot be written: too many symbolic links"),
    ] {
        scene.fails(&mut scene.command(&["--from", "src", out]), 1, &format!("{out}: {what}"));
    }
}

#[test]
fn a_block_device_without_a_driver_is_an_error_of_the_system() {
    let scene = Scene::new();
    // A number that no driver has.
    let made = mknodat(
        CWD,
        scene.path("disk"),
        FileType::BlockDevice,
        Mode::from_raw_mode(0o600),
        makedev(240, 7),
    );
    if let Err(error) = made {
        support::skip(&format!("no device can be made here: {error}"));
        return;
    }
    scene.fails(
        &mut scene.command(&["--from", "src", "disk"]),
        1,
        "disk: cannot be written: no such device or address",
    );
}

#[test]
fn a_full_device_is_told_without_talk_of_an_old_image() {
    let scene = Scene::new();
    for arguments in [
        &["--from", "src", "/dev/full"][..],
        &["--from", "src", "--progress", "never", "/dev/full"],
    ] {
        let ran = scene.run(arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(1), ""));
        assert_eq!(ran.stderr, "mkfatimg: /dev/full: no room left for it\n");
    }
}

#[test]
fn a_full_disk_is_told_and_nothing_is_left_but_the_old_image() {
    let scene = Scene::new();
    let Some(mounted) = Mounted::tmpfs(scene.path("disk"), "size=1m") else { return };
    for old in [None, Some("old image")] {
        let both = "; the old one stays until the new one is complete, so both need room";
        let both = if old.is_some() { both } else { "" };
        let room = &format!("disk/out.img: no room left for it{both}");
        if let Some(old) = old {
            fs::write(mounted.at.join("out.img"), old).unwrap();
        }
        for flags in [&[][..], &["--preallocate"], &["--sync"]] {
            let before = listing(&mounted.at);
            let arguments = [&["--from", "src"], flags, &["disk/out.img"]].concat();
            scene.fails(&mut scene.command(&arguments), 1, room);
            assert_eq!(listing(&mounted.at), before, "{flags:?}");
        }
    }
    assert_eq!(fs::read(mounted.at.join("out.img")).unwrap(), b"old image");
}

#[test]
fn a_read_only_disk_is_told() {
    let scene = Scene::new();
    let Some(_mounted) = Mounted::tmpfs(scene.path("disk"), "size=8m,ro") else { return };
    let line = "disk/out.img: cannot be written: read-only file system";
    scene.fails(&mut scene.command(&["--from", "src", "disk/out.img"]), 1, line);
}

#[test]
fn a_limit_on_the_size_of_files_is_told_and_nothing_is_left() {
    let scene = Scene::new();
    let limit =
        "the file system or a limit of this process (ulimit -f) allows no file of this size";
    fs::write(scene.path("old.img"), "old image").unwrap();
    for out in ["out.img", "old.img"] {
        let mut command = scene.command_after("ulimit -f 1000", &["--from", "src", out]);
        scene.fails(&mut command, 1, &format!("{out}: {limit}"));
    }
    assert_eq!(fs::read(scene.path("old.img")).unwrap(), b"old image");
}

#[test]
fn a_limit_on_the_size_of_files_is_told_of_standard_output_too() {
    let scene = Scene::new();
    let mut command = scene.command_after("ulimit -f 1000", &["--from", "src", "-"]);
    command.stdout(File::create(scene.path("stdout")).unwrap());
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(
        ran.stderr,
        "mkfatimg: standard output: the file system or a limit of this process (ulimit -f) allows no file of this size\n"
    );
    assert_eq!(ran.status, Some(1));
}

#[test]
fn a_folder_that_may_not_be_written_to_is_told() {
    let scene = Scene::new();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let binary = scene.path("mkfatimg");
    // The build folder may be closed to others, and so is the scratch folder.
    fs::copy(env!("CARGO_BIN_EXE_mkfatimg"), &binary).unwrap();
    fs::set_permissions(scene.folder.path(), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(scene.path("closed")).unwrap();
    fs::write(scene.path("closed/out.img"), "old image").unwrap();
    fs::set_permissions(scene.path("closed"), Permissions::from_mode(0o555)).unwrap();
    let mut command = Command::new(&binary);
    if is_root {
        let Some(setpriv) = Tool::find("setpriv") else { return };
        command = setpriv.command();
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&binary);
    }
    command.args(["--from", "src", "closed/out.img"]).current_dir(scene.folder.path());
    let line = "closed/out.img: cannot be written: permission denied";
    scene.fails(&mut command, 1, line);
    assert_eq!(fs::read(scene.path("closed/out.img")).unwrap(), b"old image");
    fs::set_permissions(scene.path("closed"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn of_a_link_the_target_is_replaced_and_the_link_stays() {
    let scene = Scene::new();
    fs::create_dir(scene.path("images")).unwrap();
    fs::write(scene.path("images/old.img"), "old image").unwrap();
    symlink("images/old.img", scene.path("direct")).unwrap();
    symlink("direct", scene.path("chain")).unwrap();
    symlink("images/new.img", scene.path("dangling")).unwrap();
    symlink(scene.path("images/absolute.img"), scene.path("absolute")).unwrap();
    for (out, target) in [
        ("direct", "images/old.img"),
        ("chain", "images/old.img"),
        ("dangling", "images/new.img"),
        ("absolute", "images/absolute.img"),
    ] {
        let ran = scene.run(&["--from", "src", out]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert!(fs::symlink_metadata(scene.path(out)).unwrap().is_symlink(), "{out}");
        assert!(fs::symlink_metadata(scene.path(target)).unwrap().is_file(), "{target}");
        scene.holds_source(target);
    }
    assert_eq!(listing(&scene.path("images")).len(), 3);
    symlink("missing/new.img", scene.path("astray")).unwrap();
    let line = "astray: there is no directory ./missing; make it first";
    scene.fails(&mut scene.command(&["--from", "src", "astray"]), 1, line);
}

#[test]
fn a_new_image_has_the_mode_that_the_umask_leaves() {
    let scene = Scene::new();
    for (umask, mode) in [("000", 0o666), ("022", 0o644), ("027", 0o640), ("077", 0o600)] {
        let out = format!("out-{umask}.img");
        let mut command = scene.command_after(&format!("umask {umask}"), &["--from", "src", &out]);
        assert!(command.output().unwrap().status.success());
        let found = fs::metadata(scene.path(&out)).unwrap().mode();
        assert_eq!(found & 0o7777, mode, "umask {umask}: {found:o}");
    }
}

#[test]
fn an_image_that_is_replaced_hands_its_mode_on() {
    let scene = Scene::new();
    for mode in [0o600, 0o640, 0o444, 0o777] {
        fs::write(scene.path("out.img"), "old image").unwrap();
        fs::set_permissions(scene.path("out.img"), Permissions::from_mode(mode)).unwrap();
        assert_eq!(scene.run(&["--from", "src", "out.img"]).status, Some(0));
        let found = fs::metadata(scene.path("out.img")).unwrap().mode();
        assert_eq!(found & 0o7777, mode, "{found:o}");
        fs::remove_file(scene.path("out.img")).unwrap();
    }
}

#[test]
fn who_holds_the_old_image_keeps_it() {
    let scene = Scene::new();
    fs::write(scene.path("out.img"), "old image").unwrap();
    fs::hard_link(scene.path("out.img"), scene.path("kept.img")).unwrap();
    let mut open = File::open(scene.path("out.img")).unwrap();
    assert_eq!(scene.run(&["--from", "src", "out.img"]).status, Some(0));
    scene.holds_source("out.img");
    let mut read = String::new();
    open.read_to_string(&mut read).unwrap();
    assert_eq!(read, "old image");
    assert_eq!(fs::read(scene.path("kept.img")).unwrap(), b"old image");
}

#[test]
fn an_old_image_is_untouched_by_a_refusal() {
    let scene = Scene::new();
    scene.source.file("a:b", "x");
    fs::write(scene.path("out.img"), "old image").unwrap();
    scene.fails(
        &mut scene.command(&["--from", "src", "out.img"]),
        4,
        "src/a:b: name holds ':', which FAT forbids; rename it, or use --invalid-names replace or skip",
    );
    assert_eq!(fs::read(scene.path("out.img")).unwrap(), b"old image");
}

#[test]
fn builds_of_one_image_at_the_same_time_all_end_well_and_leave_a_sound_one() {
    let scene = Scene::new();
    for old in [false, true] {
        if !old {
            let _ = fs::remove_file(scene.path("out.img"));
        }
        let children: Vec<Child> =
            (0..6).map(|_| scene.command(&["--from", "src", "out.img"]).spawn().unwrap()).collect();
        for child in children {
            let ran = Ran::from(child.wait_with_output().unwrap());
            assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        }
        scene.holds_source("out.img");
    }
    let names: Vec<String> =
        listing(scene.folder.path()).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["out.img", "src"]);
}

fn send(signal: i32, child: &Child) {
    let line = format!("kill -{signal} {}", child.id());
    // A process that has just ended cannot be signalled, which is no matter.
    Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status().unwrap();
}

/// Whether this process and so its children ignore `signal`, as under `nohup`.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1;
    if ignored {
        eprintln!("SKIPPED: whoever runs the tests ignores signal {signal}");
    }
    ignored
}

/// A source that takes a while, and an old image.
fn slow_scene() -> Scene {
    let place = Workplace::new();
    let source = TreeBuilder::new(place.path("src"));
    let mut file = File::create(source.root().join("large")).unwrap();
    for _ in 0..160 {
        file.write_all(&[0x5A; 1 << 20]).unwrap();
    }
    drop(file);
    source.settle();
    Scene { place, source }
}

fn time_of_a_build(scene: &Scene) -> Duration {
    // Nor is there a large image to be replaced when builds are interrupted.
    let _ = fs::remove_file(scene.path("out.img"));
    let started = Instant::now();
    assert_eq!(scene.run(&["--from", "src", "out.img"]).status, Some(0));
    started.elapsed()
}

/// How many instants a build is interrupted at; `MKFATIMG_INSTANTS` asks for more than CI has time
/// for.
fn instants() -> u32 {
    std::env::var("MKFATIMG_INSTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

/// Sends `signal` to builds at random instants from their start to their end: each ends by it with the
/// old image there, or had ended well. Calls `judge` on what else is left in the folder.
fn interrupt(signal: i32, told: &[&str], judge: impl Fn(&[String])) {
    if is_ignored(signal) {
        return;
    }
    let scene = slow_scene();
    // Of several, for the first may have had to wait for the disk.
    let whole = (0..3).map(|_| time_of_a_build(&scene)).min().unwrap();
    let image_bytes = fs::metadata(scene.path("out.img")).unwrap().len();
    let mut interrupted = 0;
    for _ in 0..instants() {
        for old in [None, Some("old image")] {
            let _ = fs::remove_file(scene.path("out.img"));
            if let Some(old) = old {
                fs::write(scene.path("out.img"), old).unwrap();
            }
            let child = scene.command(&["--from", "src", "-q", "out.img"]).spawn().unwrap();
            sleep(whole * random_per_mille() / 1000);
            send(signal, &child);
            let output = child.wait_with_output().unwrap();
            if output.status.success() {
                assert_eq!(fs::metadata(scene.path("out.img")).unwrap().len(), image_bytes);
                assert_sound(&scene.path("out.img"), &Expect::default());
            } else {
                assert_eq!(output.status.signal(), Some(signal), "{output:?}");
                interrupted += 1;
                let words = String::from_utf8(output.stderr).unwrap();
                // Before the command could prepare for signals it says nothing.
                assert!(words.is_empty() || told.contains(&words.as_str()), "{words}");
                match fs::read(scene.path("out.img")) {
                    Ok(bytes) if bytes.len() as u64 == image_bytes && signal == SIGKILL => {
                        assert_sound(&scene.path("out.img"), &Expect::default());
                    }
                    Ok(bytes) => assert_eq!(Some(bytes.as_slice()), old.map(str::as_bytes)),
                    Err(_) => assert_eq!(old, None, "the old image is gone"),
                }
            }
            let left = listing(scene.folder.path()).into_iter().map(|(name, ..)| name);
            let left: Vec<String> =
                left.filter(|name| name != "src" && name != "out.img").collect();
            judge(&left);
            left.iter().for_each(|name| fs::remove_file(scene.path(name)).unwrap());
        }
    }
    // Of twenty builds, about half of them before the middle.
    assert!(interrupted >= 3, "only {interrupted} builds were interrupted");
}

fn random_per_mille() -> u32 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library's only source of chance: the seed of a hash map.
    let chance = std::collections::hash_map::RandomState::new().build_hasher().finish();
    u32::try_from(chance % 1000).unwrap()
}

fn interrupt_politely(signal: i32) {
    interrupt(signal, &["mkfatimg: interrupted; no image was written\n"], |left| {
        assert_eq!(left, Vec::<String>::new());
    });
}

#[test]
fn an_interrupt_from_the_keyboard_leaves_nothing_but_the_old_image() {
    interrupt_politely(SIGINT);
}

#[test]
fn a_wish_to_terminate_leaves_nothing_but_the_old_image() {
    interrupt_politely(SIGTERM);
}

#[test]
fn a_terminal_that_goes_away_leaves_nothing_but_the_old_image() {
    interrupt_politely(SIGHUP);
}

#[test]
fn a_kill_at_any_instant_leaves_no_half_image_under_the_name() {
    interrupt(SIGKILL, &[], |left| {
        for name in left {
            let recognisable = name.starts_with(".mkfatimg-") && name.ends_with(".partial");
            assert!(recognisable, "{name}");
        }
    });
}

/// As under `nohup`, and for what a shell without job control runs in the background.
#[test]
fn a_signal_that_the_caller_ignores_is_ignored() {
    let scene = slow_scene();
    for (name, signal) in [("HUP", SIGHUP), ("INT", SIGINT)] {
        let ready = scene.path("ready");
        let _ = fs::remove_file(&ready);
        let first = format!("trap '' {name}; : >ready");
        let mut command = scene.command_after(&first, &["--from", "src", "-q", "out.img"]);
        let child = command.spawn().unwrap();
        while !ready.exists() {
            std::thread::yield_now();
        }
        for _ in 0..50 {
            send(signal, &child);
        }
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{name}");
        assert_sound(&scene.path("out.img"), &Expect::default());
    }
}

#[test]
fn signals_end_a_build_into_a_stream_that_waits_for_its_reader() {
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)) {
        let scene = Scene::new();
        let Paused { child, fifo, .. } = Paused::new(&scene, &[]);
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(signal), "{output:?}");
        drop(fifo);
        let names: Vec<String> =
            listing(scene.folder.path()).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["fifo", "src"]);
    }
}

#[test]
fn signals_end_a_build_into_a_fifo_that_nobody_reads() {
    let scene = Scene::new();
    make_fifo(&scene.path("fifo"));
    let child = scene.command(&["--from", "src", "fifo"]).spawn().unwrap();
    send(SIGTERM, &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(SIGTERM), "{output:?}");
}

#[test]
fn a_file_that_is_source_and_output_is_refused_and_kept() {
    let scene = Scene::new();
    fs::write(scene.path("precious"), "data").unwrap();
    let line = "precious: is a source and an output as well; name another file for the output";
    scene.fails(&mut scene.command(&["--from", "precious:/p", "precious"]), 4, line);
    let line = "--boot-code precious: is the output as well; name another file for the image";
    let arguments = ["--from", "src", "--boot-code", "precious", "precious"];
    scene.fails(&mut scene.command(&arguments), 2, line);
    assert_eq!(fs::read(scene.path("precious")).unwrap(), b"data");
}

#[test]
fn open_files_of_a_process_are_streams() {
    let scene = Scene::new();
    let build = |words: &str| {
        let script = format!("exec {} -q --from src {words}", env!("CARGO_BIN_EXE_mkfatimg"));
        let mut command = Command::new("bash");
        command.arg("-c").arg(script).current_dir(scene.path("")).stdin(Stdio::null());
        command.output().unwrap()
    };
    let whole = build("-").stdout;
    assert!(whole.len() > 512);
    assert!(build("/dev/stdout").stdout == whole);
    assert!(build("/dev/fd/7 7>&1").stdout == whole);
    assert!(build("/proc/self/fd/7 7>&1").stdout == whole);
    assert_eq!(build(">(cat >copy)").status.code(), Some(0));
    assert_eq!(build("/dev/fd/7 7>file").status.code(), Some(0));
    assert!(fs::read(scene.path("file")).unwrap() == whole);
}

#[test]
fn names_that_clash_by_the_thousand_are_renamed_in_linear_time() {
    let scene = Scene::new();
    for bits in 0..8192_u32 {
        let letter = |at: u32| if bits >> at & 1 == 1 { 'A' } else { 'a' };
        let name: String = (0..13).map(letter).collect();
        scene.source.file(name, "");
    }
    let ran: Ran =
        scene.command(&["--from", "src", "--clash", "rename", "out.img"]).output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let volume = support::invariants::read(&scene.path("out.img"), 0).unwrap();
    assert!(volume.find("/aaaaaaaaaaaaa~8192").is_some());
    assert_sound(&scene.path("out.img"), &Expect::default());
}
