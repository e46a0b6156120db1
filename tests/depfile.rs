//! Builds by real make and ninja: whatever an image depends on makes it out of date, nothing else
//! does, and what was deleted stops neither.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use support::{Ran, Tool, TreeBuilder, Workplace};

/// Longer than the clock that stamps files takes from one time to the next.
const TICK: Duration = Duration::from_millis(30);

/// A folder with a source `src` and rules for both tools that make `out.img` of it.
struct Scene {
    place: Workplace,
    source: TreeBuilder,
    tool: Tool,
}

impl Scene {
    /// With `arguments` besides the usual; `None` where the tool is missing.
    fn new(tool: &str, arguments: &str) -> Option<Self> {
        let tool_found = Tool::find(tool)?;
        let place = Workplace::new();
        let source = TreeBuilder::new(place.path("src"));
        source.file("file.txt", "hello").file("folder/inner", "inner").directory("empty");
        source.settle();
        let command =
            format!("{} -q --depfile out.d {arguments} out.img", env!("CARGO_BIN_EXE_mkfatimg"));
        let makefile = format!("out.img:\n\t@echo building\n\t@{command}\n-include out.d\n");
        fs::write(place.path("Makefile"), makefile).unwrap();
        let ninja = format!(
            "rule image\n  command = {command}\n  description = building\n  depfile = out.d\nbuild out.img: image\n"
        );
        fs::write(place.path("build.ninja"), ninja).unwrap();
        Some(Self { place, source, tool: tool_found })
    }

    /// Runs the tool, which must succeed, and tells whether it built the image.
    fn builds(&self) -> bool {
        sleep(TICK);
        let mut command = self.tool.command();
        command.current_dir(self.place.folder.path()).env_remove("MAKEFLAGS");
        let ran: Ran =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap().into();
        assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
        sleep(TICK);
        ran.stdout.contains("building")
    }

    /// The image is out of date now, and not any more when it was built.
    fn is_stale(&self, why: &str) {
        assert!(self.builds(), "not built: {why}");
        assert!(!self.builds(), "built twice: {why}");
    }

    fn touch(&self, path: impl AsRef<Path>) {
        let file = fs::File::open(self.place.folder.path().join(path)).unwrap();
        file.set_modified(SystemTime::now()).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.place.path(path)).unwrap();
    }
}

/// The usual life of a source.
fn lives(tool: &str) {
    let Some(scene) = Scene::new(tool, "--from src") else { return };
    scene.is_stale("there is no image");
    scene.touch("src/file.txt");
    scene.is_stale("a file was touched");
    scene.source.file("folder/new", "new");
    scene.is_stale("a file was added");
    scene.source.file("empty/deep/er/new", "new");
    scene.is_stale("a directory was added");
    scene.remove("src/file.txt");
    scene.is_stale("a file was deleted");
    fs::remove_dir_all(scene.place.path("src/folder")).unwrap();
    scene.is_stale("a directory was deleted");
    fs::rename(scene.place.path("src/empty/deep"), scene.place.path("src/deep")).unwrap();
    scene.is_stale("a directory was moved");
    scene.touch("Makefile");
    assert!(!scene.builds(), "built for a file that is no input");
}

#[test]
fn make_builds_what_is_out_of_date_and_nothing_else() {
    lives("make");
}

#[test]
fn ninja_builds_what_is_out_of_date_and_nothing_else() {
    lives("ninja");
}

/// Everything that is read is an input: several sources, single files, links' ends, boot code and
/// lists of patterns. What is left out is none.
fn reads(tool: &str) {
    let arguments = "--from src --from extra:/extra --from one.bin:/boot/ --exclude-from list \
                     --boot-code boot.bin";
    let Some(scene) = Scene::new(tool, arguments) else { return };
    TreeBuilder::new(scene.place.path("extra")).file("e", "extra").settle();
    fs::write(scene.place.path("one.bin"), "one").unwrap();
    fs::write(scene.place.path("list"), "*.bak\nscratch/\n").unwrap();
    fs::write(scene.place.path("boot.bin"), [0; 64]).unwrap();
    scene.source.file("x.bak", "").file("scratch/s", "").file("lib/real", "real");
    scene.source.link("lib/real", "link").settle();
    scene.is_stale("there is no image");
    for path in ["extra/e", "extra", "one.bin", "list", "boot.bin", "src/lib/real", "src"] {
        scene.touch(path);
        scene.is_stale(path);
    }
    for path in ["src/x.bak", "src/scratch/s", "src/scratch"] {
        scene.touch(path);
        assert!(!scene.builds(), "{path} is in no image");
    }
}

