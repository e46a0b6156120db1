//! The attributes of each node, by the wishes. Knows no cluster.

use std::collections::{BTreeSet, HashMap};

use super::Placed;
use super::names::{stored_name, stored_path};
use super::request::AttributeWishes;
use crate::event::{Notice, NoticeKind};
use crate::fat::attr::Attributes;
use crate::source::{Node, NodeId, Tree};

/// What a node has without a wish.
pub(super) fn usual(node: &Node) -> Attributes {
    if node.is_directory() { Attributes::DIRECTORY } else { Attributes::ARCHIVE }
}

/// Decides those of everything that is stored; `changed_names` are names that are not stored as the
/// host has them.
pub(super) fn decide(
    tree: &Tree,
    changed_names: &HashMap<NodeId, String>,
    wishes: &AttributeWishes,
    placed: &mut [Placed],
    notices: &mut Vec<Notice>,
) {
    let mut used = BTreeSet::new();
    for directory in tree.directories() {
        let mut path = String::new();
        if !wishes.patterns.is_empty() {
            path = stored_path(tree, changed_names, *directory);
            path.push('/');
        }
        let directory_bytes = path.len();
        for child in tree.children(*directory) {
            let Some(place) = placed.get_mut(child.index()).filter(|place| !place.left_out) else {
                continue;
            };
            let node = tree.node(child);
            let mut attributes = usual(node);
            if wishes.keep_read_only && node.read_only {
                attributes = attributes | Attributes::READ_ONLY;
            }
            if !wishes.patterns.is_empty() {
                path.truncate(directory_bytes);
                path.push_str(&stored_name(tree, changed_names, child));
                let below_root = path.trim_start_matches('/').as_bytes();
                for number in wishes.patterns.matching(below_root, node.is_directory()) {
                    used.insert(number);
                    let change = wishes.changes.get(number).copied().unwrap_or_default();
                    attributes = (attributes | change.set).without(change.clear);
                }
            }
            place.attributes = attributes;
        }
    }
    let unused = (0..wishes.patterns.len()).filter(|number| !used.contains(number));
    let text = |number| wishes.patterns.told_as_unused(number);
    notices.extend(unused.map(|number| Notice::new(NoticeKind::PatternUnused, text(number))));
}
