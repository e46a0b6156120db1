//! A disk in memory that fails as it is told, by FUSE: one folder of files. It knows no unnamed files,
//! no links, no holes, and no exchange of names.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

pub use fuser::Errno;
use fuser::{
    BackgroundSession, BsdFileFlags, Config, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    TimeOrNow, WriteFlags,
};

use super::skip;

/// Nothing that the disk tells is kept by the kernel.
const AT_ONCE: Duration = Duration::ZERO;
const BLOCK_BYTES: u64 = 512;

/// What fails, and how.
#[derive(Debug, Default, Clone)]
pub struct Faults {
    /// Reads of the byte at this place of any file.
    pub read_at: Option<(u64, Errno)>,
    /// A read gives no more bytes than this.
    pub most_read_bytes: Option<usize>,
    /// A write takes no more bytes than this.
    pub most_written_bytes: Option<usize>,
    /// Each read takes so long.
    pub read_delay: Duration,
    /// Bytes of all files together.
    pub room_bytes: Option<u64>,
    /// Closing a file.
    pub close: Option<Errno>,
    /// Opening a file that is there, but for the first so many times.
    pub open_after: Option<(u32, Errno)>,
    /// Giving a file another name.
    pub rename: Option<Errno>,
    /// Giving a file a name that another has.
    pub replace: Option<Errno>,
    /// Making a file longer than what was written to it.
    pub extend: Option<Errno>,
    /// Removing a file.
    pub remove: Option<Errno>,
}

#[derive(Debug)]
struct File {
    number: u64,
    bytes: Vec<u8>,
    permissions: u16,
    modified: SystemTime,
}

#[derive(Debug, Default)]
struct State {
    faults: Faults,
    files: BTreeMap<OsString, File>,
    last_number: u64,
    opened: u32,
}

/// The disk; unmounted with the value.
#[derive(Debug)]
pub struct FaultyDisk {
    state: Arc<Mutex<State>>,
    pub at: PathBuf,
    _session: BackgroundSession,
}

impl FaultyDisk {
    /// An empty one at `at`, which is made; `None` where there is no FUSE.
    pub fn mount(at: PathBuf, faults: Faults) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let state = Arc::new(Mutex::new(State { faults, ..State::default() }));
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("faulty".to_owned())];
        match fuser::spawn_mount(Disk(Arc::clone(&state)), &at, &config) {
            Ok(session) => Some(Self { state, at, _session: session }),
            Err(error) => {
                skip(&format!("no file system can be mounted by FUSE: {error}"));
                None
            }
        }
    }

    /// From now on these fail.
    pub fn set(&self, faults: Faults) {
        let mut state = self.state.lock().unwrap();
        (state.faults, state.opened) = (faults, 0);
    }

    /// Puts a file there, behind the kernel's back.
    pub fn put(&self, name: &str, bytes: impl Into<Vec<u8>>) {
        let modified = super::time(super::TREE_SECONDS);
        self.state.lock().unwrap().add(name.into(), bytes.into(), 0o644, modified);
    }

    /// All files.
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state.lock().unwrap();
        let told = |(name, file): (&OsString, &File)| {
            (name.to_string_lossy().into_owned(), file.bytes.clone())
        };
        state.files.iter().map(told).collect()
    }
}

impl State {
    fn add(
        &mut self,
        name: OsString,
        bytes: Vec<u8>,
        permissions: u16,
        modified: SystemTime,
    ) -> FileAttr {
        self.last_number += 1;
        // The folder is number 1.
        let file = File { number: self.last_number + 1, bytes, permissions, modified };
        let told = file.told();
        self.files.insert(name, file);
        told
    }

    fn file(&mut self, number: INodeNo) -> Result<&mut File, Errno> {
        self.files.values_mut().find(|file| file.number == number.0).ok_or(Errno::ENOENT)
    }

    fn used_bytes(&self) -> u64 {
        self.files.values().map(|file| file.bytes.len() as u64).sum()
    }
}

impl File {
    fn told(&self) -> FileAttr {
        let size = self.bytes.len() as u64;
        attributes(self.number, FileType::RegularFile, self.permissions, size, self.modified)
    }
}

fn attributes(number: u64, kind: FileType, perm: u16, size: u64, modified: SystemTime) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size,
        blocks: size.div_ceil(BLOCK_BYTES),
        atime: modified,
        mtime: modified,
        ctime: modified,
        crtime: modified,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

