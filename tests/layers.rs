//! Who may import whom: reads the `use` lines of the sources and holds them against the table of
//! `docs/architecture.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A module, the modules of this crate that it may use, and the crates.
const TABLE: [(&str, &[&str], &[&str]); 18] = [
    ("units", &[], &[]),
    ("printable", &[], &[]),
    ("event", &["printable"], &[]),
    ("jobs", &[], &["rustix"]),
    ("pattern", &[], &["globset", "thiserror"]),
    ("fat", &["units"], &["zerocopy", "thiserror", "unicode_normalization"]),
    ("disk", &[], &["crc32fast", "thiserror", "zerocopy"]),
    ("source", &["event", "jobs", "pattern", "printable"], &["rustix", "thiserror"]),
    (
        "plan",
        &["source", "fat", "disk", "event", "pattern", "units", "printable"],
        &["jiff", "sha2", "thiserror"],
    ),
    ("image", &["plan", "fat", "disk", "source"], &[]),
    (
        "sink",
        &["image", "source", "event", "jobs", "printable", "units"],
        &["nix", "reflink_copy", "rustix", "sha2", "tempfile", "thiserror"],
    ),
    (
        "verify",
        &["plan", "fat", "disk", "source", "event", "printable"],
        &["fatfs", "fscommon", "log", "rustix", "thiserror"],
    ),
    (
        "report",
        &["plan", "disk", "image", "sink", "source", "event", "printable", "verify"],
        &["serde", "serde_json", "sha2", "humansize"],
    ),
    ("within", &["disk", "fat", "printable", "verify"], &["thiserror"]),
    ("delivery", &["error", "event", "image", "plan", "report", "sink", "verify"], &[]),
    ("error", &["plan", "sink", "source", "verify"], &["thiserror"]),
    (
        "cli",
        &[
            "delivery",
            "disk",
            "error",
            "event",
            "fat",
            "jobs",
            "pattern",
            "plan",
            "printable",
            "report",
            "sink",
            "source",
            "verify",
            "within",
        ],
        &["clap", "anyhow", "indicatif", "jiff", "rustix", "signal_hook", "thiserror"],
    ),
    ("lib", &["delivery", "error", "event", "plan", "report", "source"], &[]),
];

/// Of a lower module, the parts that an upper one may use, where not all of it.
const PARTS: [(&str, &str, &[&str]); 4] = [
    ("verify", "source", &["content", "NodeId"]),
    ("image", "source", &["NodeId"]),
    // What lies in a place is read as the bytes of any image, not judged.
    ("within", "verify", &["bytes"]),
    // The sink opens contents; it knows no more of trees than which content is meant.
    ("sink", "source", &["content", "NodeId", "Tree"]),
];

/// The one module that may use a crate.
const ONLY_IN: [(&str, &str); 10] = [
    ("crc32fast", "src/disk/gpt.rs"),
    ("globset", "src/pattern.rs"),
    ("fatfs", "src/verify/readback.rs"),
    ("fscommon", "src/verify/readback.rs"),
    ("log", "src/verify/readback.rs"),
    ("indicatif", "src/cli/progress.rs"),
    ("reflink_copy", "src/sink/clone.rs"),
    ("nix", "src/sink/taken.rs"),
    ("signal_hook", "src/cli/signals.rs"),
    ("humansize", "src/report/human.rs"),
];

/// A `use` path, flattened: `crate::source::{NodeId, Tree}` gives two.
fn use_paths(source: &str) -> Vec<String> {
    let code: String = source
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let mut paths = Vec::new();
    for (at, line) in lines_with_offsets(&code) {
        let declared = ["use ", "pub use ", "pub(crate) use ", "pub(super) use "]
            .iter()
            .find(|start| line.trim_start().starts_with(**start));
        if let Some(start) = declared
            && let Some(end) = code[at..].find(';')
        {
            let statement = &code[at..at + end];
            let from = statement.find(start).unwrap_or(0) + start.len();
            flatten("", &statement[from..], &mut paths);
        }
    }
    // Paths written out in the code itself.
    let crates = TABLE.iter().flat_map(|row| row.2);
    for head in crates.chain([&"crate"]) {
        for (start, _) in code.match_indices(&format!("{head}::")) {
            let before = code[..start].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let rest = &code[start..];
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            paths.push(rest[..end.unwrap_or(rest.len())].trim_end_matches(':').to_owned());
        }
    }
    paths
}

