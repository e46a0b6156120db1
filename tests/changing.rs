//! A source that changes while an image file is written: the change is named, no image appears, and
//! an older image stays. The change comes from within the build, so it never comes too late.

mod support;

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use mkfatimg::Delivery;
use mkfatimg::Error;
use mkfatimg::event::{Observer, Stage};
use mkfatimg::jobs::Jobs;
use mkfatimg::sink::{Output, WriteError};
use mkfatimg::source::{Place, Sources};
use mkfatimg::verify::{Depth, VerifyError};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use support::{TreeBuilder, request, scratch};

/// Changes the source once, when the first bytes are written or, later, when they are compared.
struct Meddler<'a> {
    change: &'a (dyn Fn() + Sync),
    at_verify: bool,
    armed: AtomicBool,
}

impl Observer for Meddler<'_> {
    fn stage(&self, stage: Stage) {
        let here = matches!(
            (stage, self.at_verify),
            (Stage::Write { .. }, false) | (Stage::Verify { .. }, true)
        );
        self.armed.store(here, Ordering::Relaxed);
        if here && self.at_verify && self.armed.swap(false, Ordering::Relaxed) {
            (self.change)();
        }
    }

    fn advance(&self, _: u64) {
        if self.armed.swap(false, Ordering::Relaxed) {
            (self.change)();
        }
    }
}

/// The message of a build during which `change` happens to the file `late` of its source.
fn message(at_verify: bool, change: impl Fn(&Path) + Sync) -> String {
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    tree.filled("early", 3 << 20).filled("late", 100_000).file("late empty", "").settle();
    let late = tree.root().join("late");
    let request = request(tree.root());
    let image = folder.path().join("image");
    let change = || change(&late);
    let mut messages = Vec::new();
    for old in [false, true] {
        if old {
            fs::remove_dir_all(tree.root()).unwrap();
            tree.filled("early", 3 << 20).filled("late", 100_000).file("late empty", "").settle();
            fs::write(&image, "old image").unwrap();
        }
        let meddler = Meddler { change: &change, at_verify, armed: AtomicBool::new(false) };
        let output = Output::at(&image).unwrap();
        let error =
            mkfatimg::build(&request, &Delivery::of(output.clone(), Depth::Contents), &meddler)
                .unwrap_err();
        messages.push(match error {
            Error::Write(WriteError::Content(error)) => error.to_string(),
            Error::Verify(VerifyError::Content(error)) => error.to_string(),
            other => panic!("{other}"),
        });
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), if old { 2 } else { 1 }, "{left:?}");
        if old {
            assert_eq!(fs::read(&image).unwrap(), b"old image");
        }
    }
    assert_eq!(messages[0], messages[1]);
    messages[0].replace(&format!("{}/", tree.root().display()), "")
}

const AGAIN: &str = "while the image was built; build again when nothing changes the source";

#[test]
fn every_kind_of_change_is_named_and_nothing_appears() {
    let grow = |path: &Path| {
        fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"more").unwrap();
    };
    assert_eq!(message(false, grow), format!("late: grew from 100000 to 100004 bytes {AGAIN}"));
    let cut = |path: &Path| {
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(99_999).unwrap();
    };
    assert_eq!(message(false, cut), format!("late: shrank from 100000 to 99999 bytes {AGAIN}"));
    let replace = |path: &Path| {
        let new = path.with_file_name("new");
        fs::write(&new, vec![1; 100_000]).unwrap();
        fs::rename(new, path).unwrap();
    };
    assert_eq!(message(false, replace), format!("late: was replaced by another file {AGAIN}"));
    let link = |path: &Path| {
        let new = path.with_file_name("new");
        symlink("early", &new).unwrap();
        fs::rename(new, path).unwrap();
    };
    assert_eq!(message(false, link), format!("late: was replaced by another file {AGAIN}"));
    let touch = |path: &Path| support::set_time(path, 1_000_000_000);
    assert_eq!(message(false, touch), format!("late: changed {AGAIN}"));
    let remove = |path: &Path| fs::remove_file(path).unwrap();
    assert_eq!(message(false, remove), format!("late: vanished {AGAIN}"));
    let fill = |path: &Path| fs::write(path.with_file_name("late empty"), "x").unwrap();
    assert_eq!(message(false, fill), format!("late empty: grew from 0 to 1 bytes {AGAIN}"));
}

