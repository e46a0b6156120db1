//! One tree, built under other clocks, zones, locales, users, hosts, kernels, numbers of processors,
//! paths and file systems, one at a time and all at once: the bytes are the same. The scripts of
//! docs/reproducible.md run as they stand, reprotest among them.

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::commit::commit;
use support::{
    Expect, Mounted, Ran, TREE_SECONDS, TempDir, Tool, TreeBuilder, assert_sound, printed, scratch,
    search_path, set_times, skip,
};

/// Enough for several workers: long names with one stem, small files, and a large one.
fn tree(root: PathBuf, backward: bool) -> PathBuf {
    let tree = TreeBuilder::new(root);
    let mut numbers: Vec<usize> = (0..400).collect();
    if backward {
        numbers.reverse();
    }
    for number in numbers {
        tree.filled(&format!("folder {}/file of number {number}.txt", number % 7), number * 50);
    }
    tree.filled("large", 9_000_000).file("größe", "g").settle();
    tree.root().to_path_buf()
}

/// Where everybody can build: the program, a tree, and room for images.
struct Site {
    folder: TempDir,
    source: PathBuf,
    usual: Vec<u8>,
}

impl Site {
    fn new() -> Self {
        let folder = scratch();
        let open = |path: &Path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        };
        open(folder.path());
        // A home of the sources may be closed to others.
        fs::copy(env!("CARGO_BIN_EXE_mkfatimg"), folder.path().join("mkfatimg")).unwrap();
        let source = tree(folder.path().join("tree"), false);
        let mut site = Self { folder, source, usual: Vec::new() };
        site.usual = site.bytes(&[], &[], &[], &site.source.clone());
        site
    }

    /// The image of `source`, by a command that follows the words of `before` and has `flags`.
    fn bytes(
        &self,
        before: &[&str],
        environment: &[(&str, &str)],
        flags: &[&str],
        source: &Path,
    ) -> Vec<u8> {
        self.bytes_in(self.folder.path(), before, environment, flags, source)
    }

    /// As [`Site::bytes`], with the image in `folder`.
    fn bytes_in(
        &self,
        folder: &Path,
        before: &[&str],
        environment: &[(&str, &str)],
        flags: &[&str],
        source: &Path,
    ) -> Vec<u8> {
        let image = folder.join("image");
        let program = self.folder.path().join("mkfatimg");
        let words = [before, &[program.to_str().unwrap()]].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["-q", "--label", "SAME", "--from"]).arg(source);
        command.args(flags).arg(&image).stdin(Stdio::null());
        command.env_remove("SOURCE_DATE_EPOCH").envs(environment.iter().copied());
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.status, Some(0), "{words:?}: {}{}", ran.stdout, ran.stderr);
        let bytes = fs::read(&image).unwrap();
        fs::remove_file(&image).unwrap();
        bytes
    }

    fn assert_same(&self, bytes: &[u8], what: &str) {
        let differing = self.usual.iter().zip(bytes).position(|(usual, other)| usual != other);
        assert_eq!((bytes.len(), differing), (self.usual.len(), None), "{what}: first difference");
    }
}

/// Words that change what surrounds the command after them, and what they change. Those that this
/// machine does not have or allow are skipped.
fn surroundings() -> Vec<(&'static str, Vec<&'static str>)> {
    let all = [
        ("an early clock", "faketime", &["-f", "@1999-12-31 23:59:58"][..]),
        ("a late clock", "faketime", &["-f", "@2106-02-07 06:28:16"]),
        ("a fast clock", "faketime", &["-f", "+3y x1000"]),
        (
            "a host name",
            "unshare",
            &["--uts", "sh", "-c", "hostname elsewhere && exec \"$@\"", "sh"],
        ),
        ("an old kernel", "setarch", &["--uname-2.6", "--addr-no-randomize"]),
        ("one processor", "taskset", &["--cpu-list", "0"]),
        ("umask 077", "sh", &["-c", "umask 077 && exec \"$@\"", "sh"]),
        ("another folder", "sh", &["-c", "cd / && exec \"$@\"", "sh"]),
        ("another user", "setpriv", &["--reuid=65534", "--regid=65534", "--clear-groups"]),
    ];
    all.into_iter()
        .filter_map(|(what, program, words)| {
            let tool = Tool::find(program)?;
            let allowed = tool.command().args(words).arg("true").output().unwrap();
            if !allowed.status.success() {
                let stderr = String::from_utf8_lossy(&allowed.stderr);
                skip(&format!("{what} is not to be had: {}", stderr.trim_end()));
                return None;
            }
            Some((what, [&[program], words].concat()))
        })
        .collect()
}

const ENVIRONMENT: [(&str, &str); 8] = [
    ("TZ", "Pacific/Kiritimati"),
    ("LC_ALL", "C"),
    ("LANG", "tr_TR.UTF-8"),
    ("HOME", "/nowhere"),
    ("USER", "somebody"),
    ("TMPDIR", "/dev"),
    ("PATH", "/usr/bin:/bin:/usr/sbin:/nowhere"),
    ("COLUMNS", "20"),
];

/// Tells faketime that times of files stay as they are.
const TIMES_OF_FILES_STAY: (&str, &str) = ("NO_FAKE_STAT", "1");

