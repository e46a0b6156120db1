//! Sixteen bytes that name a disk, a partition or a type, and their form as text: the first three of
//! the five groups are little-endian numbers on the disk (fat-facts 9).

use std::fmt;
use std::str::FromStr;

/// A GUID as it lies on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guid([u8; 16]);

/// Digits in each group of the text, and whether its bytes are turned round on the disk.
const GROUPS: [(usize, bool); 5] = [(8, true), (4, true), (4, true), (4, false), (12, false)];

impl Guid {
    /// No GUID: an entry with this type is not used.
    pub const NIL: Self = Self([0; 16]);
    /// The EFI system partition.
    pub const ESP: Self = Self([
        0x28, 0x73, 0x2A, 0xC1, 0x1F, 0xF8, 0xD2, 0x11, 0xBA, 0x4B, 0x00, 0xA0, 0xC9, 0x3E, 0xC9,
        0x3B,
    ]);
    /// Data of Windows, and of all who share it with Windows.
    pub const BASIC_DATA: Self = Self([
        0xA2, 0xA0, 0xD0, 0xEB, 0xE5, 0xB9, 0x33, 0x44, 0x87, 0xC0, 0x68, 0xB6, 0xB7, 0x26, 0x99,
        0xC7,
    ]);

    /// The GUID that lies on the disk as `bytes`.
    pub fn from_disk(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The GUID that `digest` stands for: with the marks of RFC 9562 for those that are made by a rule
    /// of their own, version 8.
    pub fn from_digest(digest: [u8; 16]) -> Self {
        let mut bytes = digest;
        let [_, _, _, _, _, _, _, version, variant, ..] = &mut bytes;
        *version = *version & 0x0F | 0x80;
        *variant = *variant & 0x3F | 0x80;
        Self(bytes)
    }

    /// As it lies on the disk.
    pub fn bytes(&self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = &self.0[..];
        for (index, (digits, turned)) in GROUPS.into_iter().enumerate() {
            if index > 0 {
                f.write_str("-")?;
            }
            let (group, after) = rest.split_at(digits / 2);
            rest = after;
            let mut digit = |byte: &u8| write!(f, "{byte:02X}");
            match turned {
                true => group.iter().rev().try_for_each(&mut digit)?,
                false => group.iter().try_for_each(&mut digit)?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no GUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a GUID has 32 hexadecimal digits, such as C12A7328-F81F-11D2-BA4B-00A0C93EC93B")]
pub struct NotGuid;

impl FromStr for Guid {
    type Err = NotGuid;

    /// Reads the five groups with their hyphens, in capitals or not.
    fn from_str(text: &str) -> Result<Self, NotGuid> {
        let groups: Vec<&str> = text.split('-').collect();
        let fits = groups.len() == GROUPS.len()
            && groups.iter().zip(GROUPS).all(|(group, (digits, _))| {
                group.len() == digits && group.bytes().all(|byte| byte.is_ascii_hexdigit())
            });
        if !fits {
            return Err(NotGuid);
        }
        let mut bytes = Vec::with_capacity(16);
        for (group, (digits, turned)) in groups.into_iter().zip(GROUPS) {
            let number = u64::from_str_radix(group, 16).map_err(|_| NotGuid)?.to_be_bytes();
            let significant = number.into_iter().skip(8 - digits / 2);
            match turned {
                true => bytes.extend(significant.rev()),
                false => bytes.extend(significant),
            }
        }
        bytes.try_into().map(Self).map_err(|_| NotGuid)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_are_those_of_uefi() {
        let esp = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
        assert_eq!(esp.parse(), Ok(Guid::ESP));
        assert_eq!(esp.to_lowercase().parse(), Ok(Guid::ESP));
        assert_eq!(Guid::ESP.to_string(), esp);
        assert_eq!(Guid::BASIC_DATA.to_string(), "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7");
        for text in ["", "C12A7328", "C12A7328F81F11D2BA4B00A0C93EC93B", &esp[1..], "-----"] {
            assert_eq!(text.parse::<Guid>(), Err(NotGuid), "{text}");
        }
        assert_eq!("+12A7328-F81F-11D2-BA4B-00A0C93EC93B".parse::<Guid>(), Err(NotGuid));
    }

    #[test]
    fn a_digest_has_the_marks_of_version_8() {
        let guid = Guid::from_digest([0xFF; 16]);
        assert_eq!(guid.to_string(), "FFFFFFFF-FFFF-8FFF-BFFF-FFFFFFFFFFFF");
        assert_eq!(Guid::from_digest([0; 16]).to_string(), "00000000-0000-8000-8000-000000000000");
    }
}
