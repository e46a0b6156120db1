//! Where shells find programs by their names: mkfatimg among them, as an installed one is found.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder with the program under test.
pub fn of_program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_mkfatimg")).parent().unwrap()
}

/// A PATH with `folders` first, then those of whoever runs the tests, and those in which Debian keeps
/// programs for file systems.
pub fn beginning_with(folders: &[&Path]) -> OsString {
    let first = folders.iter().map(PathBuf::from);
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let last = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::join_paths(first.chain(std::env::split_paths(&usual)).chain(last)).unwrap()
}