#[test]
fn bytes_do_not_depend_on_what_surrounds_the_build() {
    let site = Site::new();
    for (what, words) in surroundings() {
        let bytes = site.bytes(&words, &[TIMES_OF_FILES_STAY], &[], &site.source);
        site.assert_same(&bytes, what);
    }
    for variable in ENVIRONMENT {
        site.assert_same(&site.bytes(&[], &[variable], &[], &site.source), variable.0);
    }
    for flags in [
        &["--jobs", "1"][..],
        &["--jobs", "7"],
        &["--direct", "always"],
        &["--direct", "never"],
        &["--preallocate"],
        &["--sync"],
    ] {
        site.assert_same(&site.bytes(&[], &[], flags, &site.source), flags[0]);
    }
}

#[test]
fn bytes_do_not_depend_on_all_surroundings_at_once() {
    let site = Site::new();
    let elsewhere = tree(site.folder.path().join("else/where"), true);
    // One clock, and the other user last, whom the rest is not allowed.
    let words: Vec<&str> = surroundings()
        .into_iter()
        .filter(|(what, _)| !["a late clock", "a fast clock"].contains(what))
        .flat_map(|(_, words)| words)
        .collect();
    let environment = [&ENVIRONMENT[..], &[TIMES_OF_FILES_STAY]].concat();
    let bytes = site.bytes(&words, &environment, &["--jobs", "3"], &elsewhere);
    site.assert_same(&bytes, "all at once");
}

#[test]
fn bytes_do_not_depend_on_the_file_systems_of_source_and_image() {
    let site = Site::new();
    let at = |name: &str| site.folder.path().join(name);
    let mounted = [
        Mounted::tmpfs(at("tmpfs"), "size=64m"),
        Mounted::xfs(at("xfs")),
        Mounted::btrfs(at("btrfs")),
        Mounted::ext4(at("ext4"), 64 << 20),
    ];
    for (index, mounted) in mounted.into_iter().flatten().enumerate() {
        let source = tree(mounted.path("tree"), index % 2 == 0);
        let at = mounted.at.display();
        site.assert_same(&site.bytes(&[], &[], &[], &source), &format!("source in {at}"));
        let bytes = site.bytes_in(&mounted.at, &[], &[], &[], &site.source);
        site.assert_same(&bytes, &format!("image in {at}"));
        let bytes = site.bytes_in(&mounted.at, &[], &[], &[], &source);
        site.assert_same(&bytes, &format!("both in {at}"));
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reproducible").join(name)
}

/// Runs a script of the document in `folder`, which holds `tree`.
fn follow(name: &str, folder: &Path) -> Ran {
    let mut command = Command::new(script(name));
    command.env("PATH", search_path::beginning_with(&[search_path::of_program()]));
    command.env_remove("SOURCE_DATE_EPOCH").current_dir(folder).stdin(Stdio::null());
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{name}: {}{}", ran.stdout, ran.stderr);
    ran
}

#[test]
fn the_document_prints_the_scripts() {
    printed::assert_prints_folder("docs/reproducible.md", "tests/reproducible");
}

#[test]
fn reprotest_finds_no_difference() {
    let needed = ["reprotest", "disorderfs", "faketime"];
    if needed.into_iter().any(|name| Tool::find(name).is_none()) {
        return;
    }
    let namespaces = Tool::find("unshare").map(|tool| tool.run(["-r", "--uts", "true"]).status);
    let fuse = fs::OpenOptions::new().read(true).write(true).open("/dev/fuse");
    if namespaces != Some(Some(0)) || fuse.is_err() {
        skip("no name of a host or order of files of its own is to be had");
        return;
    }
    let scratch = scratch();
    tree(scratch.path().join("tree"), false);
    let ran = follow("reprotest.sh", scratch.path());
    let told = ran.stdout + &ran.stderr;
    assert!(told.contains("Reproduction successful"), "{told}");
}

#[test]
fn a_second_build_into_a_pipe_is_the_same() {
    let scratch = scratch();
    tree(scratch.path().join("tree"), false);
    assert_eq!(follow("twice.sh", scratch.path()).stdout, "");
}

#[test]
fn two_checkouts_of_a_commit_make_one_image() {
    let Some(git) = Tool::find("git") else { return };
    let scratch = scratch();
    let first = scratch.path().join("first");
    tree(first.join("tree"), false);
    commit(&first, "tree").unwrap();
    let second = scratch.path().join("second");
    let ran =
        git.run([OsStr::new("clone"), OsStr::new("--quiet"), first.as_ref(), second.as_ref()]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    set_times(&first.join("tree"), TREE_SECONDS + 1_000_000);
    let [one, other] = ["first", "second"].map(|name| {
        let ran = follow("checkout.sh", &scratch.path().join(name));
        let image = scratch.path().join(name).join("tree.img");
        let expect = Expect { epoch_ceiling: Some(TREE_SECONDS), ..Expect::default() };
        assert_sound(&image, &expect);
        ran.stdout
    });
    assert_eq!(one.len(), 64 + "  tree.img\n".len());
    assert_eq!(one, other);
}
