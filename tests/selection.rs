//! What is left out by patterns, and which attributes entries have.

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use support::invariants::{self, Volume};
use support::{Expect, Ran, TreeBuilder, Workplace, assert_sound};

const NOT_STORED: &str = "owners, permissions, extended attributes and the identity of hard links are not stored: FAT has no place for them";
const READ_ONLY: u8 = 0x01;
const HIDDEN: u8 = 0x02;
const SYSTEM: u8 = 0x04;
const DIRECTORY: u8 = 0x10;
const ARCHIVE: u8 = 0x20;

/// A folder with a source `src`.
struct Scene {
    place: Workplace,
    source: TreeBuilder,
}

impl Scene {
    fn new(files: &[&str]) -> Self {
        let place = Workplace::new();
        let source = TreeBuilder::new(place.path("src"));
        for file in files {
            source.file(file, *file);
        }
        source.settle();
        Self { place, source }
    }

    /// Builds from `src` and expects an image of `files` and no others, and these notices.
    fn holds(&self, arguments: &[&str], files: &[&str], notices: &[&str]) {
        let ran = self.place.run(&[&["--from", "src"], arguments, &["out.img"]].concat());
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert_eq!(noted(&ran), notices, "{arguments:?}");
        let expected = TreeBuilder::new(self.place.path("expected"));
        for file in files {
            expected.file(file, *file);
        }
        expected.settle();
        let source = Some(expected.root().to_path_buf());
        assert_sound(&self.place.path("out.img"), &Expect { source, ..Expect::default() });
        fs::remove_dir_all(expected.root()).unwrap();
    }

    fn volume(&self, arguments: &[&str]) -> Volume {
        let ran = self.place.run(&[&["--from", "src"], arguments, &["out.img"]].concat());
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert_sound(&self.place.path("out.img"), &Expect::default());
        invariants::read(&self.place.path("out.img"), 0).unwrap()
    }
}

fn noted(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter_map(|line| line.strip_prefix("mkfatimg: note: ")).collect()
}

fn attributes(volume: &Volume, path: &str) -> u8 {
    volume.find(path).unwrap_or_else(|| panic!("no {path}")).attributes
}

#[test]
fn patterns_leave_out_names_anywhere_and_paths_from_the_root() {
    let scene = Scene::new(&["a.bak", "boot/b.bak", "boot/kernel", "etc/boot/note"]);
    let left_out = |path: &str, pattern: &str| format!("{path}: left out by --exclude {pattern}");
    scene.holds(
        &["--exclude", "*.bak"],
        &["boot/kernel", "etc/boot/note"],
        &[&format!(
            "2 entries left out by patterns, the first: {} (all with -v)",
            left_out("src/a.bak", "*.bak")
        )],
    );
    scene.holds(
        &["--exclude", "/boot"],
        &["a.bak", "etc/boot/note"],
        &[&left_out("src/boot", "/boot")],
    );
    scene.holds(
        &["--exclude", "boot/*.bak"],
        &["a.bak", "boot/kernel", "etc/boot/note"],
        &[&left_out("src/boot/b.bak", "boot/*.bak")],
    );
}

#[test]
fn a_pattern_for_directories_leaves_files_in() {
    let scene = Scene::new(&["tmp/x", "usr/tmp"]);
    scene.holds(&["--exclude", "tmp/"], &["usr/tmp"], &["src/tmp: left out by --exclude tmp/"]);
    // A link to a directory is a directory in the image.
    scene.source.link("usr", "lib");
    scene.source.settle();
    scene.holds(
        &["--exclude", "lib/"],
        &["tmp/x", "usr/tmp"],
        &["src/lib: left out by --exclude lib/"],
    );
}

#[test]
fn a_file_of_patterns_is_told_by_its_lines() {
    let scene = Scene::new(&["a.bak", "keep", "#odd"]);
    let list = "# what editors leave\r\n\n*.bak  \n\\#odd\nno/such\n";
    fs::write(scene.place.path("list"), list).unwrap();
    scene.holds(
        &["--exclude-from", "list", "-v"],
        &["keep"],
        &[
            "list:5: no/such: matched nothing",
            "src/#odd: left out by list:4: \\#odd",
            "src/a.bak: left out by list:3: *.bak",
            NOT_STORED,
        ],
    );
}

