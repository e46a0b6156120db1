//! Names that nobody would choose: every character alone and in pairs, every length, every form near
//! 8.3. Each is stored and read back as it was by our reader, the crate `fatfs` and Linux, or refused
//! by the rule that `docs/limits.md` states.

mod support;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use mkfatimg::fat::name;
use mkfatimg::fat::short::{ShortName, ShortNamer};
use mkfatimg::plan::Problem;
use mkfatimg::sink::Output;
use mkfatimg::verify::Depth;
use mkfatimg::{Delivery, Error};
use support::invariants::{self, Volume};
use support::{
    Expect, Oracle, TREE_SECONDS, TempDir, Tool, assert_sound, fatfs_reader, fsck, request,
    scratch, sha256,
};

/// Files that the names stand for by turns, each with other bytes: a name that leads to another's file
/// shows.
const FILES: usize = 251;

/// Enough for thousands of names in one directory, few enough for readers that search from its start.
const NAMES_PER_DIRECTORY: usize = 400;

/// Characters that hosts know and FAT forbids. The slash is no host's.
const FORBIDDEN: &str = "\"*:<>?\\|\u{FFFF}";

/// Whether the stated rule refuses a name.
fn is_refused(name: &str) -> bool {
    name.chars().any(|letter| letter < ' ' || FORBIDDEN.contains(letter))
        || name.ends_with(['.', ' '])
        || name.encode_utf16().count() > 255
}

/// How many bytes the file has that a name stands for; all of them are of one letter.
fn contents(index: usize) -> Vec<u8> {
    vec![b'a' + (index % 26) as u8; index % FILES]
}

/// Names in directories, in which no two clash, as a manifest: so they need be none on this host.
struct Listed {
    folder: TempDir,
    manifest: PathBuf,
    /// What the path of each name leads to.
    wanted: BTreeMap<String, usize>,
    /// The name in each line.
    lines: BTreeMap<u32, String>,
}

impl Listed {
    /// Sorts the names into directories of `per_directory`, in the order in which they come.
    fn new(names: &[String], per_directory: usize) -> Self {
        let folder = scratch();
        for index in 0..FILES {
            fs::write(folder.path().join(format!("file{index}")), contents(index)).unwrap();
        }
        let mut text = String::from("#mtree\n");
        let (mut wanted, mut lines) = (BTreeMap::new(), BTreeMap::new());
        let mut directories: Vec<(usize, HashSet<String>)> = Vec::new();
        let mut first_open = 0;
        for (index, name) in names.iter().enumerate() {
            let key = name::clash_key(name);
            let place = directories[first_open..]
                .iter()
                .position(|(names, keys)| *names < per_directory && !keys.contains(&key))
                .map_or(directories.len(), |at| first_open + at);
            if place == directories.len() {
                directories.push((0, HashSet::new()));
            }
            let (names, keys) = &mut directories[place];
            *names += 1;
            keys.insert(key);
            while directories.get(first_open).is_some_and(|(names, _)| *names == per_directory) {
                first_open += 1;
            }
            let file = index % FILES;
            let contents = folder.path().join(format!("file{file}"));
            let (path, contents) = (format!("d{place}/{name}"), contents.display().to_string());
            writeln!(
                text,
                "./{} type=file time={TREE_SECONDS} contents={}",
                escaped(&path),
                escaped(&contents)
            )
            .unwrap();
            lines.insert(index as u32 + 2, name.clone());
            assert!(wanted.insert(path, file).is_none(), "{name:?} twice");
        }
        let manifest = folder.path().join("names.mtree");
        fs::write(&manifest, text).unwrap();
        Self { folder, manifest, wanted, lines }
    }

