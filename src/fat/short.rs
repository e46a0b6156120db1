//! Short names: legal bytes, checksum, and making one for a name that is none, in linear time
//! however alike the names are. Knows no directory but the names used in it.

use std::collections::{HashMap, HashSet};
use std::fmt;

const BASE_BYTES: usize = 8;
const EXTENSION_BYTES: usize = 3;

/// The eleven bytes of `DIR_Name`: base and extension, blank-padded, no dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShortName([u8; BASE_BYTES + EXTENSION_BYTES]);

impl ShortName {
    /// Takes the bytes as they are.
    pub fn from_bytes(bytes: [u8; 11]) -> Self {
        Self(bytes)
    }

    /// Base and extension with ASCII letters made capital, cut at eight and three bytes.
    pub fn from_parts(base: &str, extension: &str) -> Self {
        let mut bytes = [b' '; BASE_BYTES + EXTENSION_BYTES];
        let (base_bytes, extension_bytes) = bytes.split_at_mut(BASE_BYTES);
        for (to, from) in base_bytes.iter_mut().zip(base.bytes()) {
            *to = from.to_ascii_uppercase();
        }
        for (to, from) in extension_bytes.iter_mut().zip(extension.bytes()) {
            *to = from.to_ascii_uppercase();
        }
        Self(bytes)
    }

    /// As stored.
    pub fn bytes(self) -> [u8; 11] {
        self.0
    }

    /// The sum that ties the parts of a long name to this short one: each byte added to the sum
    /// rotated right by one.
    pub fn checksum(self) -> u8 {
        self.0.iter().fold(0, |sum: u8, byte| sum.rotate_right(1).wrapping_add(*byte))
    }
}

impl fmt::Display for ShortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (base, extension) = self.0.split_at(BASE_BYTES);
        f.write_str(String::from_utf8_lossy(base).trim_end_matches(' '))?;
        match String::from_utf8_lossy(extension).trim_end_matches(' ') {
            "" => Ok(()),
            extension => write!(f, ".{extension}"),
        }
    }
}

/// Whether a short name may hold `byte`. Blanks are legal within one but confuse readers, and
/// bytes from 80 on mean other letters in each code page, so ours have neither.
pub fn is_legal_short_byte(byte: u8) -> bool {
    // A pattern, not a search: this is asked of each letter of a tree several times.
    matches!(
        byte,
        b'A'..=b'Z' | b'0'..=b'9' | b'$' | b'%' | b'\'' | b'-' | b'_' | b'@' | b'~' | b'`' | b'!'
            | b'(' | b')' | b'{' | b'}' | b'^' | b'#' | b'&'
    )
}

/// The short names of one directory. Names that are short names themselves claim theirs first;
/// the others then get one each that ends in `~` and a number.
#[derive(Debug, Default)]
pub struct ShortNamer {
    used: HashSet<ShortName>,
    next_number: HashMap<(ShortName, u32), u32>,
}

impl ShortNamer {
    /// Keeps `name` from being made. False if it was taken already.
    pub fn claim(&mut self, name: ShortName) -> bool {
        self.used.insert(name)
    }

    /// A new short name for `name`, whose look it keeps as far as six letters allow. A counter for
    /// each stem makes it cost one look-up, however many names share the stem. `None` only after
    /// more names than a directory can hold.
    pub fn make(&mut self, name: &str) -> Option<ShortName> {
        let (base, extension) = stem(name);
        let mut first_number = 1;
        for digits in 1..=6 {
            let end = first_number * 10;
            let kept = base.get(..BASE_BYTES - 1 - digits).unwrap_or(&base);
            let key = (ShortName::from_parts(kept, &extension), end);
            let number = self.next_number.entry(key).or_insert(first_number);
            while *number < end {
                let made = ShortName::from_parts(&format!("{kept}~{number}"), &extension);
                *number += 1;
                if self.used.insert(made) {
                    return Some(made);
                }
            }
            first_number = end;
        }
        None
    }
}

