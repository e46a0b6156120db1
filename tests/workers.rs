//! Several threads list, read and write: the image, the refusals and the error that is told do not
//! depend on how many there are, nor on who is faster.

mod support;

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use mkfatimg::Delivery;
use mkfatimg::Error;
use mkfatimg::event::{Observer, Stage};
use mkfatimg::image::{Body, Image};
use mkfatimg::jobs::Jobs;
use mkfatimg::sink::{Output, WriteError};
use mkfatimg::verify::Depth;
use support::{
    Expect, Ran, TREE_SECONDS, TempDir, Tool, TreeBuilder, Workplace, assert_sound, make_fifo,
    mkfatimg, request, scratch, set_time,
};

const MIB: u64 = 1 << 20;

fn jobs(count: usize) -> Jobs {
    Jobs::new(NonZeroUsize::new(count).unwrap())
}

/// `reader` gives exactly `expected`.
fn assert_gives(mut reader: impl Read, expected: &[u8], what: &str) {
    let mut rest = expected;
    let mut part = vec![0; MIB as usize];
    loop {
        let at = expected.len() - rest.len();
        let count = reader.read(&mut part).unwrap();
        if count == 0 {
            assert_eq!(at, expected.len(), "{what}: bytes that came");
            return;
        }
        assert!(count <= rest.len(), "{what}: more than {} bytes", expected.len());
        let (here, later) = rest.split_at(count);
        // Slices are compared much faster than their bytes one by one.
        if *here != part[..count] {
            let differing = here.iter().zip(&part).position(|(one, other)| one != other);
            panic!("{what}: byte {} differs", at + differing.unwrap());
        }
        rest = later;
    }
}

/// A tree of everything that a worker can meet: a file of several runs, a sparse one of many with
/// islands of data, small and empty files, empty and nested directories, links.
fn varied_tree(root: PathBuf) -> TreeBuilder {
    let tree = TreeBuilder::new(root);
    tree.filled("large", 21 * MIB as usize + 12_345);
    tree.filled("between", 4097).file("empty", "").directory("an empty directory");
    let sparse = File::create(tree.root().join("sparse")).unwrap();
    sparse.set_len(100 * MIB + 77).unwrap();
    for at in [4000, 10 * MIB - 5, 47 * MIB + 8192, 64 * MIB, 100 * MIB] {
        sparse.write_all_at(&[0xA5; 77], at).unwrap();
    }
    sparse.write_all_at(&vec![0x5A; 300_000], 80 * MIB - 150_000).unwrap();
    for number in 0..300 {
        let folder = number % 23;
        tree.filled(&format!("small/{folder}/a small file {number}"), number * 37);
    }
    let deep = (1..12).map(|level| format!("level {level}/")).collect::<String>();
    tree.filled(&format!("{deep}file"), 100_000).directory(&format!("{deep}nothing"));
    tree.link("large", "link to the large one").link("../between", "small/link");
    tree.link("/small/7", "linked directory").settle();
    tree
}

/// The images of [`varied_tree`] with `format` are one, whatever the number of threads and the way
/// of the bytes; `roomy_bytes` is a size of which much stays free.
fn assert_one_image(format: &[&str], roomy_bytes: u64) {
    let folder = scratch();
    let tree = varied_tree(folder.path().join("source"));
    let image = folder.path().join("image");
    let command = |arguments: &[&str]| {
        let mut command = mkfatimg();
        command.args(["-q", "--from"]).arg(tree.root()).args(format).args(arguments);
        command
    };
    let to_file = |arguments: &[&str]| {
        let ran: Ran = command(arguments).arg(&image).output().unwrap().into();
        assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.stderr);
    };
    let (roomy, odd) = (roomy_bytes.to_string(), (roomy_bytes + 1536).to_string());
    for (size, sector_size) in [
        (&[][..], "512"),
        (&["--size", &odd], "512"),
        (&["--free", "60M"], "4096"),
        (&["--size", &roomy], "4096"),
    ] {
        let given = [size, &["--sector-size", sector_size]].concat();
        to_file(&[&given[..], &["--jobs", "1", "--direct", "never"]].concat());
        assert_sound(&image, &Expect { cluster_64k: true, ..Expect::default() });
        let usual = fs::read(&image).unwrap();
        for jobs in ["1", "2", "3", "8"] {
            for direct in ["never", "always"] {
                let how = [&given[..], &["--jobs", jobs, "--direct", direct]].concat();
                to_file(&how);
                assert_gives(File::open(&image).unwrap(), &usual, &how.join(" "));
            }
            let how = [&given[..], &["--jobs", jobs]].concat();
            let mut child = command(&how).arg("-").stdout(Stdio::piped()).spawn().unwrap();
            assert_gives(child.stdout.take().unwrap(), &usual, &how.join(" "));
            assert_eq!(child.wait().unwrap().code(), Some(0), "{how:?}");
        }
    }
    to_file(&["--jobs", "8", "--direct", "always", "--verify"]);
}

