//! Names that FAT can hold and a consumer cannot open.

use std::fmt;

use super::Profile;
use crate::fat::name;

/// The long names that U-Boot reads: nine records of thirteen UTF-16 units.
const U_BOOT_UNITS: usize = 117;
/// U-Boot keeps the low byte of every unit.
const U_BOOT_LAST: char = '\u{FF}';

/// What is wrong with a name for one consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// It begins with a blank.
    LeadingBlank,
    /// Windows takes it for a device.
    Device,
    /// It has so many UTF-16 units, which are too many.
    TooLong(usize),
    /// It has a character of more than eight bits.
    Wide(char),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeadingBlank => {
                f.write_str("name begins with a blank, and much firmware cannot open it")
            }
            Self::Device => f.write_str("Windows takes this name for a device"),
            Self::TooLong(units) => {
                write!(f, "name has {units} UTF-16 units, and U-Boot reads {U_BOOT_UNITS}")
            }
            Self::Wide(character) => write!(
                f,
                "name has the character U+{:04X}, and U-Boot reads none above U+{:04X}",
                u32::from(*character),
                u32::from(U_BOOT_LAST)
            ),
        }
    }
}

impl Profile {
    /// Why the consumer cannot open a file of that name.
    pub(in crate::plan) fn unreadable(self, name: &str) -> Option<Unreadable> {
        match self {
            Self::Esp | Self::ElTorito => name.starts_with(' ').then_some(Unreadable::LeadingBlank),
            Self::Usb => name::is_device(name).then_some(Unreadable::Device),
            Self::UBoot => {
                let units = name::units(name);
                let wide = name.chars().find(|character| *character > U_BOOT_LAST);
                let too_long = (units > U_BOOT_UNITS).then_some(Unreadable::TooLong(units));
                too_long.or(wide.map(Unreadable::Wide))
            }
            _ => None,
        }
    }
}
