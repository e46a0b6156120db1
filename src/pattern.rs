//! Patterns of paths in an image, as people write them. Knows neither trees nor what is done with
//! what matches.
//!
//! A pattern without `/` is of a name, wherever it is; any other is of the whole path from the
//! image's root on. `*` and `?` stay within a name, `**` does not; `[a-z]`, `{one,other}` and `\`
//! are as in shells. A `/` at the end stands for directories only. Capitals differ from small
//! letters, and `?` is one byte: a letter beyond ASCII takes as many as it has in UTF-8.

use globset::{Candidate, ErrorKind, GlobBuilder, GlobSet};
use thiserror::Error;

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatternFault {
    /// There is nothing in it, or nothing but the root directory.
    #[error("names nothing in the image; * stands for everything")]
    Empty,
    /// It begins with a mark that other tools read as an exception.
    #[error("begins with !, and there are no exceptions here; write \\! for a name that begins so")]
    Exception,
    /// Its globs are not closed, or the like.
    #[error("is no pattern: {0}")]
    Malformed(String),
    /// Together with the others it takes more memory than a matcher may.
    #[error("is too large together with those before it: {0}; write it in a simpler way")]
    TooLarge(String),
}

/// A set has a limit of its own, which thousands of patterns can meet.
const PATTERNS_OF_A_SET: usize = 1000;

/// Patterns that are matched together, in the order in which they were given.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    /// Of [`PATTERNS_OF_A_SET`] patterns each, but the last.
    globs: Vec<GlobSet>,
    patterns: Vec<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    told_as: String,
    directories_only: bool,
    /// Why it may match nothing.
    doubt: Option<String>,
}

impl Patterns {
    /// From pairs of a pattern and how messages call it, such as its place in a file.
    ///
    /// # Errors
    /// All that are none, each with how it is called.
    pub fn new(
        patterns: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Vec<(String, PatternFault)>> {
        let mut globs = Vec::new();
        let mut made = Self::default();
        let mut faults = Vec::new();
        for (text, told_as) in patterns {
            match glob(&text) {
                Ok((glob, directories_only)) => {
                    globs.push(glob);
                    made.patterns.push(Pattern { told_as, directories_only, doubt: None });
                }
                Err(fault) => faults.push((told_as, fault)),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        for (globs, patterns) in
            globs.chunks(PATTERNS_OF_A_SET).zip(made.patterns.chunks(PATTERNS_OF_A_SET))
        {
            let set = GlobSet::new(globs).map_err(|error| {
                let last = patterns.last().map(|last| last.told_as.clone());
                vec![(last.unwrap_or_default(), PatternFault::TooLarge(words(error.kind())))]
            })?;
            made.globs.push(set);
        }
        Ok(made)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// How messages call one of them.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn told_as(&self, number: usize) -> &str {
        &self.patterns[number].told_as
    }

    /// The same patterns, with what is said besides of each that matches nothing, in their order.
    #[must_use]
    pub fn with_doubts(mut self, doubts: impl IntoIterator<Item = Option<String>>) -> Self {
        for (pattern, doubt) in self.patterns.iter_mut().zip(doubts) {
            pattern.doubt = doubt;
        }
        self
    }

    /// What messages say of one of them that matched nothing.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn told_as_unused(&self, number: usize) -> String {
        let Pattern { told_as, doubt, .. } = &self.patterns[number];
        let doubt = doubt.as_ref().map(|doubt| format!("; {doubt}")).unwrap_or_default();
        format!("{told_as}: matched nothing{doubt}")
    }

    /// The numbers of those that match `path`, which begins below the image's root and without
    /// `/`, ascending.
    pub fn matching(&self, path: &[u8], directory: bool) -> Vec<usize> {
        if self.is_empty() {
            return Vec::new();
        }
        let path = Candidate::from_bytes(path);
        let of_set = |(index, set): (usize, &GlobSet)| {
            let before = index * PATTERNS_OF_A_SET;
            set.matches_candidate(&path).into_iter().map(move |number| before + number)
        };
        let mut numbers: Vec<usize> = self.globs.iter().enumerate().flat_map(of_set).collect();
        numbers.retain(|number| directory || !self.patterns[*number].directories_only);
        numbers
    }
}

/// A pattern as a glob of whole paths, and whether it is of directories only.
fn glob(text: &str) -> Result<(globset::Glob, bool), PatternFault> {
    if text.starts_with('!') {
        return Err(PatternFault::Exception);
    }
    let path = text.trim_end_matches('/');
    let directories_only = path.len() < text.len();
    let from_root = path.trim_start_matches("./").trim_start_matches('/');
    if from_root.is_empty() || from_root == "." {
        return Err(PatternFault::Empty);
    }
    // "/name" has its only mark at the beginning.
    let anywhere = !path.contains('/');
    let whole = if anywhere { format!("**/{from_root}") } else { from_root.to_owned() };
    let glob = GlobBuilder::new(&whole)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| PatternFault::Malformed(words(error.kind())))?;
    Ok((glob, directories_only))
}

/// What is wrong, as one line.
fn words(kind: &ErrorKind) -> String {
    kind.to_string().lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str, directory: bool) -> bool {
        let patterns = Patterns::new([(pattern.to_owned(), String::new())]).expect("a pattern");
        !patterns.matching(path.as_bytes(), directory).is_empty()
    }

