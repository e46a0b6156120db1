//! Names, directory by directory: what is stored for each entry, and what happens to names that
//! FAT cannot hold or cannot tell apart. Knows the rules from `fat`; here is the policy.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::problem::Problem;
use super::profile::Profile;
use super::profile::names::Unreadable;
use super::request::{Clash, InvalidNames, Names};
use super::{Placed, StoredName};
use crate::event::{Notice, NoticeKind};
use crate::fat::name::{self, MAX_UNITS, NameFault};
use crate::fat::short::ShortNamer;
use crate::printable;
use crate::source::{MetAt, NodeId, Tree};

/// Names of a whole tree in the making.
pub(super) struct Naming<'a> {
    pub(super) tree: &'a Tree,
    pub(super) policy: Names,
    pub(super) profile: Option<Profile>,
    pub(super) placed: &'a mut [Placed],
    /// Names that are not stored as the host has them.
    pub(super) changed: &'a mut HashMap<NodeId, String>,
    pub(super) problems: &'a mut Vec<Problem>,
    pub(super) notices: &'a mut Vec<Notice>,
}

/// An entry that has a name to store.
struct Candidate<'a> {
    id: NodeId,
    name: Cow<'a, str>,
    key: String,
    /// Whether the name is ours, in place of one that FAT cannot hold.
    made_up: bool,
}

impl<'a> Naming<'a> {
    /// Names the children of `directory` and returns the records that they take. Children that are
    /// left out are marked so; those of a directory that is left out follow it.
    pub(super) fn name_children(&mut self, directory: NodeId) -> u64 {
        if self.is_left_out(directory) {
            for child in self.tree.children(directory) {
                self.leave_out(child);
            }
            return 0;
        }
        let mut entries: Vec<Candidate<'a>> = Vec::new();
        for child in self.tree.children(directory) {
            if let Some((name, made_up)) = self.legal_name(child) {
                self.warn_of(child, &name);
                let key = name::clash_key(&name);
                entries.push(Candidate { id: child, name, key, made_up });
            }
        }
        self.settle_clashes(&mut entries);
        self.refuse_unreadable(&entries);
        self.store(&entries)
    }

    /// The name as text that FAT can hold, and whether we made it up; `None` if the entry is left
    /// out. An entry that is refused keeps a place, so that what is wrong below it is told too.
    fn legal_name(&mut self, child: NodeId) -> Option<(Cow<'a, str>, bool)> {
        let bytes = self.tree.name(child);
        let text = std::str::from_utf8(bytes);
        let fault = match text {
            Ok(text) => match name::check(text) {
                Ok(()) => return Some((text.into(), false)),
                Err(fault) => Some(fault),
            },
            Err(_) => None,
        };
        let met_at = || self.tree.met_at(child);
        let why = || fault.map_or("name is not valid UTF-8".to_owned(), |f| f.to_string());
        match self.policy.invalid {
            InvalidNames::Error => {
                self.problems.push(match fault {
                    Some(fault) => Problem::Name { met_at: met_at(), fault },
                    None => Problem::NotUnicode(met_at()),
                });
                Some((replacement(bytes).into(), true))
            }
            InvalidNames::Skip => {
                let fact = format_args!("left out: {}", why());
                self.notices.push(met_at().notice(NoticeKind::NameSkipped, fact));
                self.leave_out(child);
                None
            }
            InvalidNames::Replace => {
                let new = replacement(bytes);
                let stored = printable::bytes(new.as_bytes());
                let fact = format_args!("stored as {stored}: {}", why());
                self.notices.push(met_at().notice(NoticeKind::NameReplaced, fact));
                self.changed.insert(child, new.clone());
                Some((new.into(), true))
            }
        }
    }

    fn warn_of(&mut self, child: NodeId, name: &str) {
        let unreadable = self.profile.and_then(|profile| profile.unreadable(name));
        if name::is_device(name) && unreadable != Some(Unreadable::Device) {
            let met_at = self.tree.met_at(child);
            if self.policy.windows_safe {
                self.problems.push(Problem::DeviceName(met_at));
            } else {
                let fact = "Windows takes this name for a device";
                self.notices.push(met_at.notice(NoticeKind::DeviceName, fact));
            }
        }
        if name.starts_with(' ') && unreadable != Some(Unreadable::LeadingBlank) {
            let met_at = self.tree.met_at(child);
            let fact = "name begins with a blank";
            self.notices.push(met_at.notice(NoticeKind::LeadingBlank, fact));
        }
    }

