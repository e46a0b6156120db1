//! What the keywords of one line say of its entry. Knows neither paths nor lines.

use super::escapes;
use super::fault::ManifestFault;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryType {
    File,
    Directory,
    Link,
    BlockDevice,
    CharacterDevice,
    Fifo,
    Socket,
}

/// What is said of an entry, or by `/set` of all that follow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Keywords {
    pub(super) entry_type: Option<EntryType>,
    /// Path of the file that holds the bytes.
    pub(super) contents: Option<Vec<u8>>,
    /// What a symbolic link says; it is not read, but tells that the entry is one.
    pub(super) link: bool,
    /// Whole seconds since 1970: FAT has no use for parts of one.
    pub(super) modified_seconds: Option<i64>,
    pub(super) size_bytes: Option<u64>,
    /// Whether its mode keeps its owner from writing it.
    pub(super) read_only: Option<bool>,
    /// Whether a missing file is left out.
    pub(super) optional: bool,
}

/// What becomes of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It is kept, or it tells what FAT has no place for.
    Known,
    /// A digest, which nobody compares.
    Unchecked,
    Unknown,
}

const OWNER_MAY_WRITE: u16 = 0o200;

const SECONDS: &str = "it is whole seconds since 1970, and nanoseconds after a dot";

impl Keywords {
    /// Takes one word of a line, `keyword` or `keyword=value`.
    pub(super) fn take(&mut self, word: &[u8]) -> Result<Use, ManifestFault> {
        let (keyword, value) = split(word);
        let fault = |keyword, wanted| ManifestFault::Value {
            keyword,
            value: value.unwrap_or_default().to_vec(),
            wanted,
        };
        // A keyword without its value and one with an empty value are one mistake.
        let needed = |keyword| {
            value.filter(|value| !value.is_empty()).ok_or(ManifestFault::NoValue(keyword))
        };
        match keyword {
            b"type" => {
                let known = "it is file, dir, link, block, char, fifo or socket";
                let found = entry_type(needed("type")?).ok_or_else(|| fault("type", known))?;
                self.entry_type = Some(found);
            }
            b"contents" => self.contents = Some(escapes::decode(needed("contents")?)?),
            b"link" => {
                escapes::decode(needed("link")?)?;
                self.link = true;
            }
            b"time" => {
                let found = seconds(needed("time")?).ok_or_else(|| fault("time", SECONDS))?;
                self.modified_seconds = Some(found);
            }
            b"size" => {
                let found = decimal(needed("size")?);
                self.size_bytes = Some(found.ok_or_else(|| fault("size", "it is whole bytes"))?);
            }
            b"mode" => {
                let found = octal(needed("mode")?);
                let mode = found.ok_or_else(|| fault("mode", "it is an octal number"))?;
                self.read_only = Some(mode & OWNER_MAY_WRITE == 0);
            }
            b"optional" if value.is_some() => return Err(fault("optional", "it takes no value")),
            b"optional" => self.optional = true,
            _ => return Ok(use_of(keyword)),
        }
        Ok(Use::Known)
    }

    /// Forgets what an earlier word said.
    pub(super) fn forget(&mut self, keyword: &[u8]) {
        match keyword {
            b"all" => *self = Self::default(),
            b"type" => self.entry_type = None,
            b"contents" => self.contents = None,
            b"link" => self.link = false,
            b"time" => self.modified_seconds = None,
            b"size" => self.size_bytes = None,
            b"mode" => self.read_only = None,
            b"optional" => self.optional = false,
            _ => {}
        }
    }

    /// What the entry is. Bytes make it a file and a link's text a link, should nothing else tell.
    pub(super) fn decide_type(&self) -> Result<EntryType, ManifestFault> {
        match (self.entry_type, &self.contents) {
            (Some(EntryType::Link), Some(_)) => Err(ManifestFault::LinkWithContents),
            (Some(found), _) => Ok(found),
            (None, Some(_)) if self.link => Err(ManifestFault::LinkWithContents),
            (None, Some(_)) => Ok(EntryType::File),
            (None, None) if self.link => Ok(EntryType::Link),
            (None, None) => Err(ManifestFault::NoType),
        }
    }
}

