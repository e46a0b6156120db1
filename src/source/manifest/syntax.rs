//! The text of a manifest as entries and faults, each with its line. Knows no files.
//!
//! The parser is our own: of the crates for mtree the one that is kept up, mtree2, gives no line
//! numbers, ends at the first fault, takes a keyword that it does not know for one, and reads octal
//! escapes only.

use std::collections::HashSet;
use std::io::{self, BufRead, Read};

use super::escapes;
use super::fault::ManifestFault;
use super::keywords::{EntryType, Keywords, Use, split};

/// Bytes of a line, continuations included: several times what the longest paths of a host need.
pub(super) const MAX_LINE_BYTES: usize = 65_536;

/// Bytes of a path, as many as Linux opens.
pub(super) const MAX_PATH_BYTES: usize = 4095;

/// What a line says.
#[derive(Debug)]
pub(super) enum Said {
    /// An entry of the image.
    Entry(Entry),
    /// The first line with a keyword that is not used.
    Unused { line: u32, keyword: Vec<u8>, is_digest: bool },
    /// A line that is no line of a manifest.
    Fault { line: u32, fault: ManifestFault },
}

/// An entry of the image.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) line: u32,
    /// Names from the image's root on with slashes between them; empty for the root.
    pub(super) path: Vec<u8>,
    pub(super) entry_type: EntryType,
    pub(super) keywords: Keywords,
}

/// Reads a manifest line by line.
#[derive(Debug)]
pub(super) struct Parser<R> {
    reader: R,
    line: u32,
    defaults: Keywords,
    /// The directory of names without slashes.
    folder: Folder,
    /// Keywords that were told as unused.
    told: HashSet<Vec<u8>>,
    /// What is still to be told of the last line.
    waiting: Vec<Said>,
    ended: bool,
}

/// The directory that the relative form is in.
#[derive(Debug, Default)]
struct Folder {
    path: Vec<u8>,
    /// Bytes of the path before each step down to here.
    steps: Vec<usize>,
    /// Whether a full path led elsewhere: by some readers the relative form goes on there.
    left: bool,
    /// Whether a fault hid where this is, so that nothing in it can be judged.
    lost: bool,
}

/// A line with those that continue it.
struct Joined {
    text: Vec<u8>,
    line: u32,
    fault: Option<ManifestFault>,
}

/// What is read of one line of the file.
struct Piece {
    /// Bytes up to the comment or the backslash at the end.
    kept_bytes: usize,
    continued: bool,
    fault: Option<ManifestFault>,
}