    #[test]
    fn a_name_matches_anywhere_and_a_path_from_the_root() {
        for (pattern, path, expected) in [
            ("*.bak", "a.bak", true),
            ("*.bak", "deep/in/a.bak", true),
            ("*.bak", "a.bak/file", false),
            ("boot", "boot", true),
            ("boot", "usr/boot", true),
            ("/boot", "boot", true),
            ("/boot", "usr/boot", false),
            ("./boot", "boot", true),
            ("./boot", "usr/boot", false),
            ("boot/*.img", "boot/a.img", true),
            ("boot/*.img", "boot/old/a.img", false),
            ("boot/**/*.img", "boot/old/er/a.img", true),
            ("boot/**/*.img", "boot/a.img", true),
            ("boot/**", "boot", false),
            ("boot/**", "boot/a/b", true),
            ("**/cache/*", "var/cache/x", true),
            ("file.?", "file.c", true),
            ("file.?", "file.\u{e9}", false),
            ("file.??", "file.\u{e9}", true),
            ("f\u{e9}*", "f\u{e9}.c", true),
            ("file.[ch]", "src/file.h", true),
            ("file.[!ch]", "src/file.h", false),
            ("*.{bak,old}", "x.old", true),
            ("a\\*b", "a*b", true),
            ("a\\*b", "axb", false),
            ("\\!x", "!x", true),
            ("README", "readme", false),
            (".*", "a/.git", true),
            ("*", ".git", true),
        ] {
            assert_eq!(matches(pattern, path, false), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_mark_at_the_end_is_for_directories() {
        assert!(matches("tmp/", "var/tmp", true));
        assert!(!matches("tmp/", "var/tmp", false));
        assert!(matches("/var/tmp/", "var/tmp", true));
        assert!(matches("tmp", "var/tmp", true));
    }

    #[test]
    fn names_that_are_no_text_match_too() {
        let patterns = Patterns::new([("*.txt".to_owned(), String::new())]).expect("a pattern");
        assert_eq!(patterns.matching(b"latin-\xE9.txt", false), [0]);
    }

    #[test]
    fn all_that_match_are_told_in_their_order() {
        let pairs = ["*.c", "a*", "x", "/src/"].map(|text| (text.to_owned(), format!("<{text}>")));
        let patterns = Patterns::new(pairs).expect("patterns");
        assert_eq!(patterns.matching(b"d/a.c", false), [0, 1]);
        assert_eq!(patterns.matching(b"src", true), [3]);
        assert_eq!(patterns.told_as(3), "</src/>");
    }

    #[test]
    fn there_may_be_many() {
        let pairs = (0..20_000).map(|number| (format!("name{number}.*"), format!("{number}")));
        let patterns = Patterns::new(pairs).expect("patterns");
        assert_eq!(patterns.matching(b"d/name19999.x", false), [19_999]);
        assert_eq!(patterns.told_as(19_999), "19999");
        assert_eq!(patterns.matching(b"name1000.", false), [1000]);
        assert_eq!(patterns.matching(b"name20000.x", false), [0_usize; 0]);
    }

    #[test]
    fn what_is_no_pattern_is_told_with_its_place() {
        let of = |text: &str| match Patterns::new([(text.to_owned(), "here".to_owned())]) {
            Ok(_) => panic!("{text} is taken for a pattern"),
            Err(faults) => faults,
        };
        let malformed = |why: &str| PatternFault::Malformed(why.to_owned());
        for (text, fault) in [
            ("", PatternFault::Empty),
            ("/", PatternFault::Empty),
            (".//", PatternFault::Empty),
            ("!keep", PatternFault::Exception),
            ("a[b", malformed("unclosed character class; missing ']'")),
            ("a\\", malformed("dangling '\\'")),
        ] {
            assert_eq!(of(text), [("here".to_owned(), fault)], "{text}");
        }
        assert_eq!(of("{a").len(), 1);
    }
}
