//! Every system call of a build made to fail in turn, by strace: either the image comes out as if
//! nothing had happened, or the build says why it does not, and everything is as it was before. And the
//! build killed at each of them: whatever has a name is complete, old or new.
//!
//! `MKFATIMG_EVERY_CALL=1` fails each call of each kind in each of its ways, and kills at each; without
//! it a sample is taken, another one for each kind of build. `MKFATIMG_TELL_WORDS=1` prints how each
//! build ended.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use support::{TempDir, Tool, TreeBuilder, scratch};

/// Of the faults that could be made, one of so many is in a sample.
const SAMPLED: usize = 23;

/// A file in the place where something is looked for, or where a link there leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    File(Vec<u8>),
    Link(PathBuf),
}

/// All that lies in the folder of a build but directories.
type Contents = BTreeMap<PathBuf, Entry>;

/// A kind of build.
struct Kind {
    /// What lies there before it, besides the source.
    before: fn(&Path),
    arguments: &'static [&'static str],
}

/// A way in which a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    call: &'static str,
    error: &'static str,
    /// The first call has number 1.
    number: usize,
}

/// Instead of an error: the end of the process when it makes the call.
const KILLED: &str = "SIGKILL";

/// How each call can fail, as far as it makes a difference. Calls that tell nothing of the work and
/// cannot fail are missing.
const WAYS: &[(&[&str], &[&str])] = &[
    (&["open", "openat", "openat2"], &["EIO", "EACCES", "EMFILE", "ENOMEM"]),
    (&["statx", "newfstatat", "fstat", "stat", "lstat"], &["EIO", "EACCES", "ENOMEM"]),
    (&["read", "pread64"], &["EIO", "EINTR"]),
    (&["write", "pwrite64"], &["ENOSPC", "EIO", "EDQUOT", "EINTR"]),
    (&["getdents64"], &["EIO"]),
    (&["lseek"], &["EIO", "EINVAL"]),
    (&["ftruncate"], &["EIO", "EFBIG", "ENOSPC", "EPERM"]),
    (&["fallocate"], &["ENOSPC", "EIO", "EOPNOTSUPP"]),
    (&["fstatfs", "statfs"], &["EIO", "ENOSYS"]),
    (&["linkat"], &["ENOSPC", "EACCES", "EIO", "EXDEV", "EPERM"]),
    (&["rename", "renameat", "renameat2"], &["EIO", "EACCES", "ENOSPC", "EINVAL"]),
    (&["unlink", "unlinkat"], &["EIO"]),
    (&["fsync", "fdatasync"], &["EIO", "ENOSPC"]),
    (&["utimensat"], &["EIO", "EPERM"]),
    (&["chmod", "fchmod", "fchmodat"], &["EPERM", "EIO"]),
    (&["close"], &["EIO", "ENOSPC", "EINTR"]),
    (&["readlink", "readlinkat"], &["EIO", "EACCES"]),
    (&["getcwd"], &["ENOENT", "EACCES"]),
    (&["access", "faccessat", "faccessat2"], &["EIO", "EACCES"]),
    (&["ioctl"], &["EIO", "EOPNOTSUPP"]),
    (&["getrandom"], &["ENOSYS", "EINTR"]),
    (&["sched_getaffinity"], &["EPERM"]),
];

/// Calls for memory and for the process itself: where they fail any program may end by a signal or
/// with words of its libraries.
const OF_PROCESS: &[(&[&str], &[&str])] = &[
    (&["mmap", "mremap", "brk", "mprotect", "munmap", "madvise"], &["ENOMEM"]),
    (&["clone", "clone3"], &["EAGAIN"]),
    (&["poll", "rt_sigaction", "rt_sigprocmask"], &["EINVAL"]),
    (&["sigaltstack"], &["ENOMEM"]),
    (&["prlimit64"], &["EPERM"]),
];

fn is_of_process(call: &str) -> bool {
    OF_PROCESS.iter().any(|(calls, _)| calls.contains(&call))
}

