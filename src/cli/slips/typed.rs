//! The words of a command line, read as their writer meant them: flags of ours as they are, flags of
//! other tools as ours, values and units put together. Knows nothing of what is on the disk.

use std::ffi::{OsStr, OsString};
use std::iter::Peekable;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

use super::habits::{self, Habit, Takes};
use crate::cli::values;

/// A command line as it was meant.
#[derive(Debug, Default)]
pub(super) struct Typed {
    pub(super) parts: Vec<Part>,
    /// The image, where a flag of another tool named it.
    pub(super) image: Option<OsString>,
    /// That flag is one of mtools, which add to an image that is there.
    pub(super) adds: bool,
    /// The file that was named for the report.
    pub(super) report: Option<OsString>,
    /// What is to be known besides the command: a line each.
    pub(super) notes: Vec<String>,
    /// What to do instead of any command.
    pub(super) instead: Option<String>,
    /// A bare number among the operands counts blocks of 1 KiB.
    pub(super) counts_blocks: bool,
    /// Something was written otherwise than it has to be.
    pub(super) slipped: bool,
}

/// A flag with its value, or a word without flag, in the order of the words.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Flag {
        name: String,
        value: Option<OsString>,
    },
    /// Cluster size in sectors, whose size another word may give.
    ClusterSectors(u32),
    Operand(OsString),
}

impl Part {
    pub(super) fn flag(name: &str, value: impl Into<OsString>) -> Self {
        Self::Flag { name: name.to_owned(), value: Some(value.into()) }
    }

    /// The flag that it is, by its name.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Flag { name, .. } => Some(name),
            Self::ClusterSectors(_) | Self::Operand(_) => None,
        }
    }
}

/// Units as people put them a blank behind the number.
const UNITS: [&str; 18] = [
    "b", "k", "m", "g", "t", "ki", "mi", "gi", "ti", "kb", "mb", "gb", "tb", "kib", "mib", "gib",
    "tib", "%",
];

/// Reads `words`, or gives up on the first flag that nobody knows. `ours` is the command line's
/// definition, built.
pub(super) fn read(ours: &clap::Command, words: &[OsString]) -> Option<Typed> {
    let mut reader = Reader {
        ours,
        mcopy: words.iter().any(|word| is_in_image(word)),
        words: words.iter().peekable(),
        typed: Typed::default(),
    };
    while let Some(word) = reader.words.next()
        && reader.typed.instead.is_none()
    {
        if word == "--" {
            let operands = reader.words.by_ref().cloned();
            reader.typed.parts.extend(operands.map(Part::Operand));
        } else if is_flag(word) {
            reader.flag(word)?;
        } else {
            reader.typed.parts.push(Part::Operand(word.clone()));
        }
    }
    Some(reader.typed)
}

/// A word that a parser takes for a flag; `-` alone is a file.
pub(super) fn is_flag(word: &OsStr) -> bool {
    word.as_bytes().starts_with(b"-") && word != "-"
}

/// A path in the image as mtools write it.
pub(super) fn is_in_image(word: &OsStr) -> bool {
    word.as_bytes().starts_with(b"::")
}

/// The number of sectors in the word behind `-h`, or in that word: mkfs.fat's, since no help has one.
pub(super) fn sectors_for_help(word: &OsStr, next: Option<&OsString>) -> Option<OsString> {
    let number = match word.to_str()?.strip_prefix("-h")? {
        "" => next?.to_str()?,
        touching => touching,
    };
    is_number(number).then(|| number.into())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

struct Reader<'a> {
    ours: &'a clap::Command,
    /// Letters are those of mcopy.
    mcopy: bool,
    words: Peekable<slice::Iter<'a, OsString>>,
    typed: Typed,
}

impl<'a> Reader<'a> {
    fn flag(&mut self, word: &OsStr) -> Option<()> {
        if let Some(sectors) = sectors_for_help(word, self.words.peek().copied()) {
            self.words.next_if(|_| word == "-h");
            self.typed.slipped = true;
            self.typed.parts.push(Part::flag("--hidden-sectors", sectors));
            return Some(());
        }
        let (name, value) = split(word)?;
        if let Some(arg) = self.ours_named(&name) {
            return self.our_flag(&name, value, arg);
        }
        if name.starts_with("--") {
            return self.habit(&name, habits::of(&name, self.mcopy)?, value);
        }
        // Tools that write long names behind a single dash.
        let long = format!("-{name}");
        if let Some(arg) = self.ours_named(&long) {
            self.typed.slipped = true;
            return self.our_flag(&long, value, arg);
        }
        if let Some(habit) = habits::of(&long, self.mcopy) {
            return self.habit(&long, habit, value);
        }
        let letters = word.to_str()?.strip_prefix('-')?;
        if letters.chars().all(|letter| self.ours_lettered(letter)) {
            let name = format!("-{letters}");
            self.typed.parts.push(Part::Flag { name, value: None });
            return Some(());
        }
        self.letters(letters)
    }

