//! Builds that are killed at random instants: whatever has a name is complete, old or new, and what a
//! stream has taken is the beginning of the image. `tests/every_call.rs` kills at every system call;
//! here nothing traces the build, and several threads work.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use support::faulty::{Faults, FaultyDisk};
use support::{TreeBuilder, Workplace};

/// How many builds are killed of each kind; there are four kinds.
const KILLS: u32 = 50;
const SIGKILL: i32 = 9;
const COMPANIONS: [&str; 7] =
    ["--map", "out/map", "--bmap", "out/bmap", "--depfile", "out/dep", "out/out.img"];

type Files = BTreeMap<String, Vec<u8>>;

/// A folder with a source of many files and an empty folder `out`.
struct Scene {
    place: Workplace,
}

impl Scene {
    fn new() -> Self {
        let place = Workplace::new();
        let source = TreeBuilder::new(place.path("src"));
        source.filled("large", 12 << 20);
        for number in 0..400 {
            source.filled(&format!("{}/{number}", number % 20), 5000 + number);
        }
        source.settle();
        Self { place }
    }

    fn files(&self) -> Files {
        files(&self.place.path("out"))
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command =
            self.place.command(&[&["--from", "src", "--jobs", "4", "-q"], arguments].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Kills builds with `arguments` at random instants and lets `judge` see what is there then, and
    /// what the standard output was; before each, `prepare` makes the folder what it was.
    fn kill(&self, arguments: &[&str], prepare: impl Fn(), judge: impl Fn(&[u8])) {
        let build = || {
            prepare();
            let started = Instant::now();
            assert!(self.command(arguments).output().unwrap().status.success());
            started.elapsed()
        };
        // Of several, for the first may have had to wait for the disk.
        let whole = (0..3).map(|_| build()).min().unwrap();
        let mut killed = 0;
        for number in 0..KILLS {
            prepare();
            let mut child = self.command(arguments).spawn().unwrap();
            let mut stdout = child.stdout.take().unwrap();
            let reader = spawn(move || {
                let mut taken = Vec::new();
                stdout.read_to_end(&mut taken).unwrap();
                taken
            });
            // Each part of a build, and in it some instant.
            let part = (f64::from(number) + chance()) / f64::from(KILLS);
            sleep(whole.mul_f64(part));
            killed += u32::from(kill(&mut child));
            judge(&reader.join().unwrap());
        }
        assert!(killed >= KILLS / 4, "only {killed} builds were killed");
    }
}

/// Whether the child was killed, and had not ended before.
fn kill(child: &mut Child) -> bool {
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(status.success() || status.signal() == Some(SIGKILL), "{status:?}");
    !status.success()
}

/// From 0 to 1.
fn chance() -> f64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library's only source of chance: the seed of a hash map.
    let chance = std::collections::hash_map::RandomState::new().build_hasher().finish();
    f64::from((chance >> 32) as u32) / f64::from(u32::MAX)
}

fn files(folder: &Path) -> Files {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    entries.map(file).collect()
}

fn empty(folder: &Path) {
    for name in files(folder).keys() {
        fs::remove_file(folder.join(name)).unwrap();
    }
}

fn old_files(folder: &Path) {
    for name in ["map", "bmap", "dep", "out.img"] {
        fs::write(folder.join(name), format!("old {name}")).unwrap();
    }
}

/// Where there was nothing before, there is nothing but complete files under their own names.
#[test]
fn a_new_image_with_companions_is_complete_or_not_there() {
    let scene = Scene::new();
    let out = scene.place.path("out");
    fs::create_dir(&out).unwrap();
    assert!(scene.command(&COMPANIONS).output().unwrap().status.success());
    let right = scene.files();
    scene.kill(
        &COMPANIONS,
        || empty(&out),
        |_| {
            let found = scene.files();
            for (name, bytes) in &found {
                assert!(right.get(name) == Some(bytes), "{name} is left, {} bytes", bytes.len());
            }
            // Its name is the last to come.
            assert!(!found.contains_key("out.img") || found.len() == right.len());
        },
    );
}

/// A file that waited to be renamed over an old one is complete, or it is the old one.
#[test]
fn an_image_that_replaces_another_with_its_companions_is_complete_or_the_old_one() {
    let scene = Scene::new();
    let out = scene.place.path("out");
    fs::create_dir(&out).unwrap();
    assert!(scene.command(&COMPANIONS).output().unwrap().status.success());
    let right = scene.files();
    let prepare = || {
        empty(&out);
        old_files(&out);
    };
    scene.kill(&COMPANIONS, prepare, |_| {
        let mut found = scene.files();
        for (name, right) in &right {
            let bytes = found.remove(name).unwrap_or_else(|| panic!("{name} is gone"));
            assert!(bytes == *right || bytes == format!("old {name}").as_bytes(), "{name}");
        }
        for (name, bytes) in found {
            let whole = right.values().any(|right| *right == bytes) || bytes.starts_with(b"old ");
            assert!(
                whole && name.starts_with(".mkfatimg-") && name.ends_with(".partial"),
                "{name}"
            );
        }
    });
}

#[test]
fn a_stream_is_the_beginning_of_the_image() {
    let scene = Scene::new();
    let out = scene.place.path("out");
    fs::create_dir(&out).unwrap();
    let right = scene.command(&["-"]).output().unwrap().stdout;
    scene.kill(
        &["--map", "out/map", "-"],
        || empty(&out),
        |stdout| {
            assert!(right.starts_with(stdout), "other bytes in the stream");
            let found = scene.files();
            assert!(found.is_empty() || found.len() == 1 && stdout.len() == right.len());
        },
    );
}

/// On a disk without unnamed files one under a name that tells what it is may be left.
#[test]
fn without_unnamed_files_nothing_else_than_a_recognisable_one_is_left() {
    let scene = Scene::new();
    let out = scene.place.path("out");
    let Some(disk) = FaultyDisk::mount(out.clone(), Faults::default()) else { return };
    assert!(scene.command(&["out/out.img"]).output().unwrap().status.success());
    let right = disk.contents();
    let prepare = || {
        empty(&out);
        fs::write(out.join("out.img"), "old out.img").unwrap();
    };
    scene.kill(&["out/out.img"], prepare, |_| {
        // The kernel may not have told the disk of everything yet.
        sleep(Duration::from_millis(20));
        let mut found = disk.contents();
        let bytes = found.remove("out.img").unwrap();
        assert!(bytes == b"old out.img" || bytes == right["out.img"]);
        for name in found.keys() {
            assert!(name.starts_with(".mkfatimg-") && name.ends_with(".partial"), "{name}");
        }
    });
}