/// A folder with a source, and all that a build of one kind needs.
struct Place {
    folder: TempDir,
    strace: Tool,
    kind: Kind,
}

impl Place {
    fn new(kind: Kind) -> Option<Self> {
        let strace = Tool::find("strace")?;
        let folder = scratch();
        let tree = TreeBuilder::new(folder.path().join("src"));
        tree.filled("large", 1_300_000).filled("small", 3000).file("zero", "").directory("empty");
        tree.filled("sub/deeper/file", 5000).link("sub/deeper", "way").link("small", "also");
        let sparse = fs::File::create(folder.path().join("src/sparse")).unwrap();
        sparse.set_len(200_000).unwrap();
        drop(sparse);
        tree.settle();
        let place = Self { folder, strace, kind };
        place.reset();
        Some(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes everything as it is before a build.
    fn reset(&self) {
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.ends_with("src") {
                let _ = fs::remove_file(path.join("out.img"));
            } else if path.is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        (self.kind.before)(self.folder.path());
        support::set_times(self.folder.path(), support::TREE_SECONDS);
    }

    /// All that lies in the folder.
    fn contents(&self) -> Contents {
        let mut contents = Contents::new();
        collect(self.folder.path(), &mut contents);
        contents.retain(|path, _| !path.ends_with("log"));
        contents
    }

    /// A build under strace with `words`; its log is in `log`.
    fn build(&self, words: &[&str]) -> Output {
        let mut command = self.strace.command();
        command.args(["-f", "-qq", "-o", "log"]).args(words);
        command.arg(env!("CARGO_BIN_EXE_mkfatimg")).args(["--jobs", "1", "-q"]);
        command.args(self.kind.arguments).current_dir(self.folder.path());
        command.env_remove("SOURCE_DATE_EPOCH").output().unwrap()
    }

    /// All faults that a build can meet, those of calls of the loader apart, which come before the
    /// program begins.
    fn faults(&self) -> Vec<Fault> {
        let log = fs::read_to_string(self.path("log")).unwrap();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut has_begun = false;
        let mut faults = Vec::new();
        let mut unknown = BTreeSet::new();
        for line in log.lines() {
            let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
            let Some((call, _)) = call.split_once('(') else { continue };
            let number = numbers.entry(call).or_default();
            *number += 1;
            has_begun |= call == "poll";
            if !has_begun {
                continue;
            }
            let ways = WAYS.iter().chain(OF_PROCESS);
            let way = ways.flat_map(|(calls, errors)| {
                calls.iter().find(|known| **known == call).map(|call| (*call, *errors))
            });
            let mut known = false;
            for (call, errors) in way {
                known = true;
                let errors = errors.iter().chain([&KILLED]);
                faults.extend(errors.map(|error| Fault { call, error, number: *number }));
            }
            if !known {
                unknown.insert(call);
            }
        }
        // `fcntl` is a question of builds for tests alone, about what they close.
        let harmless = ["exit_group", "futex", "gettid", "getpid", "kill", "tgkill", "fcntl"];
        unknown.retain(|call| !harmless.contains(call));
        assert!(unknown.is_empty(), "no way to fail is known of {unknown:?}");
        faults
    }
}

fn collect(folder: &Path, contents: &mut Contents) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let found = fs::symlink_metadata(&path).unwrap();
        if found.is_dir() {
            collect(&path, contents);
        } else if found.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            contents.insert(path, Entry::Link(target));
        } else {
            let bytes = fs::read(&path).unwrap();
            contents.insert(path, Entry::File(bytes));
        }
    }
}