#[test]
fn fat12_is_the_same_by_any_number_of_threads() {
    assert_one_image(&["--fat-type", "12", "--cluster-size", "64K"], 200 * MIB);
}

#[test]
fn fat16_is_the_same_by_any_number_of_threads() {
    assert_one_image(&["--fat-type", "16"], 300 * MIB);
}

#[test]
fn fat32_is_the_same_by_any_number_of_threads() {
    assert_one_image(&["--fat-type", "32"], 300 * MIB);
}

/// Calls a function when the first byte is about to be written: everything is scanned and planned,
/// nothing has been opened for its contents.
struct AtWrite<'a>(&'a (dyn Fn() + Sync));

impl Observer for AtWrite<'_> {
    fn stage(&self, stage: Stage) {
        if matches!(stage, Stage::Write { .. }) {
            (self.0)();
        }
    }
}

/// Bytes of files that lie in two runs at least, of an image file and of a stream.
const FILE_RUN_BYTES: u64 = 9 * MIB + 123;
const STREAM_RUN_BYTES: u64 = MIB + 123;

/// What can happen to a file, quickly noticed or slowly: a build that told whatever it met first
/// would tell of the later ones.
#[derive(Debug, Clone, Copy)]
enum Change {
    Touched,
    Grown,
    Shrunk,
    Replaced,
    Vanished,
}

const CHANGES: [Change; 5] =
    [Change::Touched, Change::Vanished, Change::Grown, Change::Replaced, Change::Shrunk];

impl Change {
    fn make(self, path: &Path, kept: &Path, bytes: u64) {
        let set_len =
            |len| OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
        match self {
            Self::Touched => set_time(path, TREE_SECONDS + 2),
            Self::Grown => set_len(bytes + 1),
            Self::Shrunk => set_len(bytes - 1),
            Self::Replaced => {
                fs::rename(path, kept).unwrap();
                fs::write(path, "another").unwrap();
            }
            Self::Vanished => fs::rename(path, kept).unwrap(),
        }
    }

    /// Makes it as if nothing had happened.
    fn undo(self, path: &Path, kept: &Path, bytes: u64) {
        match self {
            Self::Replaced | Self::Vanished => fs::rename(kept, path).unwrap(),
            Self::Grown | Self::Shrunk => {
                let file = OpenOptions::new().write(true).open(path).unwrap();
                file.set_len(bytes).unwrap();
                file.write_all_at(&[((bytes - 1) % 251) as u8], bytes - 1).unwrap();
            }
            Self::Touched => {}
        }
        set_time(path, TREE_SECONDS);
    }

    fn text(self, bytes: u64) -> String {
        let what = match self {
            Self::Touched => "changed".to_owned(),
            Self::Grown => format!("grew from {bytes} to {} bytes", bytes + 1),
            Self::Shrunk => format!("shrank from {bytes} to {} bytes", bytes - 1),
            Self::Replaced => "was replaced by another file".to_owned(),
            Self::Vanished => "vanished".to_owned(),
        };
        format!("{what} while the image was built; build again when nothing changes the source")
    }
}

/// A source of large files in the order of the image, the first of which nobody changes.
struct Changing {
    folder: TempDir,
    tree: TreeBuilder,
    /// Of each file.
    bytes: u64,
}

impl Changing {
    const NAMES: [&str; 5] = ["b", "c", "d", "e", "f"];

