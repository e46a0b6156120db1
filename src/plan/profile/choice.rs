//! What a profile chose, and why, for whoever asks.

use super::Profile;
use super::rules::Sizes;
use crate::disk::Scheme;
use crate::plan::request::{DiskWish, Format};
use crate::plan::size::{Chosen, PREFERRED_CLUSTER_BYTES};
use crate::units::as_typed;

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What it is about, for programs: `table`, `partition`, `type`, `cluster`, `room`, `size` or
    /// `names`.
    pub about: &'static str,
    /// The decision and its reason in one line.
    pub text: String,
}

impl Profile {
    /// What was chosen for the request `typed`, whose disk became `disk`.
    pub(in crate::plan) fn choices(
        self,
        typed: (&Format, &DiskWish),
        disk: &DiskWish,
        chosen: &Chosen,
    ) -> Vec<Choice> {
        let rules = self.rules();
        let (format, typed_disk) = typed;
        let mut choices = Vec::new();
        let mut tell = |about, text| choices.push(Choice { about, text });
        let sector_bytes = u64::from(chosen.geometry.sector_bytes());
        let start_bytes = chosen.start * sector_bytes;
        match (typed_disk, disk) {
            (DiskWish::None, DiskWish::Table(table)) => {
                let name = name_of(table.scheme);
                tell("table", format!("partition table {name}: {}", rules.why_table));
            }
            (DiskWish::None, _) => {
                tell("table", format!("no partition table: {}", rules.why_table));
            }
            (_, DiskWish::Table(table)) => {
                tell("table", format!("partition table {}, as asked", name_of(table.scheme)));
            }
            (_, DiskWish::Within { .. }) => {
                tell("table", "the partition table that is there already".to_owned());
            }
            _ => tell("table", "no partition table, as asked".to_owned()),
        }
        if let DiskWish::Table(table) = disk {
            let asked = matches!(typed_disk, DiskWish::Table(typed) if typed.start_bytes.is_some());
            let at = as_typed(start_bytes);
            match rules.start_bytes {
                _ if asked => tell("partition", format!("partition at {at}, as asked")),
                Some(_) => tell("partition", format!("partition at {at}: {}", rules.why_start)),
                None if table.start_bytes.is_some() => {}
                None if self != Self::SdCard => {
                    tell("partition", format!("partition at {at}, where everybody begins it"));
                }
                None => {}
            }
            if !rules.why_type.is_empty() && self != Self::SdCard {
                tell("partition", format!("the partition's type: {}", rules.why_type));
            }
        }
        let kind = chosen.geometry.kind();
        match format.kind {
            Some(_) => tell("type", format!("{kind}, as asked")),
            None if self == Self::SdCard => {}
            None => tell("type", format!("{kind}: {}", rules.why_kind)),
        }
        let cluster_bytes = chosen.geometry.cluster_bytes();
        let cluster = as_typed(cluster_bytes.into());
        if self == Self::SdCard {
            choices.extend(self.card_choices(chosen));
        } else if format.cluster_bytes.is_some() {
            choices.push(Choice {
                about: "cluster",
                text: format!("clusters of {cluster}, as asked"),
            });
        } else if self.floppy().is_none() && cluster_bytes < PREFERRED_CLUSTER_BYTES {
            let text = format!("clusters of {cluster}: with larger ones this size is no {kind}");
            choices.push(Choice { about: "cluster", text });
        }
        if rules.spare_clusters > 0 {
            let text = format!("the last cluster stays free: {}", rules.why_spare);
            choices.push(Choice { about: "room", text });
        }
        match rules.sizes {
            Sizes::Exactly(bytes) => {
                let text = format!("{}: the floppy's size", as_typed(bytes));
                choices.push(Choice { about: "size", text });
            }
            Sizes::UpTo { most_bytes, why, .. } => {
                let text = format!("at most {}: {why}", as_typed(most_bytes));
                choices.push(Choice { about: "size", text });
            }
            Sizes::Any => {}
        }
        if let Some(refused) = self.refused_names() {
            choices.push(Choice { about: "names", text: format!("refused are {refused}") });
        }
        choices
    }

    fn refused_names(self) -> Option<&'static str> {
        match self {
            Self::Esp | Self::ElTorito => Some("names that begin with a blank"),
            Self::Usb => Some("names that Windows takes for devices"),
            Self::UBoot => {
                Some("names of more than 117 UTF-16 units or with characters above U+00FF")
            }
            _ => None,
        }
    }
}

fn name_of(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Mbr => "MBR",
        Scheme::Gpt => "GPT",
    }
}