/// What is wrong with the end of a build that met `fault`, if anything is.
fn judge(
    fault: Fault,
    output: &Output,
    [before, good, found]: [&Contents; 3],
    good_stdout: &[u8],
) -> Result<(), String> {
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.signal() == Some(9) && fault.error == KILLED {
        return judge_killed(&output.stdout, [before, good, found], good_stdout);
    }
    let differs = |wanted: &Contents| {
        let names = wanted.keys().chain(found.keys());
        names.filter(|name| wanted.get(*name) != found.get(*name)).cloned().collect::<BTreeSet<_>>()
    };
    match output.status.code() {
        Some(0) if *found != *good => Err(format!("success, and {:?} differ", differs(good))),
        Some(0) if output.stdout != good_stdout => Err("success, and the output differs".into()),
        Some(0) => Ok(()),
        Some(1..=5) | None if is_of_process(fault.call) && found == before => Ok(()),
        Some(101 | 127) if is_of_process(fault.call) && found == before => Ok(()),
        // A call that was interrupted is made again.
        Some(1) if fault.error == "EINTR" => Err(format!("not tried again: {told}")),
        Some(1..=5) => {
            if told.is_empty() || told.lines().any(|line| !line.starts_with("mkfatimg: ")) {
                return Err(format!("words: {told:?}"));
            }
            // What fails when everything has its name is told as such.
            let complete = ["the image is complete", "the report cannot be written"];
            let wanted =
                if complete.iter().any(|words| told.contains(words)) { good } else { before };
            let mut differing = differs(wanted);
            // What cannot be removed is named.
            differing.retain(|path| {
                fault.call != "unlink"
                    || !told.contains(path.file_name().unwrap().to_str().unwrap())
            });
            if differing.is_empty() { Ok(()) } else { Err(format!("{differing:?} differ: {told}")) }
        }
        other => Err(format!("ended by {other:?}, {:?}: {told}", output.status.signal())),
    }
}

/// What a build has left that was killed: each name has what it had before or what it would have had in
/// the end, and what was to be renamed over an old file is complete.
fn judge_killed(
    stdout: &[u8],
    [before, good, found]: [&Contents; 3],
    good_stdout: &[u8],
) -> Result<(), String> {
    if !good_stdout.starts_with(stdout) {
        return Err("other bytes in the stream".into());
    }
    for (path, entry) in found {
        let as_before = before.get(path) == Some(entry);
        let name = path.file_name().unwrap().to_str().unwrap();
        let whole = || before.values().chain(good.values()).any(|whole| whole == entry);
        let waits = name.starts_with(".mkfatimg-") && before.keys().any(|old| !in_source(old));
        if !as_before && good.get(path) != Some(entry) && !(waits && whole()) {
            return Err(format!("killed, and {} is there", path.display()));
        }
    }
    match before.keys().find(|path| !found.contains_key(*path)) {
        Some(path) => Err(format!("killed, and {} is gone", path.display())),
        None => Ok(()),
    }
}

fn in_source(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("src")) && !path.ends_with("out.img")
}