    fn new(bytes: u64) -> Self {
        let folder = scratch();
        let tree = TreeBuilder::new(folder.path().join("source"));
        tree.filled("a", bytes as usize).file("an empty one", "");
        for name in Self::NAMES {
            tree.filled(name, bytes as usize);
        }
        tree.settle();
        fs::create_dir(folder.path().join("kept")).unwrap();
        fs::create_dir(folder.path().join("out")).unwrap();
        Self { folder, tree, bytes }
    }

    /// Builds while all files but the first change, the kinds of change beginning with number
    /// `first` of them, and an empty one vanishes; returns the error and what it should be.
    fn build(&self, output: &Output, first: usize) -> (String, String) {
        let source = |name: &str| self.tree.root().join(name);
        let kept = |name: &str| self.folder.path().join("kept").join(name);
        let changes = Self::NAMES.into_iter().zip(CHANGES.into_iter().cycle().skip(first));
        let change = || {
            fs::rename(source("an empty one"), kept("an empty one")).unwrap();
            changes
                .clone()
                .for_each(|(name, change)| change.make(&source(name), &kept(name), self.bytes));
        };
        let request = request(self.tree.root());
        let built = mkfatimg::build(
            &request,
            &Delivery::of(output.clone(), Depth::Structure),
            &AtWrite(&change),
        );
        changes
            .clone()
            .for_each(|(name, change)| change.undo(&source(name), &kept(name), self.bytes));
        fs::rename(kept("an empty one"), source("an empty one")).unwrap();
        let told = match built.unwrap_err() {
            Error::Write(WriteError::Content(error)) => error.to_string(),
            other => panic!("{other}"),
        };
        (told, format!("{}: {}", source("b").display(), CHANGES[first].text(self.bytes)))
    }
}

#[test]
fn the_first_change_in_the_order_of_the_image_is_told_and_no_file_is_left() {
    let changing = Changing::new(FILE_RUN_BYTES);
    let out = changing.folder.path().join("out");
    for round in 0..20 {
        for count in [1, 2, 4] {
            let mut output = Output::at(&out.join("image")).unwrap();
            output.jobs = Some(jobs(count));
            let (told, wanted) = changing.build(&output, round % CHANGES.len());
            assert_eq!(told, wanted, "{count} threads");
            assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
        }
    }
}

#[test]
fn of_a_stream_that_ends_with_the_first_change_the_right_bytes_before_it_came() {
    let changing = Changing::new(STREAM_RUN_BYTES);
    let fifo = changing.folder.path().join("out/fifo");
    make_fifo(&fifo);
    let read_fifo = || {
        let fifo = fifo.clone();
        thread::spawn(move || {
            let mut streamed = Vec::new();
            File::open(fifo).unwrap().read_to_end(&mut streamed).unwrap();
            streamed
        })
    };
    let plan = mkfatimg::plan(&request(changing.tree.root()), &()).unwrap();
    let is_first = |body| match body {
        Body::Content(id) => plan.tree().name(id) == b"b",
        _ => false,
    };
    let first = Image::of(&plan).segments().find(|segment| is_first(segment.body)).unwrap();
    // A stream goes out in whole buffers.
    let before = first.at - first.at % MIB;
    let reader = read_fifo();
    Delivery::of(Output::at(&fifo).unwrap(), Depth::Structure).carry_out(plan, &()).unwrap();
    let whole = reader.join().unwrap();
    for round in 0..20 {
        for count in [1, 2, 4] {
            let mut output = Output::at(&fifo).unwrap();
            output.jobs = Some(jobs(count));
            let reader = read_fifo();
            let (told, wanted) = changing.build(&output, round % CHANGES.len());
            assert_eq!(told, wanted, "{count} threads");
            let streamed = reader.join().unwrap();
            assert_eq!(streamed.len() as u64, before, "{count} threads");
            assert!(whole.starts_with(&streamed), "{count} threads");
        }
    }
}