    /// Builds an image, and has two readers find all names and what they stand for.
    fn build(&self) -> PathBuf {
        let image = self.folder.path().join("image");
        let mut request = request(&self.manifest);
        request.format.cluster_bytes = Some(512);
        let delivery = Delivery::of(Output::at(&image).unwrap(), Depth::Contents);
        mkfatimg::build(&request, &delivery, &()).unwrap_or_else(|error| panic!("{error}"));

        assert_sound(&image, &Expect::default());
        let volume = invariants::read(&image, 0).unwrap();
        let files = volume.entries.iter().filter(|entry| !entry.is_directory());
        let found: BTreeSet<String> =
            files.map(|entry| volume.path(entry)[1..].to_owned()).collect();
        let missing: Vec<_> = self.wanted.keys().filter(|path| !found.contains(*path)).collect();
        assert_eq!((missing, found.len()), (Vec::new(), self.wanted.len()), "our reader");
        assert_stored_by_the_rule(&volume);

        let found = fatfs_reader::contents(&fatfs_reader::open_all(&image));
        let files = found.iter().filter_map(|(path, file)| Some((path, &file.as_ref()?.0)));
        let files: BTreeMap<&String, &Vec<u8>> = files.collect();
        for (path, index) in &self.wanted {
            assert_eq!(files.get(path), Some(&&contents(*index)), "fatfs: {path:?}");
        }
        assert_eq!(files.len(), self.wanted.len(), "fatfs");
        if let Some(fsck) = Tool::find("fsck.fat") {
            fsck::assert_accepts(&fsck, &image);
        }
        image
    }

    /// Linux finds all names and what they stand for.
    fn assert_linux_reads(&self, image: &Path) {
        let Some(oracle) = Oracle::find("linux-mount.sh") else { return };
        let listings = self.folder.path().join("listings");
        let arguments = ["--timeout".as_ref(), "3600".as_ref(), "--outdir".as_ref()];
        let ran = oracle.ask(arguments.into_iter().chain([listings.as_os_str(), image.as_ref()]));
        let Some(ran) = ran else { return };
        assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
        let listing = fs::read_to_string(listings.join("1.tsv")).unwrap();
        // Names may hold what other programs take for the end of a line.
        let entries = listing.split('\n').filter(|line| line.starts_with("f\t"));
        let found: BTreeMap<&str, &str> = entries
            .map(|line| {
                let columns: Vec<&str> = line.splitn(6, '\t').collect();
                (columns[5], columns[4])
            })
            .collect();
        let digests: Vec<String> = (0..FILES).map(|index| sha256(&contents(index))).collect();
        for (path, index) in &self.wanted {
            assert_eq!(found.get(&**path), Some(&&*digests[*index]), "Linux: {path:?}");
        }
        assert_eq!(found.len(), self.wanted.len(), "Linux");
    }

    /// Each name is refused, in its line, as a name.
    fn assert_refused(&self) {
        let Err(Error::Refused(problems)) = mkfatimg::plan(&request(&self.manifest), &()) else {
            panic!("{} bad names are taken", self.wanted.len());
        };
        let mut lines = self.lines.clone();
        for problem in &problems.0 {
            let Problem::Name { met_at, .. } = problem else { panic!("{problem}") };
            assert!(lines.remove(&met_at.line().unwrap()).is_some(), "{problem}");
        }
        assert!(lines.is_empty(), "not refused: {lines:?}");
    }
}

/// What a manifest says for a path: all but letters, digits and slashes as octal numbers.
fn escaped(path: &str) -> String {
    let mut text = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'/' {
            text.push(byte.into());
        } else {
            write!(text, "\\{byte:03o}").unwrap();
        }
    }
    text
}

/// Those that are stored, and those that are refused.
fn by_rule(names: impl IntoIterator<Item = String>) -> (Vec<String>, Vec<String>) {
    let is_host_name =
        |name: &String| !name.contains(['/', '\0']) && ![".", "..", ""].contains(&name.as_str());
    names.into_iter().filter(is_host_name).partition(|name| !is_refused(name))
}

/// Each name takes the form that the rule of 8.3 gives it, as `docs/format.md` states it.
fn assert_stored_by_the_rule(volume: &Volume) {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"$%'-_@~`!(){}^#&".contains(&byte);
    let is_legal_part =
        |part: &str, most: usize| (1..=most).contains(&part.len()) && part.bytes().all(is_legal);
    let small = |part: &str| part.bytes().any(|byte| byte.is_ascii_lowercase());
    let capital = |part: &str| part.bytes().any(|byte| byte.is_ascii_uppercase());
    for entry in &volume.entries {
        let (name, short) = (entry.name(), entry.short());
        let (base, extension) = name.split_once('.').map_or((&*name, None), |(b, e)| (b, Some(e)));
        let fits = is_legal_part(base, 8) && extension.is_none_or(|part| is_legal_part(part, 3));
        let extension = extension.unwrap_or_default();
        let mixes = [base, extension].iter().any(|part| small(part) && capital(part));
        if fits {
            assert_eq!(short, name.to_ascii_uppercase(), "{name:?}");
            assert_eq!(entry.long.is_some(), mixes, "{name:?}");
            let bits = |part: &str, bit: u8| if small(part) && !mixes { bit } else { 0 };
            assert_eq!(entry.case_bits, bits(base, 0x08) | bits(extension, 0x10), "{name:?}");
        } else {
            assert_eq!((entry.long.as_ref(), entry.case_bits), (Some(&name), 0), "{name:?}");
            assert_is_made(&short, &name);
        }
    }
}