/// The name of a keyword, and its value if it has one.
pub(super) fn split(word: &[u8]) -> (&[u8], Option<&[u8]>) {
    match word.iter().position(|byte| *byte == b'=') {
        Some(at) => (&word[..at], Some(&word[at + 1..])),
        None => (word, None),
    }
}

fn entry_type(value: &[u8]) -> Option<EntryType> {
    Some(match value {
        b"file" => EntryType::File,
        b"dir" => EntryType::Directory,
        b"link" => EntryType::Link,
        b"block" => EntryType::BlockDevice,
        b"char" => EntryType::CharacterDevice,
        b"fifo" => EntryType::Fifo,
        b"socket" => EntryType::Socket,
        _ => return None,
    })
}

fn use_of(keyword: &[u8]) -> Use {
    match keyword {
        b"uid" | b"gid" | b"uname" | b"gname" | b"nlink" | b"flags" | b"inode" | b"device"
        | b"resdevice" | b"tags" | b"ignore" | b"nochange" => Use::Known,
        b"cksum" | b"md5" | b"md5digest" | b"sha1" | b"sha1digest" | b"sha256"
        | b"sha256digest" | b"sha384" | b"sha384digest" | b"sha512" | b"sha512digest"
        | b"rmd160" | b"rmd160digest" | b"ripemd160digest" => Use::Unchecked,
        _ => Use::Unknown,
    }
}

/// The whole seconds of `SECONDS` or `SECONDS.NANOSECONDS`. What follows the dot is a number, not a
/// fraction: `5.1` is one nanosecond past 5.
fn seconds(value: &[u8]) -> Option<i64> {
    let (seconds, nanoseconds) = match value.iter().position(|byte| *byte == b'.') {
        Some(at) => (&value[..at], decimal(&value[at + 1..])?),
        None => (value, 0),
    };
    if nanoseconds > 999_999_999 {
        return None;
    }
    match seconds.strip_prefix(b"-") {
        Some(before) => decimal(before).and_then(|seconds| 0_i64.checked_sub_unsigned(seconds)),
        None => decimal(seconds).and_then(|seconds| i64::try_from(seconds).ok()),
    }
}

/// A mode as chmod takes it in figures.
fn octal(value: &[u8]) -> Option<u16> {
    let is_octal = value.iter().all(|byte| (b'0'..=b'7').contains(byte));
    let mode = u16::from_str_radix(std::str::from_utf8(value).ok()?, 8).ok()?;
    (is_octal && mode <= 0o7777).then_some(mode)
}