#[test]
fn a_change_during_the_comparison_is_no_fault_of_the_image() {
    let touch = |path: &Path| support::set_time(path, 1_000_000_000);
    assert_eq!(message(true, touch), format!("late: changed {AGAIN}"));
}

/// Changes the source when the walk meets its first entry.
struct WalkMeddler<'a>(&'a (dyn Fn() + Sync), AtomicBool);

impl Observer for WalkMeddler<'_> {
    fn advance(&self, _: u64) {
        if !self.1.swap(true, Ordering::Relaxed) {
            (self.0)();
        }
    }
}

/// In one step, so that nobody finds nothing in the place of either.
fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

/// What a walk by `jobs` refuses when a directory of its tree gives its place to a link, which leads to
/// files that are none of its business.
fn refusals_of_walk(jobs: Jobs) -> String {
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    tree.file("a first file", "x").file("late/inside", "in").link("late", "0 link");
    let host = TreeBuilder::new(folder.path().join("host"));
    host.file("secret", "of the host").file("inside", "not in");
    let places = vec![Place { path: tree.root().to_path_buf(), destination: Vec::new() }];
    let sources = Sources { places, jobs, ..Sources::default() };
    let link = folder.path().join("link");
    symlink("../host", &link).unwrap();
    let change = || exchange(&link, &tree.root().join("late"));
    let walk = WalkMeddler(&change, AtomicBool::new(false));
    let scanned = mkfatimg::source::scan(&sources, &walk).unwrap();
    let names: Vec<String> =
        scanned.ids().map(|id| String::from_utf8_lossy(scanned.name(id)).into_owned()).collect();
    assert!(!names.contains(&"secret".to_owned()), "{names:?}");
    let told: Vec<String> = scanned.refusals.iter().map(ToString::to_string).collect();
    told.join("\n").replace(tree.root().to_str().unwrap(), "SOURCE").replace("SOURCE/", "")
}

#[test]
fn a_link_in_place_of_a_directory_during_the_walk_leads_nowhere() {
    // The link of the tree that leads there is resolved after the change, and leads out.
    let leads_out = "0 link: is a link to late, which leads out of SOURCE; leave such links out with \
                     --dangling skip, or follow them on this machine with --symlinks host";
    let replaced = "\nlate: was replaced while the source was walked; \
                    build again when nothing changes the source";
    assert_eq!(refusals_of_walk(Jobs::ONE), format!("{leads_out}{replaced}"));
    // Another thread may have listed the directory before the change; then that is what was there.
    for _ in 0..20 {
        let told = refusals_of_walk(Jobs::new(NonZeroUsize::new(4).unwrap()));
        assert_eq!(told.strip_suffix(replaced).unwrap_or(&told), leads_out);
    }
}

#[test]
fn a_link_in_place_of_a_directory_during_the_copy_is_not_followed() {
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("source"));
    tree.filled("early", 3 << 20).filled("sub/late", 100_000).settle();
    // Once they have changed places, the very files are still there, at the end of the link.
    let aside = folder.path().join("aside");
    symlink(&aside, &aside).unwrap();
    let request = request(tree.root());
    let change = || exchange(&aside, &tree.root().join("sub"));
    let meddler = Meddler { change: &change, at_verify: false, armed: AtomicBool::new(false) };
    let output = Output::at(&folder.path().join("image")).unwrap();
    let error =
        mkfatimg::build(&request, &Delivery::of(output.clone(), Depth::Structure), &meddler)
            .unwrap_err();
    let told = error.to_string();
    assert!(told.ends_with(&format!("sub/late: was replaced by another file {AGAIN}")), "{told}");
}