/// A short name of ours: legal letters, then `~` and a number that does not begin with 0.
fn assert_is_made(short: &str, name: &str) {
    let is_legal = |letter: char| {
        letter.is_ascii_uppercase()
            || letter.is_ascii_digit()
            || "$%'-_@~`!(){}^#&".contains(letter)
    };
    let (base, extension) = short.split_once('.').unwrap_or((short, ""));
    let (stem, number) = base.rsplit_once('~').unwrap_or_else(|| panic!("{short} for {name:?}"));
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
    assert!(is_number && !number.is_empty(), "{short} for {name:?}");
    assert!(stem.chars().chain(extension.chars()).all(is_legal), "{short} for {name:?}");
    assert!(base.len() <= 8 && extension.len() <= 3, "{short} for {name:?}");
}

/// All characters up to U+FFFF, and of those above each 251st and the last of each plane.
fn characters() -> impl Iterator<Item = char> {
    let above = (0x1_0000..=0x10_FFFF).filter(|code| code % 251 == 0 || code & 0xFFFF >= 0xFFFD);
    (1..=0xFFFF).chain(above).filter_map(char::from_u32)
}

/// Numbers without a pattern, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

#[test]
fn every_character_is_a_name_to_three_readers_or_refused() {
    let (stored, refused) = by_rule(characters().map(String::from));
    // U+0001 to U+FFFF without surrogates and slash, and the sample.
    assert_eq!(stored.len() + refused.len(), 63_486 + 4_177 + 48 - 1);
    // Control characters, what is forbidden, and the dot is no name anyway.
    assert_eq!(refused.len(), 31 + 1 + FORBIDDEN.chars().count());
    Listed::new(&refused, NAMES_PER_DIRECTORY).assert_refused();
    let listed = Listed::new(&stored, NAMES_PER_DIRECTORY);
    let image = listed.build();
    listed.assert_linux_reads(&image);
}

/// Each character with itself, before and behind a letter, and with one of the others.
fn pairs() -> BTreeSet<String> {
    let all: Vec<char> = characters().collect();
    let mut numbers = Numbers(1);
    let pairs = all.iter().flat_map(|letter| {
        let other = all[numbers.below(all.len())];
        [('a', *letter), (*letter, 'a'), (*letter, *letter), (*letter, other)]
    });
    pairs.map(|(one, two)| format!("{one}{two}")).collect()
}

/// All of the first 255 characters.
fn latin_pairs() -> BTreeSet<String> {
    let latin = || (1..=0xFF_u8).map(char::from);
    latin().flat_map(|one| latin().map(move |two| format!("{one}{two}"))).collect()
}

/// Bases of 0 to 9 letters and extensions of 0 to 4 in each case, and each with something else in each
/// place, which may make it another name or none.
fn names_near_8_3() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let extensions = (0..=4).flat_map(|len| [(".", len), ("..", len)]).chain([("", 0)]);
    for (dot, extension) in extensions {
        for base in 0..=9 {
            for (one, other) in [("A", "X"), ("a", "x"), ("A", "x"), ("a", "X"), ("7", "-")] {
                let name = format!("{}{dot}{}", one.repeat(base), other.repeat(extension));
                for at in 0..=name.len() {
                    for with in ["", "b", "B", "~", "+", " ", ".", "é", "\u{7F}"] {
                        let mut changed = name.clone();
                        changed.replace_range(at..name.len().min(at + 1), with);
                        names.insert(changed);
                    }
                }
            }
        }
    }
    names
}