/// Digits and nothing else.
fn decimal(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(words: &[&str]) -> Keywords {
        let mut keywords = Keywords::default();
        for word in words {
            assert_eq!(keywords.take(word.as_bytes()), Ok(Use::Known), "{word}");
        }
        keywords
    }

    #[test]
    fn times_are_seconds_and_a_number_of_nanoseconds() {
        for (text, found) in [
            ("0", Some(0)),
            ("5.1", Some(5)),
            ("1796074393.213242159", Some(1_796_074_393)),
            ("5.999999999", Some(5)),
            ("5.000000000", Some(5)),
            ("-5.1", Some(-5)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("5.1000000000", None),
            ("5.", None),
            (".5", None),
            ("-", None),
            ("+5", None),
            ("5.-1", None),
            ("0x5", None),
        ] {
            assert_eq!(seconds(text.as_bytes()), found, "{text}");
        }
    }

    #[test]
    fn the_last_word_on_something_counts() {
        let keywords = taken(&["time=1", "size=2", "type=file", "time=3", "optional", "mode=0644"]);
        let found = Keywords {
            entry_type: Some(EntryType::File),
            modified_seconds: Some(3),
            size_bytes: Some(2),
            read_only: Some(false),
            optional: true,
            ..Keywords::default()
        };
        assert_eq!(keywords, found);
        assert_eq!(taken(&["mode=0444"]).read_only, Some(true));
        assert_eq!(taken(&["mode=0577"]).read_only, Some(true));
        assert_eq!(taken(&["mode=04200"]).read_only, Some(false));
    }

    #[test]
    fn what_was_said_can_be_forgotten() {
        let words = ["type=file", "contents=a", "link=b", "time=1", "size=2", "mode=4", "optional"];
        let mut one_by_one = taken(&words);
        for word in words {
            one_by_one.forget(split(word.as_bytes()).0);
        }
        assert_eq!(one_by_one, Keywords::default());
        let mut all = taken(&words);
        all.forget(b"all");
        assert_eq!(all, Keywords::default());
        all.forget(b"uid");
    }

    #[test]
    fn bytes_or_a_link_tell_the_type_too() {
        for (words, found) in [
            (&["contents=a"][..], Ok(EntryType::File)),
            (&["link=a"], Ok(EntryType::Link)),
            (&["type=dir", "contents=a"], Ok(EntryType::Directory)),
            (&["type=char"], Ok(EntryType::CharacterDevice)),
            (&["type=block"], Ok(EntryType::BlockDevice)),
            (&["type=fifo"], Ok(EntryType::Fifo)),
            (&["type=socket"], Ok(EntryType::Socket)),
            (&["size=5"], Err(ManifestFault::NoType)),
            (&["type=link", "contents=a"], Err(ManifestFault::LinkWithContents)),
            (&["link=b", "contents=a"], Err(ManifestFault::LinkWithContents)),
        ] {
            assert_eq!(taken(words).decide_type(), found, "{words:?}");
        }
    }

    #[test]
    fn values_that_mean_nothing_are_refused() {
        for (word, told) in [
            ("type", "type needs a value: type=..."),
            ("contents=", "contents needs a value: contents=..."),
            (
                "type=door",
                "type=door is no type: it is file, dir, link, block, char, fifo or socket",
            ),
            ("size=1k", "size=1k is no size: it is whole bytes"),
            ("size=-1", "size=-1 is no size: it is whole bytes"),
            (
                "size=18446744073709551616",
                "size=18446744073709551616 is no size: it is whole bytes",
            ),
            (
                "time=yesterday",
                "time=yesterday is no time: it is whole seconds since 1970, and nanoseconds after a dot",
            ),
            ("mode=u+w", "mode=u+w is no mode: it is an octal number"),
            ("mode=10000", "mode=10000 is no mode: it is an octal number"),
            ("mode=+644", "mode=+644 is no mode: it is an octal number"),
            ("mode=889", "mode=889 is no mode: it is an octal number"),
            ("optional=yes", "optional=yes is no optional: it takes no value"),
            (
                r"contents=a\q",
                r"\q is no escape of mtree; write \\ for a backslash and \s for a blank",
            ),
        ] {
            let found =
                Keywords::default().take(word.as_bytes()).map_err(|fault| fault.to_string());
            assert_eq!(found, Err(told.to_owned()));
        }
    }

    #[test]
    fn other_keywords_are_known_unchecked_or_not_known() {
        let mut keywords = Keywords::default();
        for (word, found) in [
            ("uname=root", Use::Known),
            ("nochange", Use::Known),
            ("sha256digest=00", Use::Unchecked),
            ("cksum=5", Use::Unchecked),
            ("colour=red", Use::Unknown),
            ("=", Use::Unknown),
        ] {
            assert_eq!(keywords.take(word.as_bytes()), Ok(found), "{word}");
        }
        assert_eq!(keywords, Keywords::default());
    }
}