    fn settle_clashes(&mut self, entries: &mut Vec<Candidate<'_>>) {
        let mut holders: HashMap<String, NodeId> = HashMap::with_capacity(entries.len());
        let mut losers: Vec<usize> = Vec::new();
        let mut next_numbers: HashMap<String, u32> = HashMap::new();
        // Names that the source has come before those that we made up.
        let invalid = self.policy.invalid;
        let refused = |entry: &Candidate<'_>| entry.made_up && invalid == InvalidNames::Error;
        for made_up in [false, true] {
            let of_kind =
                |(_, entry): &(usize, &Candidate<'_>)| entry.made_up == made_up && !refused(entry);
            for (index, entry) in entries.iter().enumerate().filter(of_kind) {
                match holders.entry(entry.key.clone()) {
                    Entry::Vacant(place) => {
                        place.insert(entry.id);
                    }
                    Entry::Occupied(mut place) => {
                        let holder = *place.get();
                        if self.is_link_to(entry.id, holder) {
                            self.fold(entry.id, holder);
                        } else if self.is_link_to(holder, entry.id) {
                            self.fold(holder, entry.id);
                            place.insert(entry.id);
                        } else {
                            losers.push(index);
                        }
                    }
                }
            }
        }
        for index in losers {
            let Some(entry) = entries.get_mut(index) else { continue };
            let Some(holder) = holders.get(&entry.key).copied() else { continue };
            let met_at = self.tree.met_at(entry.id);
            let other = self.tree.met_at(holder);
            let stored_as = entry.made_up.then(|| entry.name.to_string());
            let why = same_name(stored_as.as_deref(), &other);
            match self.policy.clash {
                Clash::Error => self.problems.push(Problem::Clash { met_at, why }),
                Clash::Skip => {
                    let fact = format_args!("left out: {why}");
                    self.notices.push(met_at.notice(NoticeKind::ClashSkipped, fact));
                    self.leave_out(entry.id);
                }
                Clash::Rename => {
                    let next = next_numbers.entry(entry.key.clone()).or_insert(2);
                    let (new, key) = unused_name(&entry.name, &holders, next);
                    let stored = printable::bytes(new.as_bytes());
                    let fact = format_args!("stored as {stored}: {why}");
                    self.notices.push(met_at.notice(NoticeKind::ClashRenamed, fact));
                    holders.insert(key.clone(), entry.id);
                    self.changed.insert(entry.id, new.clone());
                    entry.key = key;
                    entry.name = new.into();
                }
            }
        }
        entries.retain(|entry| !self.is_left_out(entry.id));
    }

    /// Whether `link` is a symbolic link whose end is the very file or directory `other`.
    fn is_link_to(&self, link: NodeId, other: NodeId) -> bool {
        let (link, other) = (self.tree.node(link), self.tree.node(other));
        link.through_link
            && !other.through_link
            // With several sources each may hold what the other does not.
            && !link.merged
            && !other.merged
            && link.identity == other.identity
            && link.is_directory() == other.is_directory()
    }

    fn fold(&mut self, link: NodeId, target: NodeId) {
        let target = self.tree.met_at(target);
        let fact = format_args!("folded into {target}, to which it links");
        let met_at = self.tree.met_at(link);
        self.notices.push(met_at.notice(NoticeKind::LinkFolded, fact));
        self.leave_out(link);
    }

    /// Refuses names, as they are stored, that the consumer of the image cannot open.
    fn refuse_unreadable(&mut self, entries: &[Candidate<'_>]) {
        let Some(profile) = self.profile else { return };
        let refused =
            |entry: &&Candidate<'_>| entry.made_up && self.policy.invalid == InvalidNames::Error;
        for entry in entries.iter().filter(|entry| !refused(entry)) {
            if let Some(fault) = profile.unreadable(&entry.name) {
                let met_at = self.tree.met_at(entry.id);
                self.problems.push(Problem::Unreadable { met_at, profile, fault });
            }
        }
    }

    /// Gives every entry its short name, and a long one where it needs it.
    fn store(&mut self, entries: &[Candidate<'_>]) -> u64 {
        let mut namer = ShortNamer::default();
        for entry in entries {
            // A name whose key is a short name keeps it from others, even where it is stored
            // otherwise: some reader takes the two for one.
            if let Some(plain) = name::plain(&entry.name).or_else(|| name::plain(&entry.key)) {
                namer.claim(plain.short);
            }
        }
        let mut records = 0;
        for entry in entries {
            let plain = name::plain(&entry.name);
            let case_bits = plain.and_then(|plain| plain.case_bits);
            let needs_long =
                case_bits.is_none_or(|case_bits| case_bits != 0 && self.policy.always_long);
            let short = plain.map(|plain| plain.short).or_else(|| namer.make(&entry.name));
            let Some((placed, short)) = self.placed.get_mut(entry.id.index()).zip(short) else {
                continue;
            };
            let long_parts = if needs_long { name::long_parts(&entry.name) } else { 0 };
            placed.name = Some(StoredName {
                short,
                case_bits: if needs_long { 0 } else { case_bits.unwrap_or(0) },
                // At most 20: longer names were refused.
                long_parts: u8::try_from(long_parts).unwrap_or(u8::MAX),
            });
            records += 1 + long_parts as u64;
        }
        records
    }

    fn leave_out(&mut self, id: NodeId) {
        if let Some(placed) = self.placed.get_mut(id.index()) {
            placed.left_out = true;
        }
    }

    fn is_left_out(&self, id: NodeId) -> bool {
        self.placed.get(id.index()).is_some_and(|placed| placed.left_out)
    }
}

/// The name under which a node is stored, or would be: `changed` has those that are not stored as the
/// host has them.
pub(super) fn stored_name<'a>(
    tree: &'a Tree,
    changed: &'a HashMap<NodeId, String>,
    id: NodeId,
) -> Cow<'a, str> {
    match changed.get(&id) {
        Some(name) => name.into(),
        // What is stored unchanged was found to be UTF-8.
        None => String::from_utf8_lossy(tree.name(id)),
    }
}

/// The path of a node in the image by these names, each with a slash before it.
pub(super) fn stored_path(tree: &Tree, changed: &HashMap<NodeId, String>, id: NodeId) -> String {
    let way: Vec<NodeId> = tree.upwards(id).collect();
    let names = way.into_iter().rev().map(|id| stored_name(tree, changed, id));
    names.fold(String::new(), |path, name| path + "/" + &name)
}

/// Why an entry cannot have the name that it has, or that we made up for it.
fn same_name(stored_as: Option<&str>, other: &MetAt) -> String {
    match stored_as {
        None => {
            format!("has the same name as {other} for FAT, which ignores case and normalisation")
        }
        Some(name) => {
            let name = printable::bytes(name.as_bytes());
            format!("would be stored as {name}, the name of {other} for FAT")
        }
    }
}

/// A legal name as near to `name` as can be: `_` for what cannot stand, cut before the extension.
fn replacement(name: &[u8]) -> String {
    let mut new = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        new.extend(chunk.valid().chars().map(|character| {
            if name::is_forbidden(character) || character == '\u{FFFF}' { '_' } else { character }
        }));
        new.extend(chunk.invalid().iter().map(|_| '_'));
    }
    let kept = new.trim_end_matches(['.', ' ']).len();
    let ending = "_".repeat(new.len() - kept);
    new.replace_range(kept.., &ending);
    match name::check(&new) {
        Err(NameFault::TooLong(_)) => shortened(&new, ""),
        _ => new,
    }
}

