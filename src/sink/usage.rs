//! Who uses a block device, by name: so that nobody is told of a busy device without a way out. Knows what
//! the system tells in its files; that nobody uses a device it cannot say for certain.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::device::{Device, folder_of, number_at, parse_number};

/// A use that must end before the device can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Usage {
    /// It, or a partition of it, is mounted at this place.
    Mounted(PathBuf),
    /// The system swaps to it, or to a partition of it, under this name.
    Swap(PathBuf),
    /// Another device is made of it: of RAID, a volume group, an encrypted disk.
    Held(String),
}

/// Who uses `device` or a partition of it, as far as the system tells.
pub(super) fn of(device: &Device) -> Option<Usage> {
    let numbers = device.numbers();
    let mounted = mounts(&fs::read("/proc/self/mountinfo").unwrap_or_default(), &numbers);
    mounted
        .map(Usage::Mounted)
        .or_else(|| swap(&fs::read("/proc/swaps").unwrap_or_default(), &numbers).map(Usage::Swap))
        .or_else(|| numbers.iter().find_map(|number| holder(*number)).map(Usage::Held))
}

/// Where one of the devices is mounted. Some file systems have a number of their own, so that their
/// source is looked at too.
fn mounts(table: &[u8], numbers: &[u64]) -> Option<PathBuf> {
    table.split(|byte| *byte == b'\n').find_map(|line| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let number = parse_number(std::str::from_utf8(fields.get(2)?).ok()?);
        let dash = fields.iter().position(|field| *field == b"-")?;
        let source = number_at(&unescaped(fields.get(dash + 2)?));
        let is_one = [number, source].iter().flatten().any(|number| numbers.contains(number));
        let place = fields.get(4)?;
        is_one.then(|| unescaped(place))
    })
}

/// Under which name the system swaps to one of the devices.
fn swap(table: &[u8], numbers: &[u64]) -> Option<PathBuf> {
    table.split(|byte| *byte == b'\n').skip(1).find_map(|line| {
        let name = unescaped(line.split(|byte| byte.is_ascii_whitespace()).next()?);
        number_at(&name).filter(|number| numbers.contains(number)).map(|_| name)
    })
}

/// The first device that is made of the one with this number.
fn holder(number: u64) -> Option<String> {
    let holders = fs::read_dir(folder_of(number).join("holders")).ok()?;
    let mut names: Vec<_> = holders.flatten().map(|entry| entry.path()).collect();
    names.sort();
    let first = names.first()?;
    // A mapped device is known by the name that somebody gave it.
    let mapped = fs::read_to_string(first.join("dm/name")).ok();
    match mapped {
        Some(name) => Some(format!("/dev/mapper/{}", name.trim_end())),
        None => Some(format!("/dev/{}", first.file_name()?.display())),
    }
}

/// A path as the tables of the system write it: blanks and the like in octal.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *byte == b'\\');
        let octal = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(escaped) => {
                path.push(escaped);
                rest = &after[3..];
            }
            None => {
                path.push(*byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_system_are_read() {
        let table = b"22 1 254:0 / / rw - ext4 /dev/none rw\n\
            30 22 7:3 / /mnt/a\\040b\\134 rw shared:1 - vfat /dev/none rw\n";
        let number = |text| parse_number(text).unwrap();
        let place = Some(PathBuf::from("/mnt/a b\\"));
        assert_eq!(mounts(table, &[number("7:2"), number("7:3")]), place);
        assert_eq!(mounts(table, &[number("7:0")]), None);
        assert_eq!(swap(b"Filename Type\n/swapfile file 1 2 3\n", &[number("7:0")]), None);
        assert_eq!(unescaped(b"\\04"), PathBuf::from("\\04"));
    }
}
