//! Completions and manual page are those of the command line as it is, and the page and the help can be
//! read. `UPDATE=1` writes them.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueHint;
use clap_complete::Shell;

#[path = "generated/bash.rs"]
mod bash;
#[path = "generated/page.rs"]
mod page;
mod support;

use support::{Ran, Tool, mkfatimg};

fn assert_fresh(path: &str, expected: &[u8]) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read(&path).unwrap_or_default();
    assert!(found == expected, "{} is stale: run the test with UPDATE=1", path.display());
}

/// The script for `shell`: that of clap_complete, but for what is wrong with it in the shell.
fn completion(shell: Shell) -> String {
    let mut command = mkfatimg::cli::command().mut_args(|arg| {
        let unhinted = arg.get_value_hint() == ValueHint::Unknown;
        let free = arg.get_action().takes_values() && arg.get_possible_values().is_empty();
        // Sizes, numbers, texts: no file is offered for them.
        if unhinted && free { arg.value_hint(ValueHint::Other) } else { arg }
    });
    command.build();
    if shell == Shell::Bash {
        return bash::script(&command);
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "mkfatimg", &mut script);
    let mut script = String::from_utf8(script).unwrap();
    if shell == Shell::Zsh {
        // A colon ends the name of a value.
        for name in command.get_arguments().filter_map(clap::Arg::get_value_names).flatten() {
            script =
                script.replace(&format!("]:{name}:"), &format!("]:{}:", name.replace(':', "\\:")));
        }
    }
    script
}

#[test]
fn completions_are_fresh() {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
        let name = clap_complete::Generator::file_name(&shell, "mkfatimg");
        assert_fresh(&format!("completions/{name}"), completion(shell).as_bytes());
    }
}

#[test]
fn the_manual_page_is_fresh() {
    let page = page::page(&mkfatimg::cli::command());
    assert_fresh("docs/mkfatimg.1", page.as_bytes());
}

#[test]
fn the_manual_page_reads_without_complaint_and_has_every_section() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mkfatimg.1");
    let Some(man) = Tool::find("man") else { return };
    for columns in ["80", "120"] {
        let mut man = man.command();
        man.env("MANWIDTH", columns).args(["--warnings=w", "-E", "UTF-8", "-l"]);
        let ran = Ran::from(man.arg(&page).output().unwrap());
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{columns}");
        let wide = |line: &&str| line.chars().count() > columns.parse().unwrap();
        assert_eq!(ran.stdout.lines().find(wide), None, "{columns}");
        let sections: Vec<&str> = ran
            .stdout
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
            .collect();
        let known = [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "SIZES",
            "PATTERNS",
            "EXIT STATUS",
            "ENVIRONMENT",
            "FILES",
            "EXAMPLES",
            "SEE ALSO",
        ];
        let missing = known.iter().find(|section| !sections.contains(section));
        assert_eq!(missing, None, "{sections:?}");
        let statuses = (0..=5).filter(|status| {
            ran.stdout.lines().any(|line| line.starts_with(&format!("       {status}      ")))
        });
        assert_eq!(statuses.count(), 6, "{}", ran.stdout);
    }
}

/// Lines of lists stay whole; the rest is broken at the edge.
#[test]
fn the_help_fits_terminals_of_80_and_of_100_columns() {
    let command = mkfatimg::cli::command();
    let behind = command.get_after_long_help().unwrap().to_string();
    let lists: Vec<&str> = behind.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(lists.len() > 10);
    for columns in [80, 100] {
        let shown = |flag: &str| -> String {
            let mut help = mkfatimg();
            let help = help.arg(flag).env("COLUMNS", columns.to_string());
            let ran = Ran::from(help.output().unwrap());
            assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
            let wide = |line: &&str| line.chars().count() > columns;
            assert_eq!(ran.stdout.lines().find(wide), None, "{flag} {columns}");
            ran.stdout
        };
        let (short, long) = (shown("-h"), shown("--help"));
        assert!(short.lines().count() < long.lines().count() / 2);
        let broken = lists.iter().find(|line| !long.lines().any(|shown| shown == **line));
        assert_eq!(broken, None, "{columns}");
    }
}