#[test]
fn a_pattern_that_matched_nothing_is_told_with_the_reason_where_its_text_shows_it() {
    let scene = Scene::new(&["build/x", "a.swp", "thumbs.db", "keep"]);
    fs::write(scene.place.path("list"), "*.swp # of vim\n  a.swp\n").unwrap();
    let all = ["build/x", "a.swp", "thumbs.db", "keep"];
    scene.holds(
        &["-v", "--exclude", "src/build", "--exclude", "/src/a.swp", "--exclude", "./src/keep/"],
        &all,
        &[
            "--exclude ./src/keep/: matched nothing; it is of the path in the image, without the source's name",
            "--exclude /src/a.swp: matched nothing; it is of the path in the image, without the source's name",
            "--exclude src/build: matched nothing; it is of the path in the image, without the source's name",
            NOT_STORED,
        ],
    );
    scene.holds(
        &["-v", "--exclude-from", "list", "--attr", "THUMBS.DB=+h", "--exclude", "Thumbs*"],
        &all,
        &[
            "--exclude Thumbs*: matched nothing",
            "list:1: *.swp # of vim: matched nothing; comments stand on lines of their own",
            "list:2:   a.swp: matched nothing; the blank at its beginning counts",
            "--attr THUMBS.DB=+h: matched nothing; capitals differ from small letters",
            NOT_STORED,
        ],
    );
}

#[test]
fn a_mark_before_a_list_is_no_part_of_it() {
    let scene = Scene::new(&["a.bak", "keep"]);
    let notice = |line| [format!("src/a.bak: left out by list:{line}: *.bak")];
    for (text, line) in [("\u{FEFF}*.bak\n", 1), ("\u{FEFF}# of Windows\r\n*.bak\r\n", 2)] {
        fs::write(scene.place.path("list"), text).unwrap();
        scene.holds(&["--exclude-from", "list"], &["keep"], &notice(line).each_ref().map(|n| &**n));
    }
}

#[test]
fn patterns_come_from_standard_input_too() {
    let scene = Scene::new(&["a.bak", "keep"]);
    let list = scene.place.path("list");
    fs::write(&list, "*.bak").unwrap();
    let mut command = scene.place.command(&["--from", "src", "--exclude-from", "-", "out.img"]);
    let ran: Ran = command.stdin(fs::File::open(list).unwrap()).output().unwrap().into();
    assert_eq!(noted(&ran), ["src/a.bak: left out by standard input:1: *.bak"]);
}

#[test]
fn what_is_left_out_is_neither_entered_nor_refused() {
    let scene = Scene::new(&["keep", "closed/secret"]);
    support::make_fifo(&scene.source.root().join("pipe"));
    scene.source.link("nowhere", "lost");
    scene.source.file("a:b", "");
    scene.holds(
        &[
            "--exclude",
            "closed",
            "--exclude",
            "pipe",
            "--exclude",
            "lost",
            "--exclude",
            "a:b",
            "-q",
        ],
        &["keep"],
        &[],
    );
}

#[test]
fn patterns_see_where_a_source_goes() {
    let scene = Scene::new(&["a", "b"]);
    for (place, pattern, told) in [
        ("src:/data/in", "data", "src:/data/in"),
        ("src:/data/in", "/data/in/", "src:/data/in"),
        ("src/a:/boot/kernel", "kernel", "src/a:/boot/kernel"),
    ] {
        let ran = scene.place.run(&["--from", place, "--exclude", pattern, "out.img"]);
        assert_eq!(noted(&ran), [format!("{told}: left out by --exclude {pattern}")]);
        let volume = invariants::read(&scene.place.path("out.img"), 0).unwrap();
        assert!(volume.find("/data").is_none() && volume.find("/boot/kernel").is_none());
    }
    let ran = scene.place.run(&["--from", "src:/data", "--exclude", "/data/a", "out.img"]);
    assert_eq!(noted(&ran), ["src/a: left out by --exclude /data/a"]);
}

#[test]
fn patterns_that_are_none_are_told_all_at_once_before_anything_is_written() {
    let scene = Scene::new(&["a"]);
    fs::write(scene.place.path("list"), b"fine\n!not\nlatin-\xE9\n").unwrap();
    fs::write(scene.place.path("more"), "[z-a]\n").unwrap();
    let refused = |arguments: &[&str], status: i32, lines: &[&str]| {
        let ran = scene.place.run(&[&["--from", "src"], arguments, &["out.img"]].concat());
        let told: Vec<&str> = ran.stderr.lines().collect();
        let wanted: Vec<String> = lines.iter().map(|line| format!("mkfatimg: {line}")).collect();
        assert_eq!((ran.status, told), (Some(status), wanted.iter().map(|l| &**l).collect()));
        assert!(!scene.place.path("out.img").exists());
    };
    refused(
        &["--exclude", "a[", "--exclude", "", "--exclude-from", "more"],
        2,
        &[
            "--exclude a[: is no pattern: unclosed character class; missing ']'",
            "--exclude : names nothing in the image; * stands for everything",
            "more:1: [z-a]: is no pattern: invalid range; 'z' > 'a'",
        ],
    );
    refused(
        &["--exclude-from", "list"],
        2,
        &["list:3: is not UTF-8; ? stands for one byte of a name that is not"],
    );
    refused(
        &["--exclude-from", "/dev/zero"],
        1,
        &[
            "--exclude-from /dev/zero: cannot be read: is longer than 64 MiB, which is no list of patterns",
        ],
    );
    refused(
        &["--exclude-from", "none"],
        1,
        &["--exclude-from none: cannot be read: no such file or directory"],
    );
    refused(
        &["--exclude-from", "-", "--exclude-from", "-"],
        2,
        &["--exclude-from -: standard input can be read once only"],
    );
    refused(
        &["--attr", "x[=+r"],
        2,
        &["--attr x[=+r: is no pattern: unclosed character class; missing ']'"],
    );
}

