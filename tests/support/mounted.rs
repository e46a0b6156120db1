//! File systems of their own, in memory or on a loop device, for tests of what one kind does and
//! another does not.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::{Tool, skip};

/// A mounted file system; unmounted with the value, so let it go before the folder it lies in.
pub struct Mounted {
    umount: Tool,
    pub at: PathBuf,
}

impl Mounted {
    /// A small file system in memory; `None` where mounting is not allowed.
    pub fn tmpfs(at: PathBuf, options: &str) -> Option<Self> {
        Self::mount(at, &["-t", "tmpfs", "-o", options], OsStr::new("tmpfs"))
    }

    /// A file system in memory whose files know no holes.
    pub fn ramfs(at: PathBuf) -> Option<Self> {
        Self::mount(at, &["-t", "ramfs"], OsStr::new("ramfs"))
    }

    /// The file system on a block device.
    pub fn device(at: PathBuf, device: &Path) -> Option<Self> {
        Self::mount(at, &[], device.as_os_str())
    }

    /// A disk of `disk_bytes` on which `words`, a program and its arguments, makes a file system;
    /// it lies in a file beside `at`. `None` without the program, and where mounting is not allowed.
    pub fn disk(at: PathBuf, words: &[&str], disk_bytes: u64) -> Option<Self> {
        let (program, arguments) = words.split_first().unwrap();
        let maker = Tool::find(program)?;
        let disk = at.with_extension("disk");
        File::create(&disk).unwrap().set_len(disk_bytes).unwrap();
        let made = maker.command().args(arguments).arg(&disk).output().unwrap();
        assert!(made.status.success(), "{words:?}: {}", String::from_utf8_lossy(&made.stderr));
        Self::mount(at, &["-o", "loop"], disk.as_os_str())
    }

    /// XFS that can share blocks between files.
    pub fn xfs(at: PathBuf) -> Option<Self> {
        Self::disk(at, &["mkfs.xfs", "-q", "-m", "reflink=1"], 1 << 30)
    }

    pub fn btrfs(at: PathBuf) -> Option<Self> {
        Self::disk(at, &["mkfs.btrfs", "-q"], 1 << 30)
    }

    pub fn ext4(at: PathBuf, disk_bytes: u64) -> Option<Self> {
        // Without a lost+found the disk is as empty as it looks.
        let mounted = Self::disk(at, &["mkfs.ext4", "-q", "-m", "0"], disk_bytes)?;
        fs::remove_dir(mounted.path("lost+found")).unwrap();
        Some(mounted)
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.at.join(name)
    }

    fn mount(at: PathBuf, options: &[&str], what: &OsStr) -> Option<Self> {
        let (mount, umount) = (Tool::find("mount")?, Tool::find("umount")?);
        fs::create_dir_all(&at).unwrap();
        let words = options.iter().map(OsStr::new);
        let ran = mount.run(words.chain([what, at.as_os_str()]));
        if ran.status != Some(0) {
            skip(&format!("mounting is not permitted: {}", ran.stderr.trim_end()));
            return None;
        }
        Some(Self { umount, at })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.umount.run([&self.at]).status != Some(0) {
            // Something is still open; the folder must not be emptied through the mount.
            self.umount.run([OsStr::new("--lazy"), self.at.as_os_str()]);
        }
    }
}
