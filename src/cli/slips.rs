//! Common slips of the command line, and what to type instead. Knows other tools' habits; decides
//! nothing.

use std::ffi::OsString;

use crate::printable;

/// What was most likely meant by words that were refused.
pub(super) fn meant(words: &[OsString]) -> Option<String> {
    let words: Vec<String> = words.iter().map(|word| printable::os_str(word)).collect();
    let flagged = words.iter().enumerate().find_map(|(at, word)| {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (word.as_str(), words.get(at + 1).cloned()),
        };
        of_flag(flag, value.as_deref())
    });
    flagged.or_else(|| unit_apart(&words)).or_else(|| source_without_flag(&words))
}

/// Flags of other tools that do what one of ours does.
fn of_flag(flag: &str, value: Option<&str>) -> Option<String> {
    let value = value.filter(|value| !value.starts_with('-'));
    match flag {
        "-o" | "--output" | "--out" | "--image" => {
            let image = value.unwrap_or("out.img");
            Some(format!("the image needs no flag: mkfatimg --from DIR {image}"))
        }
        "--rootdir" | "--root" | "--rootpath" | "--src" | "--source" | "--input" | "-d" => {
            Some(format!("use --from {}", value.unwrap_or("DIR")))
        }
        "--fat" | "-F" | "--type" => Some(format!("use --fat-type {}", value.unwrap_or("32"))),
        "-n" | "-L" | "--volume-label" | "--name" => {
            Some(format!("use --label {}", value.unwrap_or("TEXT")))
        }
        "-i" | "--volid" | "--serial" => {
            Some(format!("use --volume-id {}", value.unwrap_or("DEAD-BEEF")))
        }
        "-S" => Some(format!("use --sector-size {}", value.unwrap_or("512"))),
        "--fat-type" => {
            let bits = value?.to_ascii_uppercase().strip_prefix("FAT")?.to_owned();
            Some(format!("use --fat-type {bits}"))
        }
        _ => None,
    }
}

/// `--size 5 G out.img`.
fn unit_apart(words: &[String]) -> Option<String> {
    words.windows(3).find_map(|three| {
        let [flag, number, unit] = three else { return None };
        let number_alone = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        let units = ["K", "M", "G", "T", "KB", "MB", "GB", "KIB", "MIB", "GIB", "%"];
        let unit_alone = units.contains(&unit.to_ascii_uppercase().as_str());
        (["--size", "--free", "--cluster-size"].contains(&flag.as_str())
            && number_alone
            && unit_alone)
            .then(|| format!("write the number and its unit as one word: {flag} {number}{unit}"))
    })
}

/// `mkfatimg DIR out.img`.
fn source_without_flag(words: &[String]) -> Option<String> {
    match words {
        [source, image] if !source.starts_with('-') && !image.starts_with('-') => {
            Some(format!("the source needs --from: mkfatimg --from {source} {image}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slips_of_many_people_are_known() {
        for (typed, answer) in [
            ("./rootfs out.img", "the source needs --from: mkfatimg --from ./rootfs out.img"),
            ("--from d -o out.img", "the image needs no flag: mkfatimg --from DIR out.img"),
            ("--from d --output=x.img", "the image needs no flag: mkfatimg --from DIR x.img"),
            ("--from d --size 5 G out.img", "write the number and its unit as one word: --size 5G"),
            (
                "--from d --free 10 % out.img",
                "write the number and its unit as one word: --free 10%",
            ),
            ("--from d --fat 32 out.img", "use --fat-type 32"),
            ("--from d -F 32 out.img", "use --fat-type 32"),
            ("--from d --fat-type FAT32 out.img", "use --fat-type 32"),
            ("--rootdir d out.img", "use --from d"),
            ("--from d --volume-label=X out.img", "use --label X"),
        ] {
            let words: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
            assert_eq!(meant(&words).as_deref(), Some(answer), "{typed}");
        }
        for typed in ["--from d --size 5G out.img", "--from d", "--from d --siez 5G out.img"] {
            let words: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
            assert_eq!(meant(&words), None, "{typed}");
        }
    }
}