#[test]
fn of_what_has_no_bytes_the_first_that_changed_is_told() {
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    for number in 0..400 {
        tree.file(format!("{number:03}"), "");
    }
    tree.settle();
    let names: Vec<PathBuf> =
        (57..400).map(|number| tree.root().join(format!("{number:03}"))).collect();
    let mut output = Output::at(&folder.path().join("image")).unwrap();
    for count in [1, 2, 8] {
        output.jobs = Some(jobs(count));
        for _ in 0..20 {
            let change = || names.iter().for_each(|path| fs::remove_file(path).unwrap());
            let request = request(tree.root());
            let built = mkfatimg::build(
                &request,
                &Delivery::of(output.clone(), Depth::Structure),
                &AtWrite(&change),
            );
            let wanted = format!("{}: {}", names[0].display(), Change::Vanished.text(0));
            assert_eq!(built.unwrap_err().to_string(), wanted, "{count} threads");
            assert!(!folder.path().join("image").exists());
            names.iter().for_each(|path| fs::write(path, "").unwrap());
        }
    }
}

/// Directories full of what FAT cannot hold.
const BAD_FOLDERS: usize = 200;

fn bad_tree(place: &Workplace) {
    let tree = TreeBuilder::new(place.path("src"));
    for number in 0..BAD_FOLDERS {
        let folder = format!("{}/{number:03}", number % 7);
        tree.file(format!("{folder}/a:b"), "x").file(format!("{folder}/good"), "y");
        tree.link("nowhere", &format!("{folder}/lost")).directory(&format!("{folder}/what?/sub"));
        tree.link("../../..", &format!("{folder}/out"));
        make_fifo(&tree.root().join(&folder).join("pipe"));
    }
    tree.settle();
}

/// The folders of [`bad_tree`] in the order of the walk.
fn bad_folders() -> impl Iterator<Item = String> {
    (0..7).flat_map(|first| {
        let inside = (0..BAD_FOLDERS).filter(move |number| number % 7 == first);
        inside.map(move |number| format!("src/{first}/{number:03}"))
    })
}

#[test]
fn refusals_are_the_same_list_by_any_number_of_threads() {
    let place = Workplace::new();
    bad_tree(&place);
    let links = "leave such links out with --dangling skip, or follow them on this machine with \
                 --symlinks host";
    let names = "rename it, or use --invalid-names replace or skip";
    let mut wanted = Vec::new();
    for folder in bad_folders() {
        wanted.push(format!(
            "{folder}/lost: is a link to nowhere, and inside src there is no /{}/nowhere; {links}",
            &folder[4..]
        ));
        wanted
            .push(format!("{folder}/out: is a link to ../../.., which leads out of src; {links}"));
        wanted.push(format!(
            "{folder}/pipe: is a FIFO, which FAT cannot hold; remove it, or leave such out with \
             --special skip"
        ));
    }
    for folder in bad_folders() {
        wanted.push(format!("{folder}/a:b: name holds ':', which FAT forbids; {names}"));
        wanted.push(format!("{folder}/what?: name holds '?', which FAT forbids; {names}"));
    }
    let wanted: String = wanted.iter().map(|line| format!("mkfatimg: {line}\n")).collect();
    for jobs in ["1", "2", "8"] {
        for _ in 0..5 {
            let ran = place.run(&["--from", "src", "--jobs", jobs, "out.img"]);
            assert_eq!(ran.status, Some(4));
            let (lines, sum) = ran.stderr.trim_end().rsplit_once('\n').unwrap();
            assert_eq!(format!("{lines}\n"), wanted, "{jobs} threads");
            assert!(sum.starts_with("mkfatimg: no image was written: 1000 problems"), "{sum}");
        }
    }
}

