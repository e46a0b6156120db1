//! docs/json.md: its examples print what it says.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{Ran, Tool, TreeBuilder, scratch, search_path};

/// Each block of `language` in the document.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    let block = |rest: &str| rest.split("```").next().unwrap().to_owned();
    text.split(&opening).skip(1).map(block).collect()
}

#[test]
fn the_examples_print_what_the_document_says() {
    let Some(_) = Tool::find("jq") else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md");
    let text = fs::read_to_string(path).unwrap();
    let (scripts, outputs) = (blocks(&text, "sh"), blocks(&text, "text"));
    assert_eq!((scripts.len(), outputs.len()), (3, 3));
    let folder = scratch();
    let tree = TreeBuilder::new(folder.path().join("rootfs"));
    tree.filled("boot/kernel", 3_000_000).file("a:b", "x").link("nowhere", "etc/mtab").settle();
    let path = search_path::beginning_with(&[search_path::of_program()]);
    for (script, output) in scripts.iter().zip(&outputs) {
        let mut shell = Command::new("sh");
        shell.args(["-ec", script]).current_dir(folder.path()).env("PATH", &path);
        let ran: Ran = shell.env_remove("SOURCE_DATE_EPOCH").output().unwrap().into();
        assert_eq!((ran.status, &ran.stdout), (Some(0), output), "{script}{}", ran.stderr);
    }
}