/// Base and extension with what a short name cannot hold dropped or replaced: blanks, leading
/// dots and all dots but the last go, other illegal UTF-16 units become `_`.
fn stem(name: &str) -> (String, String) {
    let without_blanks = name.replace(' ', "");
    let name = without_blanks.trim_start_matches('.');
    let (base, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let legal = |part: &str, most: usize| {
        part.chars()
            .filter(|character| *character != '.')
            .flat_map(|character| {
                let capital = character.to_ascii_uppercase();
                let kept = u8::try_from(capital).is_ok_and(is_legal_short_byte);
                let (shown, times) = if kept { (capital, 1) } else { ('_', character.len_utf16()) };
                std::iter::repeat_n(shown, times)
            })
            .take(most)
            .collect::<String>()
    };
    (legal(base, BASE_BYTES), legal(extension, EXTENSION_BYTES))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::super::name;
    use super::*;

    /// Name, whether it needs a long name, records, case bits, short name, its checksum.
    type Row<'a> = (&'a str, bool, usize, u8, &'a str, u8);

    #[test]
    fn every_known_name_gets_its_form() {
        let a255 = "a".repeat(255);
        let smileys = "😀".repeat(127);
        let rows: [Row<'_>; 49] = [
            ("README.TXT", false, 1, 0x00, "README.TXT", 0x73),
            ("readme.txt", false, 1, 0x18, "README.TXT", 0x73),
            ("Readme.txt", true, 2, 0x00, "README.TXT", 0x73),
            ("README.txt", false, 1, 0x10, "README.TXT", 0x73),
            ("readme.TXT", false, 1, 0x08, "README.TXT", 0x73),
            ("A1", false, 1, 0x00, "A1", 0x07),
            ("makefile", false, 1, 0x08, "MAKEFILE", 0xC1),
            ("12345678.123", false, 1, 0x00, "12345678.123", 0x7A),
            ("123456789.123", true, 2, 0x00, "123456~1.123", 0x2D),
            ("foo.html", true, 2, 0x00, "FOO~1.HTM", 0x5A),
            ("x.y.z", true, 2, 0x00, "XY~1.Z", 0xB0),
            ("archive.tar.gz", true, 3, 0x00, "ARCHIV~1.GZ", 0x11),
            (".bashrc", true, 2, 0x00, "BASHRC~1", 0x76),
            (".gitignore", true, 2, 0x00, "GITIGN~1", 0xA2),
            (".a.b", true, 2, 0x00, "A~1.B", 0xC8),
            ("..foo", true, 2, 0x00, "FOO~1", 0x89),
            ("foo bar.txt", true, 2, 0x00, "FOOBAR~1.TXT", 0x07),
            (" lead.txt", true, 2, 0x00, "LEAD~1.TXT", 0x49),
            ("a+b.txt", true, 2, 0x00, "A_B~1.TXT", 0x9D),
            ("[x].cfg", true, 2, 0x00, "_X_~1.CFG", 0x62),
            ("a,b;c=d", true, 2, 0x00, "A_B_C_~1", 0x4A),
            ("file~1.txt", false, 1, 0x18, "FILE~1.TXT", 0x23),
            ("The quick brown.fox", true, 3, 0x00, "THEQUI~1.FOX", 0x07),
            ("caf\u{E9}.txt", true, 2, 0x00, "CAF_~1.TXT", 0x52),
            ("straße", true, 2, 0x00, "STRA_E~1", 0x9C),
            ("日本語.txt", true, 2, 0x00, "___~1.TXT", 0x80),
            ("😀.txt", true, 2, 0x00, "__~1.TXT", 0xC0),
            ("e\u{301}.txt", true, 2, 0x00, "E_~1.TXT", 0xFD),
            ("ab\u{7F}.txt", true, 2, 0x00, "AB_~1.TXT", 0x2E),
            ("con", false, 1, 0x08, "CON", 0xBE),
            ("CON.txt", false, 1, 0x10, "CON.TXT", 0x1B),
            ("nul.tar.gz", true, 2, 0x00, "NULTAR~1.GZ", 0xF3),
            ("BOOTX64.EFI", false, 1, 0x00, "BOOTX64.EFI", 0x1D),
            ("bootaa64.efi", false, 1, 0x18, "BOOTAA64.EFI", 0x54),
            ("vmlinuz-6.1.0", true, 2, 0x00, "VMLINU~1.0", 0xF4),
            ("bcm2712-rpi-5-b.dtb", true, 3, 0x00, "BCM271~1.DTB", 0x51),
            ("thirteenchars", true, 2, 0x00, "THIRTE~1", 0xD4),
            ("fourteen_chars", true, 3, 0x00, "FOURTE~1", 0xE0),
            ("abcdefghijklmnopqrstuvwxyz", true, 3, 0x00, "ABCDEF~1", 0xCA),
            ("UPPERCASE.LONG", true, 3, 0x00, "UPPERC~1.LON", 0x88),
            ("$%'-_@~`.!()", false, 1, 0x00, "$%'-_@~`.!()", 0xE5),
            ("{}^#&", false, 1, 0x00, "{}^#&", 0x79),
            (&a255, true, 21, 0x00, "AAAAAA~1", 0xB4),
            (&smileys, true, 21, 0x00, "______~1", 0xD3),
            ("-", false, 1, 0x00, "-", 0x37),
            (". x", true, 2, 0x00, "X~1", 0x7E),
            ("a..b", true, 2, 0x00, "A~1.B", 0xC8),
            ("LONGNA~1.TXT", false, 1, 0x00, "LONGNA~1.TXT", 0xF4),
            ("\u{FF21}.txt", true, 2, 0x00, "_~1.TXT", 0x22),
        ];
        for (text, long, records, case_bits, short, checksum) in rows {
            assert_eq!(name::check(text), Ok(()), "{text}");
            let plain = name::plain(text);
            let bits = plain.and_then(|plain| plain.case_bits);
            assert_eq!(bits.is_none(), long, "{text}");
            assert_eq!(bits.unwrap_or(0), case_bits, "{text}");
            let parts = if long { name::long_parts(text) } else { 0 };
            assert_eq!(parts + 1, records, "{text}");
            let made = plain.map_or_else(|| ShortNamer::default().make(text).unwrap(), |p| p.short);
            assert_eq!((made.to_string().as_str(), made.checksum()), (short, checksum), "{text}");
        }
    }

    #[test]
    fn numbers_grow_by_digits_and_avoid_claimed_names() {
        let mut namer = ShortNamer::default();
        assert!(namer.claim(ShortName::from_bytes(*b"LONGNA~1TXT")));
        assert!(!namer.claim(ShortName::from_bytes(*b"LONGNA~1TXT")));
        assert_eq!(namer.make("longname one.txt").unwrap().to_string(), "LONGNA~2.TXT");
        assert_eq!(namer.make("longname two.txt").unwrap().to_string(), "LONGNA~3.TXT");

        let mut namer = ShortNamer::default();
        let made: Vec<String> = (1..=12)
            .map(|n| namer.make(&format!("longname{n:02}.txt")).unwrap().to_string())
            .collect();
        assert_eq!(made[8], "LONGNA~9.TXT");
        assert_eq!(made[9..], ["LONGN~10.TXT", "LONGN~11.TXT", "LONGN~12.TXT"]);
    }

    #[test]
    fn a_full_directory_of_look_alikes_stays_unique() {
        let mut namer = ShortNamer::default();
        let made: HashSet<ShortName> =
            (0..32_768).map(|n| namer.make(&format!("look alike {n}")).unwrap()).collect();
        assert_eq!(made.len(), 32_768);
        assert!(made.contains(&ShortName::from_bytes(*b"LO~32768   ")));
    }
}
