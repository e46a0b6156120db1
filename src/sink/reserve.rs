//! Room on the disk for what will be written, and for nothing else: holes stay holes. Knows the
//! file alone.

use std::fs::File;

use rustix::fs::{FallocateFlags, fallocate, fstatfs};
use rustix::io::Errno;

/// ext4, and ext2 and ext3, which share the number; from the kernel's list of file systems.
const EXT4_MAGIC: u64 = 0xEF53;

/// Whether room that is reserved makes the writing faster there. On the others that were tried it
/// gained nothing (docs/performance.md), and btrfs does not compress what was reserved.
pub(super) fn is_worth_it(file: &File) -> bool {
    // The field's type differs from machine to machine; the number is small and positive.
    fstatfs(file).is_ok_and(|found| u64::try_from(found.f_type) == Ok(EXT4_MAGIC))
}

/// Reserves room for `stretches`, first byte and length of each, and tells whether the file system
/// could.
///
/// # Errors
/// When there is not enough of it.
pub(super) fn reserve(file: &File, stretches: &[(u64, u64)]) -> Result<bool, Errno> {
    for (at, len) in stretches {
        match fallocate(file, FallocateFlags::empty(), *at, *len) {
            Ok(()) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
