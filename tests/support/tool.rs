//! Programs of others, and what becomes of a check for which something is missing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Ran, search_path};

/// Tells that something is not checked and why: what is not installed, or not allowed here. Fails where
/// `MKFATIMG_REQUIRE_TOOLS` is set, as in CI.
pub fn skip(why: &str) {
    let required = std::env::var_os("MKFATIMG_REQUIRE_TOOLS").is_some();
    assert!(!required, "{why}, and MKFATIMG_REQUIRE_TOOLS is set");
    eprintln!("SKIPPED a check: {why}");
}

/// Whether `file`, which a package of others brings, is there; without it the test is skipped, as by
/// [`skip`].
pub fn has_file(file: &str) -> bool {
    let is_there = Path::new(file).is_file();
    if !is_there {
        skip(&format!("there is no {file}"));
    }
    is_there
}

/// A program of others that judges images.
#[derive(Debug)]
pub struct Tool(PathBuf);

impl Tool {
    /// Finds `name`. Without it the test that asks is skipped, as by [`skip`].
    pub fn find(name: &str) -> Option<Self> {
        let path = search_path::beginning_with(&[]);
        let found =
            std::env::split_paths(&path).map(|folder| folder.join(name)).find(|p| p.is_file());
        if found.is_none() {
            skip(&format!("{name} is not installed"));
        }
        found.map(Self)
    }

    /// A command of the tool, in a known locale and zone.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.0);
        command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC").stdin(Stdio::null());
        command
    }

    /// Runs the tool.
    pub fn run<I: IntoIterator<Item = A>, A: AsRef<OsStr>>(&self, arguments: I) -> Ran {
        self.command().args(arguments).output().unwrap().into()
    }
}