#[test]
fn attributes_are_set_and_removed_and_the_last_rule_wins() {
    let scene = Scene::new(&["ldlinux.sys", "boot/x.cfg", "boot/y.cfg", "plain"]);
    let volume = scene.volume(&[
        "--attr",
        "ldlinux.sys=+rhs",
        "--attr",
        "*.cfg=+h-a",
        "--attr",
        "/boot/y.cfg=-h+A",
        "--attr",
        "boot/=+s",
        "--verify",
    ]);
    assert_eq!(attributes(&volume, "/ldlinux.sys"), READ_ONLY | HIDDEN | SYSTEM | ARCHIVE);
    assert_eq!(attributes(&volume, "/boot/x.cfg"), HIDDEN);
    assert_eq!(attributes(&volume, "/boot/y.cfg"), ARCHIVE);
    assert_eq!(attributes(&volume, "/boot"), DIRECTORY | SYSTEM);
    assert_eq!(attributes(&volume, "/plain"), ARCHIVE);
}

#[test]
fn attribute_patterns_see_the_names_that_are_stored() {
    let scene = Scene::new(&["a:b"]);
    let arguments = ["--invalid-names", "replace", "--attr", "a_b=+h", "--attr", "a:b=+r"];
    let ran = scene.place.run(&[&["--from", "src"], &arguments[..], &["out.img"]].concat());
    assert!(noted(&ran).contains(&"--attr a:b=+r: matched nothing"), "{}", ran.stderr);
    let volume = invariants::read(&scene.place.path("out.img"), 0).unwrap();
    assert_eq!(attributes(&volume, "/a_b"), HIDDEN | ARCHIVE);
}

#[test]
fn read_only_files_stay_so_on_request() {
    let scene = Scene::new(&["locked", "open", "folder/x"]);
    let mode = |path: &str, mode: u32| {
        let path = scene.source.root().join(path);
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    mode("locked", 0o444);
    mode("open", 0o646);
    mode("folder", 0o555);
    let plain = scene.volume(&[]);
    assert_eq!(attributes(&plain, "/locked"), ARCHIVE);
    let kept = scene.volume(&["--keep-readonly", "--verify"]);
    assert_eq!(attributes(&kept, "/locked"), READ_ONLY | ARCHIVE);
    assert_eq!(attributes(&kept, "/open"), ARCHIVE);
    // Of a directory the attribute protects nothing.
    assert_eq!(attributes(&kept, "/folder"), DIRECTORY);
    let ruled = scene.volume(&["--keep-readonly", "--attr", "*=-r"]);
    assert_eq!(attributes(&ruled, "/locked"), ARCHIVE);
    mode("folder", 0o755);
}

#[test]
fn what_is_no_change_of_attributes_is_refused() {
    let scene = Scene::new(&["a"]);
    let such_as = "such as 'ldlinux.sys=+rhs' or '*.bak=-a'";
    for (value, reason) in [
        ("a", format!("a pattern, = and attributes, {such_as}")),
        ("a=", format!("no attribute to set or remove, {such_as}")),
        ("a=+", format!("no attribute to set or remove, {such_as}")),
        ("a=r", format!("attributes begin with + to set or - to remove them, {such_as}")),
        ("a=+x", format!("'x' is no attribute; r, h, s and a are, {such_as}")),
    ] {
        let ran = scene.place.run(&["--from", "src", "--attr", value, "out.img"]);
        let first = ran.stderr.lines().next().unwrap_or_default();
        let wanted = format!("error: invalid value '{value}' for '--attr <GLOB=+rhsa>': {reason}");
        assert_eq!((ran.status, first), (Some(2), wanted.as_str()));
    }
}

/// Attributes that nobody chose are in no serial number, so that it stays as it was.
#[test]
fn chosen_attributes_change_the_serial_number() {
    let scene = Scene::new(&["a"]);
    let serial = |arguments: &[&str]| {
        let ran = scene.place.run(&[&["--from", "src", "--dry-run"], arguments].concat());
        ran.stdout.split("volume id ").nth(1).and_then(|rest| rest.get(..9)).map(str::to_owned)
    };
    assert_eq!(serial(&[]), serial(&["--attr", "a=+a"]));
    assert_ne!(serial(&[]), serial(&["--attr", "a=+h"]));
}
