//! A repository of git for tests of checkouts.

use std::path::Path;

use super::{Ran, TREE_SECONDS, Tool};

/// Makes `folder` a repository, with `path` in it as the only commit, of [`TREE_SECONDS`]; `None` without
/// git.
pub fn commit(folder: &Path, path: &str) -> Option<()> {
    let git = Tool::find("git")?;
    let time = format!("@{TREE_SECONDS} +0000");
    for arguments in [
        &["init", "--quiet"][..],
        &["add", path],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=a"],
    ] {
        let mut command = git.command();
        command.current_dir(folder).args(arguments);
        // Whoever runs the tests may sign commits, or have hooks.
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_COMMITTER_DATE", &time).env("GIT_AUTHOR_DATE", &time);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.stderr);
    }
    Some(())
}
