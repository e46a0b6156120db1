//! What the user should know of the decisions that were made. Decides nothing.

use super::profile::Profile;
use super::request::{LabelWish, Times};
use super::size::{Chosen, Search};
use super::smallest::WIDELY_READ_SECTORS;
use super::{Placed, times};
use crate::event::{Notice, NoticeKind};
use crate::fat::kind::FatKind;
use crate::source::Tree;

/// Times that lie outside what FAT can store.
pub(super) fn clamped_times(
    tree: &Tree,
    times: &Times,
    placed: &[Placed],
    notices: &mut Vec<Notice>,
) {
    for (id, place) in tree.ids().zip(placed).skip(1).filter(|(_, place)| !place.left_out) {
        if times::stamp(tree.modified(id), times).clamped {
            let fact = format_args!("time moved to {}", place.stamp.year());
            notices.push(tree.met_at(id).notice(NoticeKind::TimeClamped, fact));
        }
    }
}

/// The volume: what is unusual about it.
pub(super) fn volume(
    search: &Search<'_>,
    chosen: &Chosen,
    used_clusters: u32,
    label: Option<LabelWish>,
    notices: &mut Vec<Notice>,
) {
    let mut tell = |kind, text: String| notices.push(Notice::new(kind, text));
    let geometry = &chosen.geometry;
    if search.root_is_grown(chosen) {
        let entries = geometry.shape().root_entries;
        let text = format!("root directory grown to {entries} entries to hold the tree");
        tell(NoticeKind::RootGrown, text);
    }
    if geometry.shape().total_sectors < WIDELY_READ_SECTORS {
        let text = format!(
            "FatFs, the driver of many small devices, mounts no volume of fewer than {WIDELY_READ_SECTORS} sectors"
        );
        tell(NoticeKind::FewSectors, text);
    }
    if let Some(wish) = label.filter(|wish| wish.made_capital) {
        tell(NoticeKind::LabelMadeCapital, format!("label made capital: {}", wish.label));
    }
    if search.profile == Some(Profile::Esp) && geometry.kind() != FatKind::Fat32 {
        let text = format!(
            "an EFI system partition of {} is for removable media: on other disks firmware looks for FAT32",
            geometry.kind()
        );
        tell(NoticeKind::RemovableOnly, text);
    }
    if used_clusters == geometry.cluster_count() {
        let text = "the tree fills the last cluster, which some boot ROMs cannot read";
        tell(NoticeKind::LastClusterUsed, text.to_owned());
    }
}