fn folder() -> FileAttr {
    attributes(1, FileType::Directory, 0o755, 0, super::time(super::TREE_SECONDS))
}

/// What the kernel asks.
struct Disk(Arc<Mutex<State>>);

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl Filesystem for Disk {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.state().files.get(name) {
            Some(file) => reply.entry(&AT_ONCE, &file.told(), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        if number == INodeNo::ROOT {
            return reply.attr(&AT_ONCE, &folder());
        }
        match self.state().file(number) {
            Ok(file) => reply.attr(&AT_ONCE, &file.told()),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.state();
        let extend = state.faults.extend;
        let Ok(file) = state.file(number) else { return reply.error(Errno::ENOENT) };
        if let Some(size) = size {
            if let Some(error) = extend.filter(|_| size > file.bytes.len() as u64) {
                return reply.error(error);
            }
            file.bytes.resize(usize::try_from(size).unwrap(), 0);
            file.modified = SystemTime::now();
        }
        if let Some(mode) = mode {
            file.permissions = (mode & 0o777) as u16;
        }
        match modified {
            Some(TimeOrNow::SpecificTime(time)) => file.modified = time,
            Some(TimeOrNow::Now) => file.modified = SystemTime::now(),
            None => {}
        }
        reply.attr(&AT_ONCE, &file.told());
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let mut state = self.state();
        state.opened += 1;
        match state.faults.open_after {
            Some((times, error)) if state.opened > times => reply.error(error),
            _ => reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO),
        }
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let faults = self.state().faults.clone();
        sleep(faults.read_delay);
        let most = faults.most_read_bytes.unwrap_or(usize::MAX).min(bytes as usize);
        if let Some((place, error)) = faults.read_at
            && (at..at + most as u64).contains(&place)
        {
            return reply.error(error);
        }
        match self.state().file(number) {
            Ok(file) => {
                let start = usize::try_from(at).unwrap().min(file.bytes.len());
                let end = start.saturating_add(most).min(file.bytes.len());
                reply.data(&file.bytes[start..end]);
            }
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut state = self.state();
        let bytes =
            &bytes[..bytes.len().min(state.faults.most_written_bytes.unwrap_or(usize::MAX))];
        let (used, room) = (state.used_bytes(), state.faults.room_bytes);
        let Ok(file) = state.file(number) else { return reply.error(Errno::ENOENT) };
        let (start, old) = (usize::try_from(at).unwrap(), file.bytes.len());
        let end = (start + bytes.len()).max(old);
        if room.is_some_and(|room| used + (end - old) as u64 > room) {
            return reply.error(Errno::ENOSPC);
        }
        file.bytes.resize(end, 0);
        file.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        file.modified = SystemTime::now();
        reply.written(u32::try_from(bytes.len()).unwrap());
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        match self.state().faults.close {
            Some(error) => reply.error(error),
            None => reply.ok(),
        }
    }

    fn create(
        &self,
        _: &Request,
        _: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let permissions = (mode & 0o777 & !umask) as u16;
        let file = self.state().add(name.to_owned(), Vec::new(), permissions, SystemTime::now());
        let flags = FopenFlags::FOPEN_DIRECT_IO;
        reply.created(&AT_ONCE, &file, Generation(0), FileHandle(0), flags);
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut state = self.state();
        let refused = state.faults.remove;
        match refused {
            Some(error) => reply.error(error),
            None if state.files.remove(name).is_some() => reply.ok(),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        name: &OsStr,
        _: INodeNo,
        new: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mut state = self.state();
        let taken = state.files.contains_key(new);
        let refused = state.faults.rename.or(state.faults.replace.filter(|_| taken));
        if let Some(error) = refused {
            return reply.error(error);
        }
        if !flags.is_empty() {
            return reply.error(Errno::EINVAL);
        }
        match state.files.remove(name) {
            Some(file) => {
                state.files.insert(new.to_owned(), file);
                reply.ok();
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        from: u64,
        mut reply: ReplyDirectory,
    ) {
        let state = self.state();
        let files =
            state.files.iter().map(|(name, file)| (file.number, FileType::RegularFile, name));
        for (at, (number, kind, name)) in files.enumerate().skip(usize::try_from(from).unwrap()) {
            if reply.add(INodeNo(number), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
