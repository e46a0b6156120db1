//! Recipes that are followed as they stand: each in a folder of its own, with what it takes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Ran, TempDir, Tool, TreeBuilder, scratch, search_path};

/// The file `name` of `tests/recipes`.
pub fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes").join(name)
}

/// A folder in which one recipe is followed, with `mkfatimg` found as an installed one is.
pub struct Kitchen {
    folder: TempDir,
}

impl Kitchen {
    pub fn new() -> Self {
        let kitchen = Self { folder: scratch() };
        fs::create_dir_all(kitchen.path("home/.cargo/bin")).unwrap();
        fs::create_dir(kitchen.path("work")).unwrap();
        kitchen.install_mkfatimg(&kitchen.path("home/.cargo/bin/mkfatimg"));
        kitchen
    }

    pub fn install_mkfatimg(&self, at: &Path) {
        symlink(env!("CARGO_BIN_EXE_mkfatimg"), at).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder in which the recipe runs.
    pub fn work(&self, name: &str) -> PathBuf {
        self.path("work").join(name)
    }

    /// What the recipe takes, all of one time.
    pub fn inputs(&self, files: &[(&str, &[u8])]) -> TreeBuilder {
        let tree = TreeBuilder::new(self.path("work"));
        for (path, contents) in files {
            tree.file(path, contents);
        }
        tree.settle();
        tree
    }

    /// `program`, found on the PATH of somebody who has installed mkfatimg.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env("PATH", search_path::beginning_with(&[&self.path("home/.cargo/bin")]));
        command.env("HOME", self.path("home")).env("LC_ALL", "C.UTF-8");
        command.env_remove("SOURCE_DATE_EPOCH").env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
        command.current_dir(self.path("work")).stdin(Stdio::null());
        command
    }

    /// Runs the recipe `name`, which must work.
    pub fn follow(&self, name: &str) -> Ran {
        self.succeed(&mut self.command(recipe(name)))
    }

    pub fn succeed(&self, command: &mut Command) -> Ran {
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.status, Some(0), "{command:?}: {}{}", ran.stdout, ran.stderr);
        ran
    }
}

/// Whether all programs that a recipe needs are there.
pub fn are_there(names: &[&str]) -> bool {
    names.iter().all(|name| Tool::find(name).is_some())
}