impl<R: BufRead> Parser<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            line: 0,
            defaults: Keywords::default(),
            folder: Folder::default(),
            told: HashSet::new(),
            waiting: Vec::new(),
            ended: false,
        }
    }

    /// The next thing that the manifest says, or `None` at its end.
    ///
    /// # Errors
    /// When the system does not give the text; there is no more then.
    pub(super) fn read_next(&mut self) -> io::Result<Option<Said>> {
        loop {
            if let Some(said) = self.waiting.pop() {
                return Ok(Some(said));
            }
            if self.ended {
                return Ok(None);
            }
            let joined = self.read_line().inspect_err(|_| self.ended = true)?;
            let Some(Joined { text, line, fault }) = joined else { continue };
            let judged = match fault {
                Some(fault) => Err(fault),
                None => self.judge(&text, line),
            };
            match judged {
                Ok(entry) => self.waiting.extend(entry.map(Said::Entry)),
                Err(fault) => self.waiting.push(Said::Fault { line, fault }),
            }
        }
    }

    /// The next line and all that continue it; `None` at the end of the text.
    fn read_line(&mut self) -> io::Result<Option<Joined>> {
        let mut joined = Joined { text: Vec::new(), line: self.line + 1, fault: None };
        loop {
            let start = joined.text.len();
            if !self.read_piece(&mut joined)? {
                self.ended = true;
                if self.line >= joined.line {
                    joined.fault.get_or_insert(ManifestFault::NothingFollows);
                    return Ok(Some(joined));
                }
                return Ok(None);
            }
            let piece = Piece::of(&joined.text, start.min(joined.text.len()));
            self.ended |= piece.fault == Some(ManifestFault::NulByte);
            joined.text.truncate(piece.kept_bytes);
            joined.fault = if self.ended { piece.fault } else { joined.fault.or(piece.fault) };
            if joined.text.len() > MAX_LINE_BYTES {
                // What continues for ever is not kept.
                joined.text.clear();
                joined.fault.get_or_insert(ManifestFault::LongLine);
            }
            if !piece.continued || self.ended {
                return Ok(Some(joined));
            }
        }
    }

    /// Adds one line of the file without its end, or no more of it than a line may have; whether
    /// there was one.
    fn read_piece(&mut self, joined: &mut Joined) -> io::Result<bool> {
        let most = MAX_LINE_BYTES as u64 + 1;
        let read = self.reader.by_ref().take(most).read_until(b'\n', &mut joined.text)?;
        if read == 0 {
            return Ok(false);
        }
        self.line = self.line.saturating_add(1);
        if joined.text.ends_with(b"\n") {
            joined.text.pop();
        } else if read > MAX_LINE_BYTES {
            joined.text.clear();
            joined.fault.get_or_insert(ManifestFault::LongLine);
            self.reader.skip_until(b'\n')?;
        }
        // Of editors that end their lines so.
        if joined.text.ends_with(b"\r") {
            joined.text.pop();
        }
        Ok(true)
    }

    /// What a line without faults in its characters says.
    fn judge(&mut self, text: &[u8], line: u32) -> Result<Option<Entry>, ManifestFault> {
        let mut words = text.split(|byte| is_blank(*byte)).filter(|word| !word.is_empty());
        let Some(first) = words.next() else { return Ok(None) };
        match first {
            b"/set" => {
                let mut defaults = std::mem::take(&mut self.defaults);
                let taken = self.take_all(&mut defaults, words, line);
                self.defaults = defaults;
                taken.map(|()| None)
            }
            b"/unset" => {
                words.for_each(|word| self.defaults.forget(split(word).0));
                Ok(None)
            }
            [b'/', ..] => Err(ManifestFault::Command(first.to_vec())),
            b".." => self.folder.step_up().map(|()| None),
            _ => self.entry(first, words, line),
        }
    }

    fn entry<'w>(
        &mut self,
        name: &[u8],
        words: impl Iterator<Item = &'w [u8]>,
        line: u32,
    ) -> Result<Option<Entry>, ManifestFault> {
        let mut keywords = self.defaults.clone();
        let taken = self.take_all(&mut keywords, words, line);
        let name = escapes::decode(name);
        if let Ok(name) = &name
            && name.contains(&b'/')
        {
            let path = full_path(name)?;
            // The root is a directory, whatever /set says of what is in it.
            let entry_type =
                if path.is_empty() { Ok(EntryType::Directory) } else { keywords.decide_type() };
            taken?;
            let entry_type = entry_type?;
            self.folder.note_full_path(&path, entry_type);
            return Ok(Some(Entry { line, path, entry_type, keywords }));
        }
        let was_lost = self.folder.lost;
        let entry_type = match &name {
            Ok(name) if name == b"." => Ok(EntryType::Directory),
            _ => keywords.decide_type(),
        };
        // What follows has to know where this is, even if something else is wrong with it.
        let placed = name.and_then(|name| {
            let path = self.folder.path_of(&name)?;
            let entry_type = entry_type?;
            if entry_type == EntryType::Directory {
                self.folder.step_down(&path);
            }
            Ok((path, entry_type))
        });
        self.folder.lost |= placed.is_err();
        taken?;
        let (path, entry_type) = placed?;
        Ok((!was_lost).then_some(Entry { line, path, entry_type, keywords }))
    }

    /// Takes every word, also those after the first that is wrong.
    fn take_all<'w>(
        &mut self,
        keywords: &mut Keywords,
        words: impl Iterator<Item = &'w [u8]>,
        line: u32,
    ) -> Result<(), ManifestFault> {
        let mut taken = Ok(());
        for word in words {
            match keywords.take(word) {
                Ok(Use::Known) => {}
                Ok(unused) => {
                    let keyword = split(word).0;
                    if !self.told.contains(keyword) {
                        let keyword = keyword.to_vec();
                        self.told.insert(keyword.clone());
                        let is_digest = unused == Use::Unchecked;
                        self.waiting.push(Said::Unused { line, keyword, is_digest });
                    }
                }
                Err(fault) => taken = taken.and(Err(fault)),
            }
        }
        taken
    }
}