/// `name` with `mark` before its extension, cut to what a long name holds.
fn shortened(name: &str, mark: &str) -> String {
    let (base, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    // An extension that leaves no room for a name is none.
    let (base, extension) =
        if name::units(extension) > MAX_UNITS / 2 { (name, "") } else { (base, extension) };
    let room = MAX_UNITS - name::units(mark) - name::units(extension);
    let mut units = 0;
    let kept: String = base
        .chars()
        .take_while(|character| {
            units += character.len_utf16();
            units <= room
        })
        .collect();
    let new = format!("{kept}{mark}{extension}");
    // The cut may have come behind a blank or a dot.
    if name::check(&new).is_ok() { new } else { format!("{}_", new.trim_end_matches(['.', ' '])) }
}

/// The first of `name~2`, `name~3` and so on whose key nobody holds. `next` is where to begin, and
/// where the next name with the same key begins: without it many of them would take quadratic time.
fn unused_name(name: &str, holders: &HashMap<String, NodeId>, next: &mut u32) -> (String, String) {
    loop {
        let new = shortened(name, &format!("~{next}"));
        *next += 1;
        let key = name::clash_key(&new);
        if !holders.contains_key(&key) {
            return (new, key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_legal_and_near() {
        for (name, new) in [
            (&b"a:b?"[..], "a_b_"),
            (b"latin-\xE9.txt", "latin-_.txt"),
            (b"dots...", "dots___"),
            (b"end. ", "end__"),
            (b"..", "__"),
            (b"k\\l", "k_l"),
        ] {
            assert_eq!(replacement(name), new);
            assert_eq!(name::check(new), Ok(()));
        }
        let long = format!("{}.tar", "x".repeat(300));
        assert_eq!(replacement(long.as_bytes()), format!("{}.tar", "x".repeat(251)));
        let all_dots = ".".repeat(300);
        assert_eq!(replacement(all_dots.as_bytes()), "_".repeat(255));
        let smileys = "😀".repeat(200);
        assert_eq!(replacement(smileys.as_bytes()), "😀".repeat(127));
    }

    #[test]
    fn a_new_name_for_a_clash_is_one_that_nobody_holds() {
        let held = |names: &[&str]| {
            names
                .iter()
                .map(|name| (name::clash_key(name), NodeId::ROOT))
                .collect::<HashMap<_, _>>()
        };
        let holders = held(&["README.txt", "readme~2.TXT"]);
        assert_eq!(unused_name("Readme.txt", &holders, &mut 2).0, "Readme~3.txt");
        assert_eq!(unused_name(".profile", &held(&[]), &mut 2).0, ".profile~2");
        let long = "y".repeat(255);
        assert_eq!(unused_name(&long, &held(&[]), &mut 2).0, format!("{}~2", "y".repeat(253)));
    }
}
