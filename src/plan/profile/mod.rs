//! Profiles: images for one consumer, by its name. A profile fills in what the request leaves open,
//! and refuses what its consumer does not read.
//!
//! | Room | Decides |
//! |---|---|
//! | `rules` | nothing: it is what each consumer demands, with the reasons |
//! | `settle` | what becomes of a request, as far as the tree has no say |
//! | `names` | which names the consumer cannot open |
//! | `card` | the layout of memory cards, which follows from their capacity |
//! | [`refusal`] | nothing: it is what to say of all that |
//! | [`choice`] | nothing: it is what was chosen, and why |

mod card;
pub mod choice;
pub mod names;
pub mod refusal;
mod rules;
mod settle;

use std::fmt;

pub(super) use card::partition_type as card_type;
pub use choice::Choice;
pub(super) use settle::Settled;

use super::floppy::Floppy;
use crate::disk::Scheme;

/// Who is to read the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// UEFI firmware, which starts from it.
    Esp,
    /// A Raspberry Pi of any age, which starts from it.
    RaspberryPi,
    /// Cameras, players and whatever else takes memory cards.
    SdCard,
    /// Whoever is handed a stick.
    Usb,
    /// A floppy of 360 KiB.
    Floppy360,
    /// A floppy of 720 KiB.
    Floppy720,
    /// A floppy of 1200 KiB.
    Floppy1200,
    /// A floppy of 1440 KiB.
    Floppy1440,
    /// A floppy of 2880 KiB.
    Floppy2880,
    /// UEFI firmware that starts from a CD.
    ElTorito,
    /// U-Boot.
    UBoot,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Esp,
        Self::RaspberryPi,
        Self::SdCard,
        Self::Usb,
        Self::Floppy360,
        Self::Floppy720,
        Self::Floppy1200,
        Self::Floppy1440,
        Self::Floppy2880,
        Self::ElTorito,
        Self::UBoot,
    ];

    /// Its name, as typed.
    pub fn id(self) -> &'static str {
        match self {
            Self::Esp => "esp",
            Self::RaspberryPi => "raspberry-pi",
            Self::SdCard => "sd-card",
            Self::Usb => "usb",
            Self::Floppy360 => "floppy-360",
            Self::Floppy720 => "floppy-720",
            Self::Floppy1200 => "floppy-1200",
            Self::Floppy1440 => "floppy-1440",
            Self::Floppy2880 => "floppy-2880",
            Self::ElTorito => "el-torito",
            Self::UBoot => "u-boot",
        }
    }

    /// What it is for, in a few words.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::Esp => "EFI system partition: FAT32, bare or in a table that is asked for",
            Self::RaspberryPi => "Card from which any Raspberry Pi starts",
            Self::SdCard => "Memory card as the SD Association lays it out, up to 32G",
            Self::Usb => "Stick for any system",
            Self::Floppy360 => "Floppy of 5.25 inches, double density",
            Self::Floppy720 => "Floppy of 3.5 inches, double density",
            Self::Floppy1200 => "Floppy of 5.25 inches, high density",
            Self::Floppy1440 => "Floppy of 3.5 inches, high density",
            Self::Floppy2880 => "Floppy of 3.5 inches, extra density",
            Self::ElTorito => "EFI image in a CD: bare, FAT12 or FAT16, below 32M",
            Self::UBoot => "Card or stick that U-Boot reads",
        }
    }

    /// Whether there can be a partition table.
    pub fn may_have_table(self) -> bool {
        self.rules().tables.iter().any(Option::is_some)
    }

    /// The table that is made when none is asked for.
    pub fn usual_table(self) -> Option<Scheme> {
        self.rules().usual_table()
    }

    /// Whether no flag can change the layout.
    pub(super) fn has_fixed_layout(self) -> bool {
        self.rules().why_fixed.is_some()
    }

    /// The floppy, if it is one.
    pub(super) fn floppy(self) -> Option<Floppy> {
        self.floppy_kib().and_then(|kib| Floppy::of_size(kib * 2))
    }

    fn floppy_kib(self) -> Option<u32> {
        match self {
            Self::Floppy360 => Some(360),
            Self::Floppy720 => Some(720),
            Self::Floppy1200 => Some(1200),
            Self::Floppy1440 => Some(1440),
            Self::Floppy2880 => Some(2880),
            _ => None,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floppies_are_classic() {
        let tracks = |profile: Profile| profile.floppy().map(|floppy| floppy.sectors_per_track);
        assert_eq!(
            Profile::ALL.into_iter().filter_map(tracks).collect::<Vec<_>>(),
            [9, 9, 15, 18, 36]
        );
    }
}