impl Folder {
    /// The path of a name in this directory, `.` for itself.
    fn path_of(&self, name: &[u8]) -> Result<Vec<u8>, ManifestFault> {
        let mut path = self.path.clone();
        match name {
            b"" => return Err(ManifestFault::NoName),
            b".." => return Err(ManifestFault::UpInPath(name.to_vec())),
            // Where it is nobody knows, so that it cannot be too long.
            _ if self.lost => {}
            name if self.left => return Err(ManifestFault::Placeless(name.to_vec())),
            b"." => {}
            name => join(&mut path, name)?,
        }
        Ok(path)
    }

    fn step_down(&mut self, path: &[u8]) {
        self.steps.push(self.path.len());
        self.path = path.to_vec();
    }

    fn step_up(&mut self) -> Result<(), ManifestFault> {
        if self.left {
            return Err(ManifestFault::Placeless(b"..".to_vec()));
        }
        match self.steps.pop() {
            Some(bytes) => {
                self.path.truncate(bytes);
                Ok(())
            }
            None if self.lost => Ok(()),
            None => Err(ManifestFault::ClimbsOut),
        }
    }

    /// Some readers go on in the directory of a full path, others where they were.
    fn note_full_path(&mut self, path: &[u8], entry_type: EntryType) {
        let theirs = match entry_type {
            EntryType::Directory => path,
            _ => parent(path).0,
        };
        self.left = theirs != self.path;
    }
}

impl Piece {
    /// What is read of `text` from `start` on; what lies before is the line that it continues.
    fn of(text: &[u8], start: usize) -> Self {
        let mut piece = Self { kept_bytes: text.len(), continued: false, fault: None };
        let mut at = start;
        while let Some(byte) = text.get(at) {
            let begins_word = at == 0 || is_blank(text[at - 1]);
            let fault = match byte {
                b'#' if begins_word => {
                    piece.kept_bytes = at;
                    // A NUL is told wherever it is: no text holds one.
                    if text[at..].contains(&0) {
                        piece.fault = Some(ManifestFault::NulByte);
                    }
                    break;
                }
                b'\\' if at + 1 == text.len() => {
                    piece.kept_bytes = at;
                    piece.continued = true;
                    break;
                }
                0 => {
                    piece.fault = Some(ManifestFault::NulByte);
                    break;
                }
                b'\\' if text[at + 1] != 0 => {
                    at += 2;
                    continue;
                }
                b'#' => Some(ManifestFault::CommentInWord),
                b'\t' => None,
                byte if byte.is_ascii_control() => Some(ManifestFault::ControlCharacter(*byte)),
                _ => None,
            };
            piece.fault = piece.fault.or(fault);
            at += 1;
        }
        piece
    }
}

/// The names of a full path, joined anew.
fn full_path(text: &[u8]) -> Result<Vec<u8>, ManifestFault> {
    if text.starts_with(b"/") {
        return Err(ManifestFault::Absolute(text.to_vec()));
    }
    let mut path = Vec::with_capacity(text.len());
    for name in text.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => return Err(ManifestFault::UpInPath(text.to_vec())),
            name => join(&mut path, name)?,
        }
    }
    Ok(path)
}

fn join(path: &mut Vec<u8>, name: &[u8]) -> Result<(), ManifestFault> {
    if path.len() + 1 + name.len() > MAX_PATH_BYTES {
        return Err(ManifestFault::LongPath);
    }
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    Ok(())
}

