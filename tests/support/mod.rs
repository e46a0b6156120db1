//! What the tests share: source trees, runs of the command, and images that are checked whenever one
//! is made.
#![allow(dead_code, unused_imports, unreachable_pub)]

pub mod commit;
pub mod contents;
pub mod damage;
pub mod fatfs_reader;
pub mod faulty;
pub mod firmware;
pub mod fsck;
pub mod invariants;
pub mod kitchen;
pub mod loop_device;
pub mod machine;
pub mod mounted;
pub mod oracle;
pub mod printed;
pub mod random_tree;
pub mod schema;
pub mod search_path;
pub mod tool;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use mkfatimg::plan::request::Request;
use mkfatimg::source::{Place, Sources};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use sha2::{Digest, Sha256};

pub use invariants::Expect;
pub use loop_device::LoopDevice;
pub use mounted::Mounted;
pub use oracle::Oracle;
pub use tempfile::TempDir;
pub use tool::{Tool, has_file, skip};

/// 2024-02-29 12:00:00 UTC: the time of everything that [`TreeBuilder`] makes.
pub const TREE_SECONDS: u64 = 1_709_208_000;

/// A directory for one test; gone with the value.
pub fn scratch() -> TempDir {
    tempfile::Builder::new().prefix("mkfatimg-test-").tempdir().unwrap()
}

/// The command under test, with an environment that tells it nothing.
pub fn mkfatimg() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mkfatimg"));
    command.env_remove("SOURCE_DATE_EPOCH").env_remove("TZ").env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null());
    command
}

/// A folder for one test, in which the command runs, so that its messages hold short paths.
#[derive(Debug)]
pub struct Workplace {
    pub folder: TempDir,
}

impl Workplace {
    pub fn new() -> Self {
        Self { folder: scratch() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The command, to be run in the folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = mkfatimg();
        command.current_dir(self.folder.path()).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// A shell's line with a terminal of its own, run in the folder by script(1); what the terminal
    /// shows comes as standard output, with `\r\n` for each line's end.
    pub fn on_terminal(&self, script: &Tool, line: &str) -> Command {
        let mut command = script.command();
        command.args(["--quiet", "--return", "--command", line, "/dev/null"]);
        for name in ["SOURCE_DATE_EPOCH", "NO_COLOR", "COLUMNS"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm").env("SHELL", "/bin/sh").current_dir(self.folder.path());
        command
    }
}

pub fn make_fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of `bytes` as programs print it.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs the command under test.
pub fn run<I: IntoIterator<Item = A>, A: AsRef<OsStr>>(arguments: I) -> Ran {
    mkfatimg().args(arguments).output().unwrap().into()
}

/// Builds `image` from `source` with `arguments`, which must work, and checks every invariant of
/// the format on it, and its contents against the source. For trees with links, left-out or
/// changed names use [`build_with`].
pub fn build(source: &Path, image: &Path, arguments: &[&str]) -> Ran {
    let expect = Expect { source: Some(source.to_path_buf()), ..Expect::default() };
    build_with(source, image, arguments, &expect)
}

/// As [`build`], judged by `expect`.
pub fn build_with(source: &Path, image: &Path, arguments: &[&str], expect: &Expect) -> Ran {
    let mut command = mkfatimg();
    let ran: Ran =
        command.arg("--from").arg(source).args(arguments).arg(image).output().unwrap().into();
    assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.stderr);
    assert_sound(image, expect);
    ran
}

/// Every invariant holds on `image`.
pub fn assert_sound(image: &Path, expect: &Expect) {
    let breaches = invariants::check(image, expect).unwrap();
    let told: Vec<String> = breaches.iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "{}:\n{}", image.display(), told.join("\n"));
}

/// Builds source trees. Everything in them has one time, set last, so that trees made in another
/// order or at another moment are equal.
#[derive(Debug)]
pub struct TreeBuilder {
    root: PathBuf,
}

impl TreeBuilder {
    /// A tree at `root`, which is made.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        fs::create_dir_all(&root).unwrap();
        Self { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file with the directories on the way to it.
    pub fn file(&self, path: impl AsRef<OsStr>, contents: impl AsRef<[u8]>) -> &Self {
        let path = self.root.join(Path::new(path.as_ref()));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
        self
    }

    /// A file of `len` bytes that repeat after no power of two.
    pub fn filled(&self, path: &str, len: usize) -> &Self {
        self.file(path, (0..len).map(|at| (at % 251) as u8).collect::<Vec<u8>>())
    }

    pub fn directory(&self, path: &str) -> &Self {
        fs::create_dir_all(self.root.join(path)).unwrap();
        self
    }

    pub fn link(&self, target: &str, path: &str) -> &Self {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
        self
    }

    /// Gives everything the one time.
    pub fn settle(&self) -> &Self {
        set_times(&self.root, TREE_SECONDS);
        self
    }
}

/// Sets the modification time of `path` and all below it, links apart.
pub fn set_times(path: &Path, seconds: u64) {
    let found = fs::symlink_metadata(path).unwrap();
    if found.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            set_times(&entry.unwrap().path(), seconds);
        }
    }
    if found.is_dir() || found.is_file() {
        set_time(path, seconds);
    }
}

/// Sets the modification time of one file or directory.
pub fn set_time(path: &Path, seconds: u64) {
    fs::File::open(path).unwrap().set_modified(time(seconds)).unwrap();
}

/// A time of the host.
pub fn time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// The smallest image of what lies under `root`, with every choice left open.
pub fn request(root: &Path) -> Request {
    let places = vec![Place { path: root.to_path_buf(), destination: Vec::new() }];
    Request { sources: Sources { places, ..Sources::default() }, ..Request::default() }
}