fn assert_stored_or_refused(names: BTreeSet<String>) {
    let (stored, refused) = by_rule(names);
    eprintln!("{} names stored, {} refused", stored.len(), refused.len());
    Listed::new(&refused, NAMES_PER_DIRECTORY).assert_refused();
    Listed::new(&stored, 4000).build();
}

#[test]
fn every_character_is_one_of_a_pair_in_names_or_refused() {
    assert_stored_or_refused(pairs());
}

#[test]
fn every_pair_of_latin_characters_is_a_name_or_refused() {
    assert_stored_or_refused(latin_pairs());
}

#[test]
fn every_name_near_8_3_takes_the_form_that_the_rule_gives_it() {
    assert_stored_or_refused(names_near_8_3());
}

/// Others with `MKFATIMG_LINUX_STEP`, in release; all 340,000 keep the virtual machine busy for long.
#[test]
fn every_32nd_of_the_pairs_and_of_the_names_near_8_3_is_read_by_linux() {
    let told = std::env::var("MKFATIMG_LINUX_STEP").ok().and_then(|text| text.parse().ok());
    let names: BTreeSet<String> =
        [pairs(), latin_pairs(), names_near_8_3()].into_iter().flatten().collect();
    let (stored, _) = by_rule(names.into_iter().step_by(told.unwrap_or(32)));
    let listed = Listed::new(&stored, NAMES_PER_DIRECTORY);
    eprintln!("{} names for Linux", listed.wanted.len());
    let image = listed.build();
    listed.assert_linux_reads(&image);
}

#[test]
fn names_of_every_length_are_read_by_three_readers_or_refused() {
    let (mut stored, mut refused) = (Vec::new(), Vec::new());
    for units in 1..=256 {
        let names = ["n", "é", "日"].map(|letter| letter.repeat(units));
        // Two units each, and one where the number is odd.
        let pairs = format!("{}{}", "😀".repeat(units / 2), "n".repeat(units % 2));
        let list = if units <= 255 { &mut stored } else { &mut refused };
        list.extend(names);
        if units > 1 {
            list.push(pairs);
        }
    }
    let listed = Listed::new(&refused, NAMES_PER_DIRECTORY);
    assert_eq!(listed.wanted.len(), 4);
    listed.assert_refused();
    let listed = Listed::new(&stored, NAMES_PER_DIRECTORY);
    let image = listed.build();
    listed.assert_linux_reads(&image);
}

/// More with `MKFATIMG_SHORT_NAMES`, in release.
#[test]
fn random_names_get_short_names_of_their_own() {
    let told = std::env::var("MKFATIMG_SHORT_NAMES").ok().and_then(|text| text.parse().ok());
    let count: usize = told.unwrap_or(200_000);
    let letters: Vec<char> = "aAbB19~. _-+é日😀\u{7F}".chars().collect();
    let mut numbers = Numbers(2);
    let mut namer = ShortNamer::default();
    let mut used: HashSet<ShortName> = HashSet::new();
    let mut made = 0;
    while made < count {
        let len = 1 + numbers.below(12);
        let name: String = (0..len).map(|_| letters[numbers.below(letters.len())]).collect();
        if is_refused(&name) {
            continue;
        }
        let short = match name::plain(&name) {
            // Somebody else's: the two clash, and are told before.
            Some(plain) if !namer.claim(plain.short) => continue,
            Some(plain) => plain.short,
            None => namer.make(&name).unwrap_or_else(|| panic!("none for {name:?}")),
        };
        if name::plain(&name).is_none() {
            assert_is_made(&short.to_string(), &name);
        }
        assert!(used.insert(short), "{short} twice, for {name:?}");
        made += 1;
    }
}

/// With a search from the beginning for each it would take a trillion steps.
#[test]
fn as_many_alike_names_as_numbers_get_one_each() {
    let mut namer = ShortNamer::default();
    // Names that stand in the way.
    for number in (1..300_000).step_by(3) {
        let base = format!("{}~{number}", &"LOOKAL"[..6.min(7 - number.to_string().len())]);
        assert!(namer.claim(ShortName::from_parts(&base, "TXT")));
    }
    let mut used = HashSet::new();
    for number in 0..999_999 - 100_000 {
        let short = namer.make(&format!("look alike {number}.txt")).unwrap();
        assert!(used.insert(short), "{short} twice");
    }
    assert_eq!(namer.make("look alike and last.txt"), None);
}
