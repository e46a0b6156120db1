//! Completions and manual page are those of the command line as it is. `UPDATE=1` writes them.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueHint;
use clap_complete::Shell;

#[path = "generated/bash.rs"]
mod bash;

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

/// The page with a short synopsis, and with the help's last paragraphs as sections of their own.
fn manual_page() -> String {
    let mut page = Vec::new();
    // Without a date the page is the same whenever it is made.
    clap_mangen::Man::new(mkfatimg::cli::command()).date("").render(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let mut lines = Vec::new();
    let mut in_synopsis = false;
    for line in page.lines() {
        if line.starts_with(".SH ") {
            in_synopsis = line == ".SH SYNOPSIS";
        }
        match line {
            ".SH EXTRA" => {}
            _ if in_synopsis && !line.starts_with(".SH ") => lines.push(SYNOPSIS.to_owned()),
            "Examples:" => lines.extend([".SH EXAMPLES".to_owned(), ".nf".to_owned()]),
            ".SH VERSION" => lines.extend([".fi".to_owned(), line.to_owned()]),
            _ => match SECTIONS
                .iter()
                .find_map(|(start, title)| line.strip_prefix(start).map(|rest| (title, rest)))
            {
                Some((title, rest)) => {
                    lines.extend([format!(".SH \"{title}\""), rest.to_owned()]);
                }
                None => lines.push(line.to_owned()),
            },
        }
    }
    lines.join("\n") + "\n"
}

const SYNOPSIS: &str =
    "\\fBmkfatimg\\fR \\fB\\-\\-from\\fR \\fISRC\\fR[:/\\fIDEST\\fR] [\\fIoptions\\fR] \\fIOUT\\fR";

const SECTIONS: [(&str, &str); 3] =
    [("Sizes: ", "SIZES"), ("Exit status: ", "EXIT STATUS"), ("Environment: ", "ENVIRONMENT")];

#[test]
fn the_manual_page_is_fresh() {
    assert_fresh("docs/mkfatimg.1", manual_page().as_bytes());
}
