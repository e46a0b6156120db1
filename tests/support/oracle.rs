//! Judges that others wrote, behind a folder of scripts.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use super::{Ran, skip};

const VARIABLE: &str = "MKFATIMG_ORACLES";

/// What an oracle installs, and what it writes for others, is made by one test at a time.
static PREPARING: Mutex<()> = Mutex::new(());

/// A script that ends with 0 for images that it accepts, with 1 for others, and with 3 when it could
/// not look.
pub struct Oracle {
    script: PathBuf,
}

impl Oracle {
    /// `name` of the folder, with all that it needs; `None` is a skip that has been told.
    pub fn find(name: &str) -> Option<Self> {
        let Some(folder) = std::env::var_os(VARIABLE) else {
            eprintln!("SKIPPED {name}: {VARIABLE} names no folder of oracles");
            return None;
        };
        let script = Path::new(&folder).join(name);
        assert!(script.is_file(), "{VARIABLE} names a folder without {}", script.display());
        let oracle = Self { script };
        let ran = oracle.prepare(["--setup"])?;
        assert_eq!(ran.status, Some(0), "{name} --setup: {}", ran.stderr);
        Some(oracle)
    }

    /// As [`Oracle::ask`], for what may install.
    pub fn prepare<I: IntoIterator<Item = A>, A: AsRef<OsStr>>(&self, arguments: I) -> Option<Ran> {
        let _alone = PREPARING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.ask(arguments)
    }

    /// What the oracle says; `None` if it could not look.
    pub fn ask<I: IntoIterator<Item = A>, A: AsRef<OsStr>>(&self, arguments: I) -> Option<Ran> {
        let mut command = Command::new(&self.script);
        command.args(arguments).env_remove("SOURCE_DATE_EPOCH").stdin(Stdio::null());
        let ran: Ran = command.output().unwrap().into();
        if ran.status == Some(3) {
            let name = self.script.display();
            skip(&format!("{name} could not be run: {}{}", ran.stdout, ran.stderr));
            return None;
        }
        Some(ran)
    }
}