/// The path of the directory that `path` is in, and the last name.
pub(super) fn parent(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a manifest says, one line each: `LINE PATH TYPE`, `LINE unused KEYWORD` or the fault.
    fn told(text: impl AsRef<[u8]>) -> Vec<String> {
        let mut parser = Parser::new(text.as_ref());
        let mut told = Vec::new();
        while let Some(said) = parser.read_next().unwrap() {
            told.push(match said {
                Said::Entry(Entry { line, path, entry_type, .. }) => {
                    format!("{line} {} {entry_type:?}", path.escape_ascii())
                }
                Said::Unused { line, keyword, is_digest } => {
                    let what = if is_digest { "unchecked" } else { "unknown" };
                    format!("{line} {what} {}", keyword.escape_ascii())
                }
                Said::Fault { line, fault } => format!("{line}: {fault}"),
            });
        }
        told
    }

    /// The keywords of the last entry.
    fn keywords(text: &str) -> Keywords {
        let mut parser = Parser::new(text.as_bytes());
        let mut last = None;
        while let Some(said) = parser.read_next().unwrap() {
            match said {
                Said::Entry(entry) => last = Some(entry.keywords),
                said => panic!("{said:?}"),
            }
        }
        last.unwrap()
    }

    #[test]
    fn full_paths_are_paths_in_the_image() {
        let text = "#mtree\n\n./boot type=dir\n  boot/vmlinuz\ttype=file uid=0\nEFI//BOOT/./x contents=y\n\
                    ./ type=file\n./a\\040b type=dir\n";
        let found = [
            "3 boot Directory",
            "4 boot/vmlinuz File",
            "5 EFI/BOOT/x File",
            "6  Directory",
            "7 a b Directory",
        ];
        assert_eq!(told(text), found);
    }

    #[test]
    fn names_without_slashes_lie_in_the_directory_before_them() {
        let text = "/set type=file uid=0\n.\n  boot type=dir\n    vmlinuz\n    grub type=dir\n      grub.cfg\n\
                    \x20   .. ignored=1\n    initrd\n  ..\n  readme\n..\n";
        let found = [
            "2  Directory",
            "3 boot Directory",
            "4 boot/vmlinuz File",
            "5 boot/grub Directory",
            "6 boot/grub/grub.cfg File",
            "8 boot/initrd File",
            "10 readme File",
        ];
        assert_eq!(told(text), found);
    }

    #[test]
    fn more_dots_than_directories_are_refused() {
        let climbs =
            ".. leads out of the image; there is one too many, or a directory above lacks type=dir";
        assert_eq!(told("..\n"), [format!("1: {climbs}")]);
        let text = ".\na type=dir\n..\n..\n..\n..\n";
        let found = ["1  Directory", "2 a Directory"].map(str::to_owned);
        assert_eq!(told(text)[..2], found);
        assert_eq!(told(text)[2..], [format!("5: {climbs}"), format!("6: {climbs}")]);
        for (path, told_path) in
            [("./../a", "./../a"), ("a/..", "a/.."), (r"a\057..", "a/.."), (r"\056.", "..")]
        {
            let fault = format!("1: {told_path} holds .., which a path of a manifest cannot");
            assert_eq!(told(format!("{path} type=file\n")), [fault]);
        }
    }

    #[test]
    fn set_holds_until_it_is_unset() {
        let text = "/set type=file time=5 optional\n./a time=6\n";
        let found = Keywords {
            entry_type: Some(EntryType::File),
            modified_seconds: Some(6),
            optional: true,
            ..Keywords::default()
        };
        assert_eq!(keywords(text), found);
        let text = format!("{text}/unset time optional\n/set size=4\n./b\n");
        let found = Keywords {
            entry_type: Some(EntryType::File),
            size_bytes: Some(4),
            ..Keywords::default()
        };
        assert_eq!(keywords(&text), found);
        let no_type = "2: has no type; add type=file or type=dir";
        assert_eq!(told("/unset all\n./b\n"), [no_type]);
    }

    #[test]
    fn a_backslash_at_the_end_continues_a_line() {
        let text = "./a \\\n  type=file \\\n contents=b\\\nc\n./d type=dir\n";
        assert_eq!(told(text), ["1 a File", "5 d Directory"]);
        assert_eq!(keywords("./a \\\n contents=b\\\nc").contents.as_deref(), Some(&b"bc"[..]));
        // An escaped backslash continues nothing.
        assert_eq!(
            told("./a type=file contents=b\\\\\n./d type=dir\n"),
            ["1 a File", "2 d Directory"]
        );
        let fault = "1: ends with \\ and no line follows";
        assert_eq!(told("./a type=file \\"), [fault]);
        assert_eq!(told("./a type=file \\\n"), [fault]);
    }

    #[test]
    fn comments_begin_words_and_go_to_the_end_of_the_line() {
        let text = "# a \\\n./a type=file # b \\\n./b type=file #\n#./c type=file\n  # d\n";
        assert_eq!(told(text), ["2 a File", "3 b File"]);
        let fault = "1: has a # within a word; write \\# if it is part of a name, or a blank before it if a \
                     comment begins";
        assert_eq!(told("./a#b type=file\n"), [fault]);
        assert_eq!(told("./a\\#b type=file\n"), ["1 a#b File"]);
        assert_eq!(told("./a\\\\#b type=file\n"), [fault]);
        assert_eq!(told("./a\\\n#b type=file\n"), [fault]);
    }

    #[test]
    fn lines_may_end_as_on_windows_or_not_at_all() {
        assert_eq!(
            told("#mtree\r\n./a \\\r\n type=file\r\n\r\n./b type=dir"),
            ["2 a File", "5 b Directory"]
        );
    }

    #[test]
    fn a_name_after_a_full_path_is_refused_where_readers_differ() {
        let placeless = |line, name| {
            format!(
                "{line}: {name} comes after a full path, and readers of mtree differ on where it is then; \
                 write ./ and the whole path"
            )
        };
        let text = "./boot/vmlinuz type=file\nreadme type=file\n..\n./a type=file\n";
        let found =
            ["1 boot/vmlinuz File", &placeless(2, "readme"), &placeless(3, ".."), "4 a File"];
        assert_eq!(told(text), found);
        // All agree on these.
        let text =
            "./a type=file\nreadme type=file\nboot type=dir\n./boot/b type=file\nc type=file\n";
        let found =
            ["1 a File", "2 readme File", "3 boot Directory", "4 boot/b File", "5 boot/c File"];
        assert_eq!(told(text), found);
    }

    #[test]
    fn every_fault_is_told_with_its_line() {
        let long = "n".repeat(MAX_PATH_BYTES);
        let text = format!(
            "#mtree\n/boot type=dir\n\\057boot type=dir\n./a\\q type=file\n./b type=door\n./c\n\
             ./d\x07 type=file\n./e time=x size=x type=file\n./\\$ type=file\n./f/{long} type=file\n\
             ./g\\0 type=file\n/set size=x\n./h type=link contents=i\n./ok type=file\n"
        );
        let found = [
            "2: /boot is neither /set nor /unset; paths of a manifest begin with ./",
            "3: /boot is an absolute path; paths of a manifest begin with ./",
            "4: \\q is no escape of mtree; write \\\\ for a backslash and \\s for a blank",
            "5: type=door is no type: it is file, dir, link, block, char, fifo or socket",
            "6: has no type; add type=file or type=dir",
            "7: holds the control character 0x07; write it as \\007",
            "8: time=x is no time: it is whole seconds since 1970, and nanoseconds after a dot",
            "9  Directory",
            "10: gives a path of more than 4095 bytes",
            "11: holds an escaped NUL, which no name can",
            "12: size=x is no size: it is whole bytes",
            "13: has type=link and contents=; give what the link leads to as type=file",
            "14 ok File",
        ];
        assert_eq!(told(text), found);
        assert_eq!(told("\\$ type=file\n"), ["1: names nothing"]);
    }

    #[test]
    fn what_lies_in_a_directory_that_is_not_known_is_not_judged() {
        let text = "boot\n  vmlinuz type=file\n  grub type=fil\n..\n..\n./a type=file\n";
        let found = [
            "1: has no type; add type=file or type=dir",
            "3: type=fil is no type: it is file, dir, link, block, char, fifo or socket",
            "6 a File",
        ];
        assert_eq!(told(text), found);
    }

    #[test]
    fn a_keyword_that_is_not_used_is_told_once() {
        let text =
            "/set colour=red\n./a type=file md5=1 md5=2\n./b type=file md5=1 colour=blue smell\n";
        let mut found = told(text);
        found.sort();
        let wanted =
            ["1 unknown colour", "2 a File", "2 unchecked md5", "3 b File", "3 unknown smell"];
        assert_eq!(found, wanted);
    }

    #[test]
    fn text_without_end_is_refused_without_being_kept() {
        let long = format!("1: is longer than {MAX_LINE_BYTES} bytes");
        let rest = "2 b Directory";
        for fill in ["a", "#", "\\\\", " ", "\\"] {
            let text = format!("./a {}\n./b type=dir\n", fill.repeat(1 << 20));
            assert_eq!(told(&text), [&long, rest], "{fill}");
        }
        let text = format!("./a {}type=dir\n./b type=dir\n", "x=y \\\n".repeat(1 << 18));
        let mut found = told(&text);
        found.retain(|line| !line.contains("unknown"));
        assert_eq!(found, [long.clone(), format!("{} b Directory", (1 << 18) + 2)]);
        let fits = format!("./a type=dir {}", " ".repeat(MAX_LINE_BYTES - 13));
        assert_eq!(told(&fits), ["1 a Directory"]);
        assert_eq!(told(format!("{fits} ")), [long]);
    }

    #[test]
    fn nothing_is_read_after_a_nul() {
        let nul = "2: holds a NUL byte, so that this is no mtree manifest";
        for line in
            [&b"\0"[..], b"./a\0b type=file", b"# \0", b"./a\x07\0", b"./a \\\0", b"\x7FELF\0"]
        {
            let text = [b"./a type=dir\n", line, b"\n./b type=dir\n"].concat();
            assert_eq!(told(&text), ["1 a Directory", nul], "{}", line.escape_ascii());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(text: Vec<u8>) {
            read_to_end(&text);
        }

        #[test]
        fn any_words_of_a_manifest_are_read_to_their_end(
            words in proptest::collection::vec(proptest::sample::select(WORDS), 0..40),
        ) {
            read_to_end(words.concat().as_bytes());
        }
    }

    /// What makes a manifest, or spoils it.
    const WORDS: &[&str] = &[
        "\n",
        "\n",
        "\n",
        " ",
        " ",
        "\\\n",
        "\r\n",
        "\\",
        "#",
        "/",
        "/set ",
        "/unset ",
        "..",
        ".",
        "./",
        "a",
        "b",
        "type=dir",
        "type=file",
        "type=",
        "time=5.1",
        "contents=",
        "link=c",
        "optional",
        "size=9",
        "md5=0",
        "\\056",
        "\\057",
        "\\0",
        "\\M-",
        "\\^",
        "\\x4",
        "\\$",
        "\t",
        "\u{e4}",
        "\0",
    ];

    /// Nothing panics, lines are those of the text, and no path leads out.
    fn read_to_end(text: &[u8]) {
        let lines = text.split(|byte| *byte == b'\n').count() as u32;
        let mut parser = Parser::new(text);
        while let Some(said) = parser.read_next().unwrap() {
            let line = match said {
                Said::Entry(Entry { line, path, .. }) => {
                    assert!(path.len() <= MAX_PATH_BYTES && !path.contains(&0));
                    let names = path.split(|byte| *byte == b'/');
                    let mut names = names.filter(|_| !path.is_empty());
                    assert!(!names.any(|name| [&b""[..], b".", b".."].contains(&name)));
                    line
                }
                Said::Unused { line, .. } | Said::Fault { line, .. } => line,
            };
            assert!((1..=lines).contains(&line));
        }
    }
}
