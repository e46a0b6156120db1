//! What to say when no volume is as asked for: which rule stands in the way, and which size or
//! cluster would do. Searches with the rules of `size`; changes none.

use super::misfit::Misfit;
use super::profile::Profile;
use super::profile::refusal::Refusal;
use super::request::{Format, Free};
use super::size::{ADVISED_CLUSTER_BYTES, Chosen, Search, Unfit};
use crate::fat::boot::MIN_FAT32_RESERVED_SECTORS;
use crate::fat::kind::FatKind;
use crate::units::as_typed;

impl Search<'_> {
    /// Why no volume of `total_sectors` is as asked for.
    pub(super) fn not_legal(&self, total_sectors: u32) -> Misfit {
        let asked = self.asked();
        let bytes = self.image_bytes(total_sectors.into());
        let mut found = None;
        let mut root = None;
        for cluster_bytes in self.all_cluster_sizes() {
            for kind in self.kinds() {
                match self.lay_out(*kind, cluster_bytes, total_sectors) {
                    Err(Unfit::Reserved(reserved)) if asked.kind.is_some() => {
                        return Misfit::ReservedTooFew(reserved);
                    }
                    Err(Unfit::Misaligned) => {
                        let reserved = self.format.reserved_sectors.unwrap_or(0);
                        return Misfit::Misaligned { reserved };
                    }
                    Err(Unfit::Root { needed, most }) => root = root.or(Some((needed, most))),
                    Err(Unfit::Count(count)) if asked.kind.is_some() => {
                        let legal = kind.safe_cluster_counts();
                        let text = format!(
                            ": with clusters of {cluster_bytes} bytes it would have {count}, and {kind} takes {} to {}",
                            legal.start(),
                            legal.end()
                        );
                        // With the cluster that comes nearest.
                        let distance = if count < *legal.start() {
                            legal.start() - count
                        } else {
                            count - legal.end()
                        };
                        if found.as_ref().is_none_or(|(least, _)| distance < *least) {
                            found = Some((distance, text));
                        }
                    }
                    _ => {}
                }
            }
        }
        let least = self.least_legal_total();
        if let Some((needed, most)) = root
            && least.is_none_or(|least| least <= u64::from(total_sectors))
        {
            return Misfit::RootTooSmall { needed, most, remedy: self.root_remedy(needed) };
        }
        let unit = self.size_unit_bytes();
        let bytes_of = |least| self.image_bytes(self.least_holding(least)).next_multiple_of(unit);
        match least.map(bytes_of) {
            Some(least)
                if least > bytes && asked.kind.is_none() && asked.cluster_bytes.is_none() =>
            {
                if self.placed {
                    Misfit::PlaceTooSmall { bytes, asked, least }
                } else {
                    Misfit::NoVolumeSoSmall { bytes, asked, least }
                }
            }
            _ => Misfit::IllegalCount {
                asked,
                bytes,
                found: found.map(|(_, text)| text),
                advice: self.legal_advice(total_sectors),
            },
        }
    }

    /// `least` sectors, or as many more as the tree needs.
    fn least_holding(&self, least: u64) -> u64 {
        match u32::try_from(least) {
            Ok(total) if self.holds(total) => least,
            _ => self.smallest_total().map_or(least, u64::from),
        }
    }

    fn root_remedy(&self, needed: u64) -> String {
        if self.format.root_entries.is_some() && needed <= 65_520 {
            let per_sector = self.sector_bytes() / 32;
            return format!("use --root-entries {}", needed.next_multiple_of(per_sector));
        }
        let may_be_fat32 =
            self.profile.is_none_or(|profile| profile.rules().kinds.contains(&FatKind::Fat32));
        if may_be_fat32 {
            "use --fat-type 32, or put the files into directories".to_owned()
        } else {
            "put the files into directories".to_owned()
        }
    }

    /// The fewest sectors of any volume as asked for.
    fn least_legal_total(&self) -> Option<u64> {
        let clusters = self.all_cluster_sizes().into_iter();
        let ranges = clusters.flat_map(|cluster_bytes| self.all_legal_totals_of(cluster_bytes));
        ranges.map(|(least, _)| least).min()
    }

    /// For each type as asked for with that cluster, the fewest and the most sectors.
    fn all_legal_totals_of(&self, cluster_bytes: u32) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.kinds().iter().filter_map(move |kind| self.legal_totals(*kind, cluster_bytes))
    }

    /// The fewest and the most sectors with which one type and cluster size is legal.
    fn legal_totals(&self, kind: FatKind, cluster_bytes: u32) -> Option<(u64, u64)> {
        let safe = kind.safe_cluster_counts();
        let legal = |total: u64| {
            u32::try_from(total).is_ok_and(|total| self.lay_out(kind, cluster_bytes, total).is_ok())
        };
        let estimate = self.total_for(kind, cluster_bytes, u64::from(*safe.start()))?;
        let least = (estimate.saturating_sub(600)..estimate + 600).find(|total| legal(*total))?;
        let estimate =
            self.total_for(kind, cluster_bytes, u64::from(*safe.end()))?.min(u64::from(u32::MAX));
        let most =
            (estimate.saturating_sub(600)..=estimate + 600).rev().find(|total| legal(*total))?;
        Some((least, most))
    }

    /// What would be legal: other clusters at this size, other sizes with these clusters.
    fn legal_advice(&self, total_sectors: u32) -> String {
        let format = Format { cluster_bytes: None, ..self.format.clone() };
        let any_cluster = Search { format: &format, ..*self };
        let legal_here = |cluster_bytes: &u32| {
            let legal =
                |kind: &FatKind| any_cluster.lay_out(*kind, *cluster_bytes, total_sectors).is_ok();
            self.kinds().iter().any(legal)
        };
        let legal: Vec<String> = any_cluster
            .all_cluster_sizes()
            .into_iter()
            .filter(legal_here)
            .map(|cluster_bytes| cluster_bytes.to_string())
            .collect();
        let mut advice = Vec::new();
        if !legal.is_empty() {
            advice.push(format!("in this size use --cluster-size {}", legal.join(" or ")));
        }
        // Larger clusters are not chosen unless asked for, so a size that needs them is no advice.
        let chosen_unasked = |cluster_bytes: &u32| {
            self.format.cluster_bytes.is_some() || *cluster_bytes <= ADVISED_CLUSTER_BYTES
        };
        let total = u64::from(total_sectors);
        let ranges: Vec<(u64, u64)> = self
            .all_cluster_sizes()
            .into_iter()
            .filter(chosen_unasked)
            .flat_map(|cluster_bytes| self.all_legal_totals_of(cluster_bytes))
            .collect();
        // Whole KiB are easier to type, and what is a little more than the least is legal too.
        let bytes = |sectors: u64| self.image_bytes(sectors);
        let unit = self.size_unit_bytes().max(1 << 10);
        let or_more = |sectors: u64| as_typed(bytes(sectors).next_multiple_of(unit));
        let or_less = |sectors: u64| as_typed(bytes(sectors) / unit * unit);
        if let Some(most) = ranges.iter().map(|range| range.1).filter(|most| *most < total).max() {
            advice.push(self.size_advice(&format!("{} or less", or_less(most))));
        }
        if let Some(least) = ranges.iter().map(|range| range.0).filter(|least| *least > total).min()
        {
            let least = or_more(self.least_holding(least));
            advice.push(self.size_advice(&format!("{least} or more")));
        }
        advice.extend(self.other_kind(total_sectors));
        if advice.is_empty() { "ask for less".to_owned() } else { advice.join(", or ") }
    }

    /// That another size would do.
    fn size_advice(&self, size: &str) -> String {
        if self.placed {
            format!("take a device or a partition of {size}")
        } else {
            format!("use --size {size}")
        }
    }

    /// Another type that is legal in this size, and that the consumer takes.
    fn other_kind(&self, total_sectors: u32) -> Option<String> {
        let asked = self.typed.kind.is_some();
        let Some(rules) = self.profile.map(Profile::rules) else {
            return asked
                .then(|| "leave out --fat-type for the type that suits the size".to_owned());
        };
        let legal = |kind: Option<FatKind>| {
            let format = Format { kind, ..self.format.clone() };
            let geometry = Search { format: &format, ..*self }.choose(total_sectors);
            geometry.map(|geometry| geometry.kind())
        };
        if asked && legal(rules.kind).is_some() {
            return Some("leave out --fat-type for the type that the profile makes".to_owned());
        }
        let kind = legal(None)?;
        Some(format!("use --fat-type {}{}", kind.entry_bits(), rules.other_kinds_are))
    }

    /// Why the tree does not fit into a legal volume.
    pub(super) fn too_small(&self, chosen: &Chosen) -> Misfit {
        let geometry = &chosen.geometry;
        let available = u64::from(geometry.cluster_count());
        let cluster_bytes = geometry.cluster_bytes();
        let mut advice = Vec::new();
        let needed = self.demand.clusters(geometry.kind(), cluster_bytes);
        if needed <= available && self.free != Free::default() {
            advice.push("ask for less with --free".to_owned());
        }
        let size_bytes = self.size_that_would_do();
        advice.extend(self.floppy_that_would_do().map(|larger| format!("use --profile {larger}")));
        if let Some(bytes) = size_bytes {
            advice.push(self.size_advice(&as_typed(bytes)));
        }
        if let Some(smaller) = self.cluster_that_would_do(geometry.shape().total_sectors) {
            advice.push(format!("use --cluster-size {smaller}"));
        }
        if advice.is_empty() {
            advice.push(self.what_to_leave_out());
        }
        Misfit::TooSmall {
            image_bytes: chosen.image_sectors * self.sector_bytes(),
            complete: self.complete,
            needed,
            free: self.free_clusters(cluster_bytes, available).max(self.spare_clusters()),
            available,
            cluster_bytes,
            size_bytes,
            advice: advice.join(", or "),
        }
    }

    /// What to do about a tree that is too large for every image as asked for.
    fn what_to_leave_out(&self) -> String {
        match self.over_limit(u64::MAX) {
            Some(Refusal::TreeOverLimit { most, why, remedy }) => {
                format!("{} is the most, since {why}; {remedy}", as_typed(most))
            }
            _ => "no image of this kind would do; leave something out".to_owned(),
        }
    }

    /// The least of the larger floppies that holds the tree.
    fn floppy_that_would_do(&self) -> Option<Profile> {
        let sectors = |profile: Profile| profile.floppy().map(|floppy| floppy.total_sectors);
        let here = sectors(self.profile?)?;
        Profile::ALL.into_iter().find(|profile| {
            let search = Search { profile: Some(*profile), ..*self };
            sectors(*profile).is_some_and(|total| total > here && search.holds(total))
        })
    }

    /// A size that holds the tree: whole MiB where that is not much more than the least.
    fn size_that_would_do(&self) -> Option<u64> {
        match self.profile {
            Some(Profile::SdCard) => {
                return Some(self.smallest_card()?.image_sectors * self.sector_bytes());
            }
            Some(profile) if profile.floppy().is_some() => return None,
            _ => {}
        }
        let least = self.image_bytes(self.smallest_total()?.into());
        if self.over_limit(least).is_some() {
            return None;
        }
        let round = least.next_multiple_of(1 << 20);
        let round_total = self.around.volume_sectors(round / self.sector_bytes());
        let round_total = u32::try_from(round_total).ok()?;
        let round_will_do = least >= 8 << 20 && self.holds(round_total);
        Some(if round_will_do { round } else { least })
    }

    /// The largest smaller cluster with which the tree fits into the same size.
    fn cluster_that_would_do(&self, total_sectors: u32) -> Option<u32> {
        let fixed = self.profile.is_some_and(Profile::has_fixed_layout);
        if self.format.cluster_bytes.is_some() || fixed {
            return None;
        }
        let holds = |cluster_bytes: &u32| {
            let mut format = self.format.clone();
            format.cluster_bytes = Some(*cluster_bytes);
            Search { format: &format, ..*self }.holds(total_sectors)
        };
        self.all_cluster_sizes().into_iter().rev().find(holds)
    }

    /// Why no size would do.
    pub(super) fn no_size(&self) -> Misfit {
        let fixed_root = self.format.root_entries.is_some()
            || self.format.kind.is_some_and(|kind| kind != FatKind::Fat32);
        if let (true, Err(Unfit::Root { needed, most })) = (fixed_root, self.root_entries()) {
            return Misfit::RootTooSmall { needed, most, remedy: self.root_remedy(needed) };
        }
        if let (Some(FatKind::Fat32), Some(reserved)) =
            (self.format.kind, self.format.reserved_sectors)
            && reserved < MIN_FAT32_RESERVED_SECTORS
        {
            return Misfit::ReservedTooFew(reserved);
        }
        if let (Some(reserved), Some(_)) = (self.format.reserved_sectors, self.format.align_bytes) {
            return Misfit::Misaligned { reserved };
        }
        if let Some(refusal) = self.over_limit(u64::MAX) {
            return Misfit::Refused(refusal);
        }
        let advice = if self.free != Free::default() {
            "ask for less with --free, or leave something out of the source"
        } else if self.typed.kind.is_some() || self.typed.cluster_bytes.is_some() {
            "leave out --fat-type and --cluster-size, or leave something out of the source"
        } else {
            "leave something out of the source"
        };
        Misfit::NoSize { asked: self.asked(), advice: advice.to_owned() }
    }
}