fn lines_with_offsets(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    code.split_inclusive('\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    })
}

fn flatten(prefix: &str, text: &str, paths: &mut Vec<String>) {
    let mut depth = 0;
    let mut start = 0;
    let mut parts = Vec::new();
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        match part.split_once('{') {
            Some((inner, rest)) => {
                flatten(&format!("{prefix}{inner}"), rest.trim_end_matches('}'), paths);
            }
            None => paths.push(format!("{prefix}{}", part.split(" as ").next().unwrap_or(part))),
        }
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Everything that is wrong with one file that belongs to `module`.
fn breaches(file: &str, module: &str, source: &str) -> Vec<String> {
    let Some((_, modules, crates)) = TABLE.iter().find(|row| row.0 == module) else {
        return vec![format!("{file}: module {module} is not in the table")];
    };
    // What tests use is not what the module knows.
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut wrong = Vec::new();
    for path in use_paths(source).into_iter().collect::<BTreeSet<_>>() {
        // A file of a folder leaves its module by two steps up, any other by one.
        let up = path.split("::").take_while(|step| *step == "super").count();
        let depth = file.matches('/').count() - usize::from(file.ends_with("/mod.rs"));
        let absolute = if up > 0 && up >= depth {
            format!("crate::{}", path.split("::").skip(up).collect::<Vec<_>>().join("::"))
        } else {
            path.clone()
        };
        let mut steps = absolute.split("::");
        match steps.next().unwrap_or_default() {
            "std" | "self" | "super" | "core" => {}
            "crate" => {
                let (target, part) = (steps.next().unwrap_or_default(), steps.next());
                if target.is_empty() {
                    // The head of a list, whose members are looked at one by one.
                    continue;
                }
                let top_level_item = target.starts_with(char::is_uppercase)
                    || ["plan", "build"].contains(&target) && part.is_none();
                if target == module || (module == "cli" && top_level_item) {
                    continue;
                }
                if !modules.contains(&target) {
                    wrong.push(format!("{file}: {module} may not use {path}"));
                }
                let parts = PARTS.iter().find(|row| row.0 == module && row.1 == target);
                if let (Some((_, _, parts)), Some(part)) = (parts, part)
                    && !parts.contains(&part)
                {
                    wrong.push(format!("{file}: {module} may not use {path}"));
                }
            }
            krate if module == "lib" && modules.contains(&krate) => {}
            krate if !crates.contains(&krate) && krate.starts_with(char::is_lowercase) => {
                // A module of the same folder.
                let folder = Path::new(file).with_file_name("");
                let own = [format!("{krate}.rs"), format!("{krate}/mod.rs")];
                let root = Path::new(env!("CARGO_MANIFEST_DIR"));
                if !own.iter().any(|own| root.join(&folder).join(own).exists()) {
                    wrong.push(format!("{file}: {module} may not use the crate {krate}"));
                }
            }
            krate => {
                if let Some((_, only)) = ONLY_IN.iter().find(|row| row.0 == krate)
                    && *only != file
                {
                    wrong.push(format!("{file}: only {only} may use the crate {krate}"));
                }
            }
        }
    }
    wrong
}

#[test]
fn no_module_imports_what_it_must_not_know() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    assert!(files.len() > 30, "the sources were not found");
    let mut wrong = BTreeSet::new();
    for path in files {
        let file = path.strip_prefix(root).unwrap().display().to_string();
        let module = file.split('/').nth(1).unwrap().trim_end_matches(".rs").to_owned();
        if module == "main" {
            continue;
        }
        wrong.extend(breaches(&file, &module, &fs::read_to_string(&path).unwrap()));
    }
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_upward_import_is_seen_in_any_spelling() {
    for line in [
        "use crate::plan::Plan;",
        "use crate::{units, plan};",
        "use crate::{\n    units::align_up,\n    sink::{Output, OutputError as E},\n};",
        "fn f() { crate::cli::run(); }",
        "use rustix::fs::Dir;",
        "fn f() { let directory = rustix::fs::Dir::new(d); }",
        "use super::super::plan::Plan;",
        "pub(crate) use crate::source::tree::Tree;",
    ] {
        assert_eq!(breaches("src/fat/kind.rs", "fat", line).len().min(1), 1, "{line}");
    }
    for line in ["use crate::units::align_up;", "use super::kind::FatKind;", "// use crate::cli;"] {
        assert_eq!(breaches("src/fat/kind.rs", "fat", line), [""; 0], "{line}");
    }
    assert_eq!(breaches("src/image/mod.rs", "image", "use crate::source::tree::Tree;").len(), 1);
    assert_eq!(breaches("src/cli/mod.rs", "cli", "use indicatif::ProgressBar;").len(), 1);
}
