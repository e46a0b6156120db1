//! Block devices of their own for tests: loop devices over files.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{Tool, skip};

/// A loop device; taken apart with the value, so let it go before the folder that its file lies in.
#[derive(Debug)]
pub struct LoopDevice {
    losetup: Tool,
    partx: Option<Tool>,
    /// The device.
    pub path: PathBuf,
    /// What it keeps its bytes in.
    pub file: PathBuf,
}

impl LoopDevice {
    /// A device over `file`, which is there; `None` where that is not allowed.
    pub fn over(file: &Path, options: &[&str]) -> Option<Self> {
        let losetup = Tool::find("losetup")?;
        let words = ["--find", "--show"].iter().chain(options).map(std::ffi::OsStr::new);
        let ran = losetup.run(words.chain([file.as_os_str()]));
        if ran.status != Some(0) {
            skip(&format!("loop devices are not to be had: {}", ran.stderr.trim_end()));
            return None;
        }
        let path = PathBuf::from(ran.stdout.trim_end());
        Some(Self { losetup, partx: None, path, file: file.to_path_buf() })
    }

    /// A device of `bytes` zeros over a new file.
    pub fn new(file: &Path, bytes: u64, options: &[&str]) -> Option<Self> {
        File::create(file).unwrap().set_len(bytes).unwrap();
        Self::over(file, options)
    }

    /// Its name as typed.
    pub fn name(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Makes a device of each partition in its table; `None` without partx.
    pub fn add_partitions(&mut self) -> Option<()> {
        let partx = Tool::find("partx")?;
        let ran = partx.run(["--add", self.name()]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        self.partx = Some(partx);
        Some(())
    }

    /// The device of a partition.
    pub fn partition(&self, number: u32) -> PathBuf {
        PathBuf::from(format!("{}p{number}", self.name()))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if let Some(partx) = &self.partx {
            partx.run(["--delete", self.name()]);
        }
        self.losetup.run(["--detach", self.name()]);
    }
}