#[test]
fn notices_are_the_same_list_by_any_number_of_threads() {
    let place = Workplace::new();
    bad_tree(&place);
    let mut command = vec!["--from", "src", "--invalid-names", "replace", "--special", "skip"];
    command.extend(["--dangling", "skip", "--json", "-q"]);
    let mut wanted = Vec::new();
    for folder in bad_folders() {
        wanted.push(format!("{folder}/lost: link to nowhere left out: leads nowhere"));
        wanted.push(format!("{folder}/out: link to ../../.. left out: leads out of the source"));
        wanted.push(format!("{folder}/pipe: FIFO left out"));
    }
    for folder in bad_folders() {
        let why = "which FAT forbids";
        wanted.push(format!("{folder}/a:b: stored as a_b: name holds ':', {why}"));
        wanted.push(format!("{folder}/what?: stored as what_: name holds '?', {why}"));
    }
    let mut images = Vec::new();
    for jobs in ["1", "2", "8"] {
        for _ in 0..5 {
            let ran = place.run(&[&command[..], &["--jobs", jobs, "out.img"]].concat());
            assert_eq!(ran.status, Some(0), "{}", ran.stderr);
            let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
            let notices = found["notices"].as_array().unwrap();
            let told: Vec<&str> =
                notices.iter().map(|notice| notice["text"].as_str().unwrap()).collect();
            assert_eq!(told, wanted, "{jobs} threads");
            images.push(fs::read(place.path("out.img")).unwrap());
        }
    }
    assert_sound(&place.path("out.img"), &Expect::default());
    assert!(images.iter().all(|image| *image == images[0]), "another image by more threads");
}

/// Where the system gives no thread, or none from number `from` on.
#[test]
fn fewer_threads_than_asked_for_make_the_same_image() {
    let Some(strace) = Tool::find("strace") else { return };
    let place = Workplace::new();
    let tree = TreeBuilder::new(place.path("src"));
    tree.filled("large", 60 * MIB as usize + 5).filled("sub/small", 1000).file("empty", "");
    for number in 0..100 {
        tree.filled(&format!("{number}/file"), 5000);
    }
    tree.settle();
    assert_eq!(place.run(&["--from", "src", "--jobs", "1", "right.img"]).status, Some(0));
    let right = fs::read(place.path("right.img")).unwrap();
    // Seven threads are made for the walk, seven for the eight runs of the image, and one for what
    // has no bytes.
    for (from, threads) in [("1+", 1), ("8+", 1), ("9+", 2), ("11+", 4), ("15+", 8)] {
        let inject = format!("inject=clone,clone3:error=EAGAIN:when={from}");
        let traced = |last: &str| {
            let mut command = strace.command();
            command.args(["-f", "-o", "log", "-e", "trace=clone,clone3", "-e", &inject]);
            command.arg(env!("CARGO_BIN_EXE_mkfatimg")).args(["--from", "src", "--jobs", "8"]);
            command.args(if last == "-" { &["-q"][..] } else { &["-q", "--json"] }).arg(last);
            let output = command.current_dir(place.folder.path()).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{from}: {told}");
            let log = fs::read_to_string(place.path("log")).unwrap();
            assert!(log.contains("(INJECTED)"), "{from}: {log}");
            output.stdout
        };
        let told: serde_json::Value = serde_json::from_slice(&traced("out.img")).unwrap();
        assert_eq!(told["written"]["jobs"], threads, "{from}");
        assert_gives(File::open(place.path("out.img")).unwrap(), &right, from);
        assert_gives(&traced("-")[..], &right, from);
    }
    let expect = Expect { source: Some(place.path("src")), ..Expect::default() };
    assert_sound(&place.path("out.img"), &expect);
}

/// Of what a process may hold open, workers take no more than there is.
#[test]
fn few_descriptors_mean_fewer_workers_and_no_error() {
    let place = Workplace::new();
    let tree = TreeBuilder::new(place.path("src"));
    tree.filled("large", 60 * MIB as usize);
    for number in 0..300 {
        tree.file(format!("{number}/empty"), "").filled(&format!("{number}/sub/file"), 5000);
    }
    tree.settle();
    assert_eq!(place.run(&["--from", "src", "--jobs", "1", "right.img"]).status, Some(0));
    let right = fs::read(place.path("right.img")).unwrap();
    for (descriptors, threads) in [("12", 1), ("16", 1), ("20", 2), ("64", 8)] {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n \"$0\" && exec \"$@\"", descriptors]);
        command.arg(env!("CARGO_BIN_EXE_mkfatimg")).args(["--from", "src", "--jobs", "8"]);
        command.args(["-q", "--json", "out.img"]).current_dir(place.folder.path());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["written"]["jobs"], threads, "{descriptors} descriptors");
        assert_gives(File::open(place.path("out.img")).unwrap(), &right, descriptors);
    }
}
