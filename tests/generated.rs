//! Completions and manual page are those of the command line as it is. `UPDATE=1` writes them.

use std::fs;
use std::path::{Path, PathBuf};

use clap_complete::Shell;

fn assert_fresh(path: &str, expected: &[u8]) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read(&path).unwrap_or_default();
    assert!(found == expected, "{} is stale: run the test with UPDATE=1", path.display());
}

#[test]
fn completions_are_fresh() {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
        let mut script = Vec::new();
        let mut command = mkfatimg::cli::command();
        clap_complete::generate(shell, &mut command, "mkfatimg", &mut script);
        let name = clap_complete::Generator::file_name(&shell, "mkfatimg");
        assert_fresh(&format!("completions/{name}"), &script);
    }
}

#[test]
fn the_manual_page_is_fresh() {
    let mut page = Vec::new();
    // Without a date the page is the same whenever it is made.
    clap_mangen::Man::new(mkfatimg::cli::command()).date("").render(&mut page).unwrap();
    assert_fresh("docs/mkfatimg.1", &page);
}