#[test]
fn make_knows_of_everything_that_is_read() {
    reads("make");
}

#[test]
fn ninja_knows_of_everything_that_is_read() {
    reads("ninja");
}

/// A manifest, what it names, and the coming of what it would take if it were there.
fn reads_manifests(tool: &str) {
    let Some(scene) = Scene::new(tool, "--from tree.mtree") else { return };
    let manifest = "#mtree\n./a type=file contents=src/file.txt\n\
        ./b type=file optional contents=later/deep/b\n./c type=file optional contents=src/none\n";
    fs::write(scene.place.path("tree.mtree"), manifest).unwrap();
    fs::create_dir(scene.place.path("later")).unwrap();
    scene.is_stale("there is no image");
    for path in ["tree.mtree", "src/file.txt"] {
        scene.touch(path);
        scene.is_stale(path);
    }
    scene.touch("src/folder/inner");
    assert!(!scene.builds(), "built for a file that no line names");
    scene.source.file("none", "");
    scene.is_stale("an optional file came");
    TreeBuilder::new(scene.place.path("later/deep")).file("b", "");
    scene.is_stale("an optional file came with its folder");
}

#[test]
fn make_knows_of_what_a_manifest_names() {
    reads_manifests("make");
}

#[test]
fn ninja_knows_of_what_a_manifest_names() {
    reads_manifests("ninja");
}

/// A single file is an input under the name that was typed, and so is where that leads if it is a
/// link's.
#[test]
fn single_files_are_named_as_typed() {
    let place = Workplace::new();
    let files = TreeBuilder::new(place.path("files"));
    files.file("one", "one").file("two", "two").link("two", "link").file("bak", "").settle();
    symlink("files", place.path("folder")).unwrap();
    let arguments = ["--from", "files/one:/", "--from", "./folder/two:/", "--from", "files/link:/"];
    let others = ["--from", "files/bak:/", "--exclude", "bak", "--depfile", "out.d", "out.img"];
    let ran = place.run(&[&arguments[..], &others].concat());
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let end = place.folder.path().canonicalize().unwrap().join("files/two");
    let end = end.display();
    let rule = format!(
        "out.img: \\\n {end} \\\n ./folder/two \\\n files/bak \\\n files/link \\\n files/one\n\n"
    );
    let written = fs::read_to_string(place.path("out.d")).unwrap();
    assert!(written.starts_with(&rule), "{written}");
}

/// Names with every printable character of ASCII, and some that are awkward as a whole.
fn awkward_names() -> Vec<String> {
    let characters = (' '..='~').filter(|c| !c.is_ascii_alphanumeric() && *c != '/');
    let mut names: Vec<String> = characters.map(|c| format!("a{c}b")).collect();
    let whole =
        ["=", "~x", "-x", "%", ".PHONY", "include", "a  b", "#", "$$", "a%b%c", "été", "[a]", "a&"];
    names.extend(whole.map(str::to_owned));
    names
}

