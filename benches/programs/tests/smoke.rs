//! The benchmarks from end to end on tiny trees: that they run, not how fast anything is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const TREES: [&str; 8] =
    ["livecd", "livecd-5g", "small", "huge", "sparse", "alike", "differing", "deep"];

/// A directory for one test; gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if path.exists() {
            fs::remove_dir_all(&path).unwrap();
        }
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind by a test that failed, it shows why.
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Where the programs lie, if all are there that the scripts ask for.
fn programs() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_BIN_EXE_trees")).parent().unwrap().to_owned();
    let search = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let is_found = |tool: &str| search.split(':').any(|at| Path::new(at).join(tool).is_file());
    let mut missing: Vec<&str> =
        ["mkfs.fat", "fsck.fat", "mcopy"].into_iter().filter(|tool| !is_found(tool)).collect();
    if !folder.join("mkfatimg").is_file() {
        missing.push("mkfatimg (cargo test --workspace builds it)");
    }
    if missing.is_empty() {
        return Some(folder);
    }
    let told = format!("not there: {}", missing.join(", "));
    assert!(std::env::var_os("MKFATIMG_REQUIRE_TOOLS").is_none(), "{told}");
    eprintln!("SKIPPED the benchmarks: {told}");
    None
}

/// Runs a script of the folder `benches` in `folder`.
fn script(name: &str, folder: &Folder, programs: &Path, arguments: &[&str]) -> Output {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(name);
    let mut command = Command::new(path);
    command.args(arguments).arg("--programs").arg(programs).stdin(Stdio::null());
    command.args(["--work", "work"]).current_dir(&folder.0);
    command.output().unwrap()
}

fn assert_done(ran: &Output) -> String {
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{}: {stderr}", ran.status);
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[test]
fn a_comparison_leaves_a_result_for_each_tool_on_each_tree() {
    let Some(programs) = programs() else { return };
    let folder = Folder::new("comparison");
    let options = ["--scale", "0.002", "--rounds", "1", "--out", "out"];
    assert_done(&script("compare", &folder, &programs, &options));
    let results = fs::read_to_string(folder.path("out/results.tsv")).unwrap();
    let remarks = fs::read_to_string(folder.path("out/remarks")).unwrap();
    for tree in TREES {
        for tool in ["mkfatimg", "mkfs.fat + mcopy", "fatfs", "cp -r", "limit", "limit again"] {
            let line = format!("{tree}\t0\t{tool}\t1\tdone\t");
            assert!(results.contains(&line), "{line}: {results}");
        }
        let verdict = format!("{tree}: mkfatimg: fsck.fat finds no fault");
        assert!(remarks.contains(&verdict), "{verdict}: {remarks}");
    }
    assert!(fs::read_to_string(folder.path("out/results.md")).unwrap().contains("## deep"));
    assert!(fs::read_to_string(folder.path("out/results.svg")).unwrap().ends_with("</svg>\n"));
    assert!(fs::read_to_string(folder.path("out/machine")).unwrap().contains("kernel: "));
    let left: Vec<_> = fs::read_dir(folder.path("work/trees")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn growth_leaves_a_chart_for_each_kind() {
    let Some(programs) = programs() else { return };
    let folder = Folder::new("growth");
    let options = ["--growth", "--scale", "0.002", "--rounds", "1", "--out", "out"];
    assert_done(&script("compare", &folder, &programs, &options));
    for kind in ["files", "names", "bytes"] {
        let drawn = fs::read_to_string(folder.path(&format!("out/growth-{kind}.svg"))).unwrap();
        // Three amounts, two programs, two panels.
        assert_eq!(drawn.matches("<circle").count(), 12, "{kind}");
    }
}

#[test]
fn each_way_to_write_has_a_row() {
    let Some(programs) = programs() else { return };
    let folder = Folder::new("strategies");
    let options = ["--rounds", "1", "--small", "16K", "--large", "64K"];
    let table = assert_done(&script("write_strategies", &folder, &programs, &options));
    // Two lines of titles, eight ways, mkfatimg with both sizes.
    assert_eq!(table.lines().count(), 12, "{table}");
}

#[test]
fn scripts_say_what_is_wrong_and_how_to_use_them() {
    let folder = Folder::new("usage");
    for name in ["compare", "write_strategies"] {
        let ran = script(name, &folder, Path::new("."), &["--help"]);
        assert!(assert_done(&ran).contains("--rounds N"), "{name}");
        let ran = script(name, &folder, Path::new("."), &["--round", "1"]);
        assert_eq!(ran.status.code(), Some(2), "{name}");
        assert!(String::from_utf8_lossy(&ran.stderr).contains("--round is no option"), "{name}");
    }
}

#[test]
fn the_same_tree_is_made_twice() {
    let folder = Folder::new("twice");
    for name in ["one", "other"] {
        let mut trees = Command::new(env!("CARGO_BIN_EXE_trees"));
        let status = trees.args(["livecd", "--scale", "0.002"]).arg(folder.path(name)).output();
        assert_done(&status.unwrap());
    }
    let listing = |name: &str| {
        let mut find = Command::new("find");
        find.args([".", "-printf", "%p %s %T@\\n"]).current_dir(folder.path(name));
        let mut lines: Vec<String> =
            assert_done(&find.output().unwrap()).lines().map(str::to_owned).collect();
        lines.retain(|line| !line.starts_with(". "));
        lines.sort();
        lines
    };
    assert_eq!(listing("one").len(), 15);
    // The size of a directory is the file system's own affair, but that of two alike is the same.
    assert_eq!(listing("one"), listing("other"));
    let differs =
        Command::new("diff").arg("-r").args(["one", "other"]).current_dir(&folder.0).output();
    assert_eq!(assert_done(&differs.unwrap()), "");
}
