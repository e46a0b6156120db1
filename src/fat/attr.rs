//! The attribute byte of a directory record. Knows no policy.

use std::ops::BitOr;

/// `DIR_Attr`: a set of bits. The upper two are reserved and zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes(u8);

impl Attributes {
    /// May not be written.
    pub const READ_ONLY: Self = Self(0x01);
    /// Not listed.
    pub const HIDDEN: Self = Self(0x02);
    /// Belongs to the operating system.
    pub const SYSTEM: Self = Self(0x04);
    /// The volume label's record.
    pub const LABEL: Self = Self(0x08);
    /// A directory.
    pub const DIRECTORY: Self = Self(0x10);
    /// Changed since the last backup; every new file has it.
    pub const ARCHIVE: Self = Self(0x20);
    /// One part of a long name.
    pub const LONG_NAME: Self = Self(0x0F);

    /// As stored.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Those that `other` does not hold.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Attributes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
