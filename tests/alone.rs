//! The program keeps to itself: no network, no other program, and of the environment only what its
//! manual page names.

mod support;

use std::fs;
use std::path::Path;

use support::{Tool, TreeBuilder, Workplace};

/// The modules of the library that may ask the system for something of its own, and for what.
const ASKED: [(&str, &str); 6] = [
    ("src/cli/mod.rs", "std::env::args_os"),
    ("src/cli/request.rs", "std::env::var_os(EPOCH_VARIABLE)"),
    ("src/cli/terminal.rs", "std::env::var_os(name)"),
    ("src/cli/exit.rs", "process::ExitCode"),
    ("src/cli/mod.rs", "std::process::ExitCode"),
    ("src/main.rs", "std::process::ExitCode"),
];

/// What opens a way out of the process.
const WAYS_OUT: [&str; 8] = [
    "env::",
    "process::",
    "std::net",
    "os::unix::net",
    "UnixStream",
    "TcpStream",
    "UdpSocket",
    "exec(",
];

/// All sources below `folder`, as paths in the repository and texts.
fn sources(folder: &Path, into: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let here = Path::new(env!("CARGO_MANIFEST_DIR"));
            let name = path.strip_prefix(here).unwrap().to_string_lossy().into_owned();
            into.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn sources_have_no_other_way_out() {
    let mut all = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
    assert!(all.len() > 50);
    let mut ways = Vec::new();
    for (name, text) in &all {
        // Tests stand at a file's end.
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let out = WAYS_OUT.iter().any(|way| line.contains(way));
            let asked = ASKED.iter().any(|(file, what)| file == name && line.contains(what));
            // Limits of the process, by rustix.
            let limits = line.contains("rustix::process::{Resource, getrlimit}");
            if out && !asked && !limits {
                ways.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(ways.is_empty(), "{}", ways.join("\n"));
}

fn scene() -> (Workplace, TreeBuilder) {
    let place = Workplace::new();
    let source = TreeBuilder::new(place.path("src"));
    source.filled("file", 100_000).file("sub/a long name.text", "text").settle();
    (place, source)
}

/// As a build with everything that it can do: table, companions, verification, local zone.
const EVERYTHING: [&str; 14] = [
    "--from",
    "src",
    "--partition-table",
    "gpt",
    "--size",
    "8M",
    "--verify",
    "--json",
    "--map",
    "map.json",
    "--timezone",
    "local",
    "--jobs",
    "2",
];

#[test]
fn a_build_asks_no_network_and_starts_no_program() {
    let Some(strace) = Tool::find("strace") else { return };
    let (place, _source) = scene();
    let mut command = strace.command();
    command.current_dir(place.folder.path()).env_remove("TZ");
    command.args(["-f", "-qq", "-e", "trace=%network,%process", "-o", "log"]);
    command.arg(env!("CARGO_BIN_EXE_mkfatimg")).args(EVERYTHING).arg("image");
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let log = fs::read_to_string(place.path("log")).unwrap();
    let names = log.lines().filter_map(|line| {
        let call = line.split_once(' ')?.1.trim_start();
        let name = call.split_once('(')?.0;
        name.chars()
            .all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
            .then_some(name)
    });
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    let started = names.iter().filter(|name| **name == "execve").count();
    assert_eq!(started, 1, "the program itself: {log}");
    // Threads are clones that share everything.
    let own = ["arch_prctl", "clone", "clone3", "execve", "exit", "exit_group", "rt_sigprocmask"];
    names.retain(|name| !own.contains(name));
    assert!(names.is_empty(), "{names:?}");
    assert!(
        log.lines()
            .filter(|line| line.contains("clone"))
            .all(|line| { line.contains("CLONE_THREAD") || line.contains("resumed") })
    );
}

/// Variables that others heed, and such as a program might invent, change neither image nor messages.
#[test]
fn other_variables_change_nothing() {
    let (place, _source) = scene();
    let build = |variables: &[(&str, &str)], image: &str| {
        let mut command = place.command(&["--from", "src", "--size", "4M", "--verify", image]);
        command.env_clear().envs(variables.iter().copied());
        let ran = support::Ran::from(command.output().unwrap());
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        (fs::read(place.path(image)).unwrap(), ran.stdout.replace(image, "IMAGE"))
    };
    let (plain, told) = build(&[], "plain");
    let others = [
        ("HOME", "/nowhere"),
        ("PATH", "/nowhere"),
        ("TMPDIR", "/nowhere"),
        ("LANG", "de_DE.UTF-8"),
        ("LC_ALL", "tr_TR.UTF-8"),
        ("USER", "somebody"),
        ("PWD", "/nowhere"),
        ("RUST_LOG", "trace"),
        ("RUST_BACKTRACE", "full"),
        ("MTOOLSRC", "/nowhere"),
        ("MKFATIMG_SIZE", "9M"),
        ("MKFATIMG_OPTIONS", "--label X"),
        ("http_proxy", "http://127.0.0.1:9"),
        ("LD_LIBRARY_PATH", "/nowhere"),
        ("TZ", "Asia/Tokyo"),
        ("COLUMNS", "20"),
        ("CLICOLOR_FORCE", "1"),
    ];
    let (image, told_too) = build(&others, "other");
    assert!(image == plain);
    // How long it took is no matter.
    let without_time = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split(" written in ").next().unwrap().to_owned()).collect()
    };
    assert_eq!(without_time(&told_too), without_time(&told));
}