/// Fails every call of a build of this kind, or a sample of them that begins with number `first`.
fn fail_every_call(first: usize, kind: Kind) {
    let Some(place) = Place::new(kind) else { return };
    let before = place.contents();
    let output = place.build(&[]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let (good, good_stdout) = (place.contents(), output.stdout.clone());
    let mut faults = place.faults();
    if std::env::var_os("MKFATIMG_EVERY_CALL").is_none() {
        faults = faults.into_iter().skip(first % SAMPLED).step_by(SAMPLED).collect();
    }
    let mut wrong = Vec::new();
    let mut words: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for fault in &faults {
        place.reset();
        let Fault { call, error, number } = *fault;
        let way = if error == KILLED { "signal=KILL".into() } else { format!("error={error}") };
        let inject = format!("inject={call}:{way}:when={number}");
        let trace = format!("trace={call}");
        let output = place.build(&["--seccomp-bpf", "-e", &trace, "-e", &inject]);
        let found = place.contents();
        let log = fs::read_to_string(place.path("log")).unwrap();
        let what = log.lines().find(|line| line.contains("(INJECTED)")).unwrap_or("not met");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let short: String = what.chars().take(150).collect();
        words.entry(format!("{:?} {told}", output.status.code())).or_default().push(short.clone());
        if let Err(why) = judge(*fault, &output, [&before, &good, &found], &good_stdout) {
            wrong.push(format!("{call} {number} {error}: {why}\n    {short}"));
        }
    }
    if std::env::var_os("MKFATIMG_TELL_WORDS").is_some() {
        for (told, calls) in &words {
            eprintln!("{} times {told}", calls.len());
            calls.iter().for_each(|call| eprintln!("        {call}"));
        }
    }
    eprintln!("{} calls failed", faults.len());
    assert!(wrong.is_empty(), "{} of {} faults:\n{}", wrong.len(), faults.len(), wrong.join("\n"));
}

const COMPANIONS: [&str; 4] = ["map", "bmap", "depfile", "out.img"];

fn old_files(folder: &Path) {
    for name in COMPANIONS {
        fs::write(folder.join(name), format!("old {name}")).unwrap();
    }
}

#[test]
fn an_image_with_companions() {
    let arguments = &[
        "--from",
        "src",
        "--map",
        "map",
        "--bmap",
        "bmap",
        "--depfile",
        "depfile",
        "--digest",
        "sha256",
        "out.img",
    ];
    fail_every_call(1, Kind { before: |_| {}, arguments });
}

#[test]
fn an_image_that_replaces_another_with_its_companions() {
    let arguments = &[
        "--from",
        "src",
        "--map",
        "map",
        "--bmap",
        "bmap",
        "--depfile",
        "depfile",
        "--sync",
        "--verify",
        "out.img",
    ];
    fail_every_call(2, Kind { before: old_files, arguments });
}

#[test]
fn an_image_at_the_end_of_links() {
    let before = |folder: &Path| {
        fs::create_dir(folder.join("images")).unwrap();
        fs::write(folder.join("images/old.img"), "old image").unwrap();
        symlink("images/link.img", folder.join("out.img")).unwrap();
        symlink("old.img", folder.join("images/link.img")).unwrap();
    };
    let arguments = &["--from", "src", "--direct", "always", "--preallocate", "out.img"];
    fail_every_call(3, Kind { before, arguments });
}

#[test]
fn an_image_in_its_own_source() {
    let before = |folder: &Path| {
        fs::write(folder.join("src/out.img"), "old image").unwrap();
    };
    let arguments = &["--from", "src", "--depfile", "depfile", "src/out.img"];
    fail_every_call(4, Kind { before, arguments });
}

#[test]
fn an_image_that_is_there_already() {
    let before = |folder: &Path| {
        let mut command = support::mkfatimg();
        command.args(["--from", "src", "-q", "out.img"]).current_dir(folder);
        assert!(command.status().unwrap().success());
    };
    let arguments = &["--from", "src", "--if-changed", "--map", "map", "out.img"];
    fail_every_call(5, Kind { before, arguments });
}

#[test]
fn an_image_from_a_manifest() {
    let before = |folder: &Path| {
        fs::write(
            folder.join("list.mtree"),
            "#mtree\n./kernel type=file contents=src/small\n./d type=dir\n./d/x type=file \
             contents=src/large\n",
        )
        .unwrap();
        fs::write(folder.join("patterns"), "*.bak\nzero\n").unwrap();
        fs::write(folder.join("code"), [0x90; 100]).unwrap();
        fs::create_dir(folder.join("more")).unwrap();
        fs::write(folder.join("more/file"), "more").unwrap();
    };
    let arguments = &[
        "--from",
        "list.mtree",
        "--from",
        "more:/m",
        "--from",
        "src/small:/s/t",
        "--exclude-from",
        "patterns",
        "--boot-code",
        "code",
        "out.img",
    ];
    fail_every_call(6, Kind { before, arguments });
}

#[test]
fn a_stream_with_companions() {
    let arguments = &["--from", "src", "--map", "map", "--bmap", "bmap", "-"];
    fail_every_call(7, Kind { before: old_files, arguments });
}

#[test]
fn a_stream_by_the_name_of_a_descriptor() {
    let arguments = &["--from", "src", "--digest", "sha256", "/dev/stdout"];
    fail_every_call(8, Kind { before: |_| {}, arguments });
}