/// Each of `names` makes the image out of date when it is touched and when it is deleted.
fn names_are_read(tool: &str, unreadable: &str) {
    let sources: Vec<&str> = ["src", "include", ".PHONY", "arch=arm"]
        .into_iter()
        .filter(|name| !name.contains(|c| unreadable.contains(c)))
        .collect();
    let from: Vec<String> = sources.iter().map(|source| format!("--from {source}")).collect();
    let arguments = format!("{} --invalid-names replace --clash rename", from.join(" "));
    let Some(scene) = Scene::new(tool, &arguments) else { return };
    for folder in &sources[1..] {
        TreeBuilder::new(scene.place.path(folder)).file(format!("of {folder}"), "").settle();
    }
    let names = awkward_names();
    let readable = names.iter().filter(|name| !name.contains(|c| unreadable.contains(c)));
    let readable: Vec<&String> = readable.collect();
    for name in &readable {
        scene.source.file(name, "");
    }
    scene.source.settle();
    scene.is_stale("there is no image");
    for name in &readable {
        scene.touch(Path::new("src").join(name));
        assert!(scene.builds(), "{name} was touched");
    }
    assert!(!scene.builds());
    for name in &readable {
        scene.remove(&format!("src/{name}"));
        // Only the deletion counts, not what it does to the directory.
        support::set_time(&scene.place.path("src"), support::TREE_SECONDS);
        // What make looks for with ? it finds in a neighbour.
        let found_elsewhere = name.contains([';', '|', '=']);
        assert!(scene.builds() || found_elsewhere, "{name} was deleted");
    }
    assert!(!scene.builds());
    for folder in &sources[1..] {
        let path = format!("{folder}/of {folder}");
        scene.touch(&path);
        scene.is_stale(&path);
        scene.remove(&path);
        scene.is_stale(&path);
    }
}

#[test]
fn make_reads_awkward_names() {
    names_are_read("make", "");
}

#[test]
fn ninja_reads_awkward_names() {
    names_are_read("ninja", ";|=\"&'*<>?^`\\");
}

/// Names that ninja misreads are told.
#[test]
fn names_that_ninja_misreads_are_told() {
    let place = Workplace::new();
    let source = TreeBuilder::new(place.path("src"));
    source
        .file("a;b", "")
        .file("b=c", "")
        .file("it's", "")
        .file("plain", "")
        .file("%", "")
        .settle();
    let arguments = ["--from", "src", "--invalid-names", "replace", "--depfile", "out.d"];
    let ran = place.run(&[&arguments[..], &["-v", "out.img"]].concat());
    let notes: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("depfile")).collect();
    let told = |name: &str| {
        format!(
            "mkfatimg: note: src/{name}: ninja misreads the name in a depfile and builds each time; make does not"
        )
    };
    assert_eq!(notes, [told("a;b"), told("b=c"), told("it's")]);
    assert_eq!(
        fs::read_to_string(place.path("out.d")).unwrap(),
        "out.img: \\\n src \\\n src/% \\\n src/a?b \\\n src/b?c \\\n src/it's \\\n src/plain\n\n\
         src:\nsrc/%: ;\nsrc/a?b:\nsrc/b?c:\nsrc/it's:\nsrc/plain:\n"
    );
}

/// An image in its own source changes the source's time; that makes it no older.
#[test]
fn an_image_in_its_own_source_is_not_built_for_ever() {
    let Some(scene) = Scene::new("make", "--from .") else { return };
    scene.is_stale("there is no image");
    scene.source.file("file.txt", "changed");
    scene.is_stale("a file has changed");
}

#[test]
fn outputs_that_make_cannot_follow_are_refused() {
    let place = Workplace::new();
    TreeBuilder::new(place.path("src")).file("file", "").settle();
    for (arguments, line) in [
        (
            ["--depfile", "out.d", "a=b.img"],
            "--depfile: make and ninja cannot name a=b.img; rename the image",
        ),
        (["--depfile", "out.d", "-"], "--depfile is for image files; standard output is a stream"),
        (
            ["--depfile", "out.img", "out.img"],
            "--depfile out.img: is the image as well; name another file",
        ),
        (["--depfile", "-", "out.img"], "--depfile -: name a file; ./- is one of that name"),
        (["--depfile", "no/out.d", "out.img"], "no/out.d: there is no directory no; make it first"),
        (
            ["--dry-run", "--depfile", "out.d"],
            "--depfile goes with an image that is written; leave out --dry-run",
        ),
    ] {
        let ran = place.run(&[&["--from", "src"], &arguments[..]].concat());
        assert_eq!(ran.stderr, format!("mkfatimg: {line}\n"));
        assert!(!place.path("out.img").exists() && !place.path("out.d").exists());
    }
}