    /// Letters of other tools behind one dash; what follows one that takes a value is that.
    fn letters(&mut self, letters: &str) -> Option<()> {
        let mut rest = letters;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            let name = format!("-{letter}");
            let habit = match habits::of(&name, self.mcopy) {
                None if self.ours_lettered(letter) => {
                    self.typed.parts.push(Part::Flag { name, value: None });
                    continue;
                }
                habit => habit?,
            };
            let alone = matches!(habit, Habit::Always | Habit::Create | Habit::Ours(..));
            if alone && !rest.is_empty() {
                self.habit(&name, habit, None)?;
                continue;
            }
            let value = rest.strip_prefix('=').unwrap_or(rest);
            return self.habit(&name, habit, (!value.is_empty()).then(|| value.into()));
        }
        Some(())
    }

    /// A flag of ours, its value mended.
    fn our_flag(&mut self, name: &str, value: Option<OsString>, arg: &clap::Arg) -> Option<()> {
        let value = if name == "--json" { self.report(value) } else { value };
        if !arg.get_action().takes_values() {
            self.typed.parts.push(Part::Flag { name: name.to_owned(), value: None });
            return value.is_none().then_some(());
        }
        let hyphens = arg.is_allow_hyphen_values_set() || arg.is_allow_negative_numbers_set();
        let mut value = self.value(value, hyphens)?;
        if arg.get_value_names().is_some_and(|names| names[0].starts_with("SIZE")) {
            value = self.size(value);
        }
        if name == "--fat-type" {
            return self.kind(&value);
        }
        if name == "--size"
            && let Some(percent) = value.to_str().and_then(|text| text.strip_suffix('%'))
        {
            return self.percentage(percent);
        }
        self.typed.parts.push(Part::flag(name, value));
        Some(())
    }

    /// genimage's size in percent of the contents: what is more than them stays free.
    fn percentage(&mut self, percent: &str) -> Option<()> {
        let more = percent.parse::<u8>().ok()?.checked_sub(100)?;
        self.typed.slipped = true;
        if more > 0 {
            self.typed.parts.push(Part::flag("--free", format!("{more}%")));
        }
        Some(())
    }

    /// A file behind `--json`, which takes none; what is left of its value.
    fn report(&mut self, value: Option<OsString>) -> Option<OsString> {
        let file = match value {
            Some(file) if !file.is_empty() => file,
            value => match self.words.next_if(|next| is_json(next)) {
                Some(file) => file.clone(),
                None => return value,
            },
        };
        self.typed.slipped = true;
        self.typed.notes.push("--json takes no file; it reports on standard output".to_owned());
        self.typed.report = Some(file);
        None
    }

    /// A flag of another tool, as ours.
    fn habit(&mut self, flag: &str, habit: Habit, value: Option<OsString>) -> Option<()> {
        self.typed.slipped = true;
        match habit {
            Habit::Always => return value.is_none().then_some(()),
            Habit::Ours(name, ours) => {
                let ours = ours.map(OsString::from);
                self.typed.parts.push(Part::Flag { name: name.to_owned(), value: ours });
                return value.is_none().then_some(());
            }
            Habit::Nothing(takes, why) => {
                let next = self.words.peek().copied();
                match takes {
                    Takes::Word if value.is_none() => {
                        self.value(None, false)?;
                    }
                    Takes::Number if value.is_none() && next.is_some_and(begins_with_digit) => {
                        self.words.next();
                    }
                    _ => {}
                }
                self.typed.notes.push(format!("{flag}: nothing replaces it; {why}"));
                return Some(());
            }
            Habit::Instead(what) => {
                self.typed.instead = Some(format!("{flag}: {what}"));
                return Some(());
            }
            Habit::Create => {
                self.typed.counts_blocks = true;
                return value.is_none().then_some(());
            }
            Habit::FatsOrForce => {
                let next = value.as_ref().or(self.words.peek().copied());
                if next.is_none_or(|next| next != "1" && next != "2") {
                    return value.is_none().then_some(());
                }
            }
            _ => {}
        }
        let value = self.value(value, false)?;
        match habit {
            Habit::Image => {
                self.typed.adds |= self.mcopy && flag == "-i";
                self.image(value)
            }
            Habit::IdOrImage => {
                if value.to_str().is_some_and(|text| values::volume_id(text).is_ok()) {
                    self.typed.parts.push(Part::flag("--volume-id", value));
                    return Some(());
                }
                self.typed.adds = true;
                self.image(value)
            }
            Habit::BackupOrFree => match value.to_str()? {
                "0" | "6" => Some(()),
                number if is_number(number) => {
                    let why = "the backup of the boot sector is in sector 6";
                    self.typed.notes.push(format!("{flag}: nothing replaces it; {why}"));
                    Some(())
                }
                _ => {
                    let free = self.size(value);
                    self.typed.parts.push(Part::flag("--free", free));
                    Some(())
                }
            },
            Habit::Seconds => {
                let time = format!("@{}", value.to_str().filter(|text| is_number(text))?);
                self.typed.parts.push(Part::flag("--mtime", time));
                Some(())
            }
            Habit::Flag(name) => {
                let arg = self.ours_named(name)?;
                self.our_flag(name, Some(value), arg)
            }
            Habit::Type => {
                // Whoever types -F types the blocks behind the image.
                self.typed.counts_blocks |= flag == "-F";
                self.kind(&value)
            }
            Habit::Options => match value.to_str().filter(|text| text.contains('=')) {
                Some(options) => options.split(',').try_for_each(|option| self.option(option)),
                None => self.image(value),
            },
            Habit::ClusterOrSize => {
                let sectors = value.to_str().and_then(|text| text.parse().ok());
                match sectors.filter(|sectors: &u32| sectors.is_power_of_two() && *sectors <= 128) {
                    Some(sectors) => self.typed.parts.push(Part::ClusterSectors(sectors)),
                    None => {
                        let size = self.size(value);
                        self.typed.parts.push(Part::flag("--size", size));
                    }
                }
                Some(())
            }
            Habit::FatsOrForce => {
                self.typed.parts.push(Part::flag("--fats", value));
                Some(())
            }
            Habit::Tracks => {
                let (heads, sectors) = value.to_str()?.split_once('/')?;
                self.typed.parts.push(Part::flag("--heads", heads));
                self.typed.parts.push(Part::flag("--sectors-per-track", sectors));
                Some(())
            }
            Habit::Always
            | Habit::Create
            | Habit::Ours(..)
            | Habit::Nothing(..)
            | Habit::Instead(_) => None,
        }
    }

    fn option(&mut self, option: &str) -> Option<()> {
        let (name, value) = option.split_once('=')?;
        if name == "sectors_per_cluster" {
            self.typed.parts.push(Part::ClusterSectors(value.parse().ok()?));
            return Some(());
        }
        if name == "offset" {
            self.typed.instead = Some(format!("-o offset: {}", habits::INTO_A_DISK));
            return Some(());
        }
        let name = habits::of_option(name)?;
        let arg = self.ours_named(name)?;
        self.our_flag(name, Some(value.into()), arg)
    }

    fn image(&mut self, path: OsString) -> Option<()> {
        if path.as_bytes().windows(2).any(|pair| pair == b"@@") {
            self.typed.instead = Some(format!("@@: {}", habits::INTO_A_DISK));
        }
        self.typed.image.replace(path).is_none().then_some(())
    }

    fn kind(&mut self, value: &OsStr) -> Option<()> {
        let text = value.to_str()?;
        let bits = habits::bits(text)?;
        self.typed.slipped |= bits != Some(text);
        self.typed.parts.extend(bits.map(|bits| Part::flag("--fat-type", bits)));
        Some(())
    }

    /// The value of a flag: what touches it, or the next word, which begins with a dash only where
    /// it may. A blank behind `=` is a slip.
    fn value(&mut self, touching: Option<OsString>, hyphens: bool) -> Option<OsString> {
        match touching {
            Some(value) if !value.is_empty() => Some(value),
            empty => {
                let next = self.words.next_if(|next| hyphens || !is_flag(next))?;
                self.typed.slipped |= empty.is_some();
                Some(next.clone())
            }
        }
    }

    /// `5 G` in one word or in two, as `5G`.
    fn size(&mut self, value: OsString) -> OsString {
        let Some(text) = value.to_str() else { return value };
        let mut size: String = text.split_whitespace().collect();
        let number_alone = is_number(&size);
        let is_unit = |word: &OsString| {
            word.to_str().is_some_and(|word| UNITS.contains(&word.to_ascii_lowercase().as_str()))
        };
        if number_alone && let Some(unit) = self.words.next_if(|next| is_unit(next)) {
            size.push_str(&unit.to_string_lossy());
        }
        self.typed.slipped |= size != text;
        size.into()
    }

    fn ours_named(&self, name: &str) -> Option<&'a clap::Arg> {
        let long = name.strip_prefix("--")?;
        self.ours.get_arguments().find(|arg| arg.get_long() == Some(long))
    }

    /// A letter that stands for a flag of ours without value.
    fn ours_lettered(&self, letter: char) -> bool {
        self.ours
            .get_arguments()
            .any(|arg| arg.get_short() == Some(letter) && !arg.get_action().takes_values())
    }
}

fn is_json(word: &OsString) -> bool {
    Path::new(word).extension().is_some_and(|ending| ending == "json")
}

/// `128`, `0x80`, `80h` and the like.
fn begins_with_digit(word: &OsString) -> bool {
    word.as_bytes().first().is_some_and(u8::is_ascii_digit)
}

/// Name and value of a word such as `--size=5G`.
fn split(word: &OsStr) -> Option<(String, Option<OsString>)> {
    let bytes = word.as_bytes();
    let equals = bytes.iter().position(|byte| *byte == b'=');
    let name = &bytes[..equals.unwrap_or(bytes.len())];
    let value = equals.map(|at| OsStr::from_bytes(&bytes[at + 1..]).to_owned());
    Some((str::from_utf8(name).ok()?.to_owned(), value))
}
