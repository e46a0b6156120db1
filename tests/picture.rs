//! A dry run on a terminal: the image as a picture, made of what the terminal can show. Elsewhere
//! nothing is drawn.

mod support;

use std::fs::File;

use support::{Ran, Tool, TreeBuilder, Workplace};

const COMMAND: &str = "--from src --size 16M --fat-type 16 --volume-id 12345678 --dry-run";

/// A folder with a tree of one directory and one file of 5 MiB of zeros.
fn place() -> Workplace {
    let place = Workplace::new();
    let source = TreeBuilder::new(place.path("src"));
    source.directory("d").file("data", "");
    File::options()
        .write(true)
        .open(source.root().join("data"))
        .and_then(|file| file.set_len(5 << 20))
        .unwrap();
    source.settle();
    place
}

/// What a terminal of `columns` shows of the dry run with `flags` in such an environment.
fn shown(script: &Tool, columns: u16, environment: &[(&str, &str)], flags: &str) -> String {
    let place = place();
    let line =
        format!("stty cols {columns} && '{}' {COMMAND} {flags}", env!("CARGO_BIN_EXE_mkfatimg"));
    let mut command = place.on_terminal(script, &line);
    command.env_remove("LC_ALL").env("LANG", "C.UTF-8").envs(environment.iter().copied());
    let ran: Ran = command.output().unwrap().into();
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    ran.stdout.replace("\r\n", "\n")
}

/// What a dry run shows where nothing can be drawn.
fn undrawn(flags: &str) -> String {
    let arguments: Vec<&str> = COMMAND.split(' ').chain(flags.split_whitespace()).collect();
    place().run(&arguments).stdout
}

const SUMMARY: &str = "\
FAT16, 16 MiB, 8167 clusters of 2 KiB, volume id 1234-5678
  1 file in 1 directory, 5 MiB; 10.95 MiB free

";

const REST: &str = "
full: 31.3 % of 15.95 MiB in clusters used, 10.95 MiB free

largest files
       5 MiB  /data
";

#[test]
fn a_usual_terminal_shows_bar_table_and_fullness() {
    let Some(script) = Tool::find("script") else { return };
    let expected = format!(
        "{SUMMARY}\
▐▓▒▀▄████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░

  region              from byte          bytes          size    share
▐ reserved area               0            512         512 B    0.0 %
▓ FAT 1                     512          16384        16 KiB    0.1 %
▒ FAT 2                   16896          16384        16 KiB    0.1 %
▀ root directory          33280          16384        16 KiB    0.1 %
▄ directories             49664           2048         2 KiB    0.0 %
█ files                   51712        5242880         5 MiB   31.3 %
░ free                  5294592       11482624     10.95 MiB   68.4 %
{REST}"
    );
    assert_eq!(shown(&script, 80, &[("NO_COLOR", "1")], ""), expected);
    // A terminal that does not tell is as wide as most.
    assert_eq!(shown(&script, 0, &[("NO_COLOR", "1")], ""), expected);
    assert_eq!(shown(&script, 0, &[("TERM", "dumb")], ""), expected);
    // A name is no reason to draw otherwise, nor is a wish for silence about the build.
    assert_eq!(shown(&script, 80, &[("NO_COLOR", "1")], "-q out.img"), expected);
}

#[test]
fn a_picture_is_as_narrow_as_its_terminal() {
    let Some(script) = Tool::find("script") else { return };
    let plain = [("NO_COLOR", "1"), ("LANG", "C")];
    for (columns, bar) in
        [(36, "|12/+##########....................."), (20, "|12/+#####..........")]
    {
        let narrow = shown(&script, columns, &plain, "");
        let picture =
            narrow.strip_prefix(SUMMARY).and_then(|rest| rest.strip_suffix(REST)).unwrap();
        assert_eq!(picture.lines().next(), Some(bar));
        assert_eq!(picture.lines().map(str::len).max(), Some(columns.into()), "{picture}");
        let told = columns.to_string();
        let environment = [("COLUMNS", told.as_str()), plain[0], plain[1]];
        assert_eq!(shown(&script, 80, &environment, ""), narrow, "the environment tells");
    }
}

#[test]
fn a_wide_terminal_has_a_bar_of_100_columns() {
    let Some(script) = Tool::find("script") else { return };
    let shown = shown(&script, 500, &[("NO_COLOR", "1")], "");
    assert_eq!(shown.lines().map(|line| line.chars().count()).max(), Some(100), "{shown}");
}

#[test]
fn colours_come_where_they_are_possible_and_welcome() {
    let Some(script) = Tool::find("script") else { return };
    let coloured = shown(&script, 40, &[], "");
    assert!(coloured.contains("\x1b["), "{coloured:?}");
    assert_eq!(shown(&script, 40, &[("NO_COLOR", "")], ""), coloured);
    let plain = shown(&script, 40, &[("NO_COLOR", "1")], "");
    assert!(!plain.contains('\x1b'), "{plain:?}");
    assert_eq!(shown(&script, 40, &[("TERM", "dumb")], ""), plain);
    let stripped = coloured.split('\x1b').map(|part| match part.split_once('m') {
        Some((code, rest)) if code.starts_with('[') => rest,
        _ => part,
    });
    assert_eq!(stripped.collect::<String>(), plain);
}

#[test]
fn nothing_is_drawn_for_programs() {
    let Some(script) = Tool::find("script") else { return };
    let json = shown(&script, 80, &[], "--json");
    assert_eq!(json, undrawn("--json"));
    assert_eq!(shown(&script, 80, &[], "| cat"), undrawn(""));
    assert!(!undrawn("").contains("full: "));
}
