//! Common slips of the command line, and the whole command to type instead. Knows other tools'
//! habits; decides nothing.

mod habits;
mod operands;
mod shell;
mod typed;

use std::ffi::{OsStr, OsString};

use clap::CommandFactory;

use super::args::Args;
use typed::{Part, Typed};

/// Bytes of a sector where no word says otherwise.
const USUAL_SECTOR_BYTES: u32 = 512;

/// What to type instead of words that were refused, for one line.
pub(super) fn meant(words: &[OsString], is_directory: impl Fn(&OsStr) -> bool) -> Option<String> {
    let command = mended(words, is_directory)?;
    Some(format!("did you mean: {}", shell::line(command.iter().map(OsString::as_os_str))))
}

/// The command that was most likely meant. It is one that is accepted; what it needs and nobody named
/// stands there as in the usage line, `DIR` and `OUT`.
fn mended(words: &[OsString], is_directory: impl Fn(&OsStr) -> bool) -> Option<Vec<OsString>> {
    let mut ours = Args::command();
    ours.build();
    let mut typed = typed::read(&ours, words)?;
    operands::place(&mut typed, is_directory)?;
    let command = typed.slipped.then(|| command(typed))?;
    // What is wrong besides the slips stays wrong, and is told by the parser already.
    ours.try_get_matches_from_mut(&command).is_ok().then_some(command)
}

/// The words to type: flags in the order of those that were typed, the image last.
fn command(typed: Typed) -> Vec<OsString> {
    let sector_bytes = sector_bytes(&typed.parts);
    let has = |flag| typed.parts.iter().any(|part| part.name() == Some(flag));
    let (has_source, needs_image) = (has("--from"), !has("--dry-run"));
    let mut words = vec![OsString::from("mkfatimg")];
    if !has_source {
        words.extend(["--from".into(), "DIR".into()]);
    }
    for part in typed.parts {
        match part {
            Part::Flag { name, value: None } => words.push(name.into()),
            // A value like a flag has to touch its own.
            Part::Flag { name, value: Some(value) }
                if value.as_encoded_bytes().starts_with(b"-") =>
            {
                let mut word = OsString::from(name + "=");
                word.push(value);
                words.push(word);
            }
            Part::Flag { name, value: Some(value) } => words.extend([name.into(), value]),
            Part::ClusterSectors(sectors) => {
                let bytes = sectors.saturating_mul(sector_bytes);
                words.extend(["--cluster-size".into(), bytes.to_string().into()]);
            }
            Part::Operand(word) => words.push(word),
        }
    }
    let image = typed.image.or_else(|| needs_image.then(|| "OUT".into()));
    if image.as_ref().is_some_and(|image| typed::is_flag(image)) {
        words.push("--".into());
    }
    words.extend(image);
    words
}

fn sector_bytes(parts: &[Part]) -> u32 {
    let given = parts.iter().find_map(|part| match part {
        Part::Flag { name, value } if name == "--sector-size" => value.as_ref()?.to_str(),
        _ => None,
    });
    given
        .and_then(|text| super::values::sector_size(text).ok())
        .map_or(USUAL_SECTOR_BYTES, u32::from)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    /// Of what is typed, these are directories.
    fn is_directory(word: &OsStr) -> bool {
        ["d", "e", "./rootfs"].iter().any(|directory| word == *directory)
    }

    fn meant_by(words: &[OsString]) -> Option<String> {
        meant(words, is_directory)
    }

    #[test]
    fn a_slip_is_answered_with_the_command_to_type() {
        for (typed, command) in [
            // The source without its flag, and in the order of others.
            ("./rootfs out.img", "--from ./rootfs out.img"),
            ("out.img ./rootfs", "--from ./rootfs out.img"),
            ("out.img ./missing", "--from ./missing out.img"),
            ("missing image", "--from missing image"),
            ("d -", "--from d -"),
            ("--from d e out.img", "--from d --from e out.img"),
            ("d vmlinuz:/boot/ out.img", "--from d --from vmlinuz:/boot/ out.img"),
            ("d", "--from d OUT"),
            ("d --dry-run", "--from d --dry-run"),
            ("-q d -- -odd.img", "-q --from d -- -odd.img"),
            // The image with a flag.
            ("--from d -o out.img", "--from d out.img"),
            ("-o out.img d", "--from d out.img"),
            ("-oout.img d", "--from d out.img"),
            ("--from d --output=x.img", "--from d x.img"),
            ("--from d --output= x.img", "--from d x.img"),
            ("-o out.img", "--from DIR out.img"),
            // Number and unit.
            ("--from d --size 5 G out.img", "--from d --size 5G out.img"),
            ("--from d --size=5 G out.img", "--from d --size 5G out.img"),
            ("--from d --size= 5G out.img", "--from d --size 5G out.img"),
            ("--from d --free 10 % out.img", "--from d --free 10% out.img"),
            ("--from d --cluster-size 4 KiB o", "--from d --cluster-size 4KiB o"),
            ("--from d --align 1 m o", "--from d --align 1m o"),
            ("--from d 5G out.img", "--from d --size 5G out.img"),
            ("d out.img 64M", "--from d --size 64M out.img"),
            ("-s 5 g d out.img", "--size 5g --from d out.img"),
            // The type.
            ("--from d --fat 32 out.img", "--from d --fat-type 32 out.img"),
            ("--from d -F 32 out.img", "--from d --fat-type 32 out.img"),
            ("--from d -F32 out.img", "--from d --fat-type 32 out.img"),
            ("--from d --type fat32 out.img", "--from d --fat-type 32 out.img"),
            ("--from d --type=vfat out.img", "--from d out.img"),
            ("--from d --fat-type FAT32 out.img", "--from d --fat-type 32 out.img"),
            ("--from d --fat-type=fat16 out.img", "--from d --fat-type 16 out.img"),
            // Other words for the same.
            ("--rootdir d out.img", "--from d out.img"),
            ("--rootpath d --inputpath e o", "--from d --from e o"),
            ("--from d --volume-label X out.img", "--from d --label X out.img"),
            ("--from d --volume-label=X out.img", "--from d --label X out.img"),
            ("--from d -n LABEL out.img", "--from d --label LABEL out.img"),
            ("--from d -i 1234ABCD out.img", "--from d --volume-id 1234ABCD out.img"),
            ("-size 5G -from d out.img", "--size 5G --from d out.img"),
            ("-f --from d out.img", "--from d out.img"),
            ("--from d -j4 out.img", "--from d --jobs 4 out.img"),
            // mkfs.fat.
            ("-C out.img 65536 --from d", "--size 65536K --from d out.img"),
            (
                "-C -F 16 -S 1024 -s 8 -f 2 -R 4 -r 512 -n X -i DEADBEEF -M 0xF8 out.img 65536",
                "--from DIR --fat-type 16 --sector-size 1024 --cluster-size 8192 --fats 2 \
                 --reserved-sectors 4 --root-entries 512 --label X --volume-id DEADBEEF \
                 --media 0xF8 --size 65536K out.img",
            ),
            ("-s 8 -S 512 d out.img", "--cluster-size 4096 --sector-size 512 --from d out.img"),
            ("-g 255/63 d o", "--heads 255 --sectors-per-track 63 --from d o"),
            // makefs.
            ("-t msdos -o fat_type=32 -s 5g out.img d", "--fat-type 32 --size 5g --from d out.img"),
            (
                "-t msdos -o fat_type=16,volume_label=EFI,sectors_per_cluster=1 -s 64m out.img d",
                "--fat-type 16 --label EFI --cluster-size 512 --size 64m --from d out.img",
            ),
            // Several at once; what is right stays.
            (
                "--rootdir d --size 5 G --fat FAT32 --verbose --timezone -03:00 -o out.img",
                "--from d --size 5G --fat-type 32 --verbose --timezone=-03:00 out.img",
            ),
        ] {
            let answer = format!("did you mean: mkfatimg {command}");
            assert_eq!(meant_by(&words(typed)), Some(answer), "{typed}");
        }
    }

    #[test]
    fn what_is_no_slip_or_has_no_one_meaning_is_not_answered() {
        for typed in [
            "--from d --size 5G out.img",
            "--from d",
            "out.img",
            "",
            "--help",
            "-V -o out.img",
            // The parser tells of these.
            "--from d --siez 5G out.img",
            "--from d --lable X out.img",
            "--from d --size 5X out.img",
            "--siez 5G -o out.img d",
            "--from d --size 5X -o out.img",
            "--from d --label twelve_chars -o out.img",
            // Two images, two sizes, no image.
            "--from d one.img two.img",
            "--from d -o one.img -o two.img",
            "--from d -o one.img two.img",
            "--size 5G -s 6g d out.img",
            "d e",
            // Flags and words of something else.
            "--from d -x out.img",
            "--from d --compress zstd out.img",
            "-t ext4 d out.img",
            "-F 64 d out.img",
            "-o fat_type=32,unknown=1 d out.img",
            "-i xyz d out.img",
            "-n",
            "verify out.img",
            "inspect out.img",
            "d verify",
            "verify --image out.img",
            "--dry-run=x d",
            "./rootfs -qo=out.img",
        ] {
            assert_eq!(meant_by(&words(typed)), None, "{typed}");
        }
    }

    /// Whatever slips meet, the answer is a command without slip.
    #[test]
    fn every_answer_is_accepted_and_has_no_slip() {
        let slips = [
            "d",
            "e",
            "-o out.img",
            "--output=",
            "out.img",
            "--size 5 G",
            "--size=5",
            "G",
            "-s 8",
            "-s 5g",
            "64M",
            "65536",
            "-C",
            "--fat FAT32",
            "-t msdos",
            "-F32",
            "-o fat_type=16",
            "--rootdir d",
            "--from d",
            "-S 4096",
            "-n LABEL",
            "-i",
            "--",
            "-qv",
            "--dry-run",
            "--timezone -1",
            "-f",
            "2",
            "-g 255/63",
            "-from",
            "\"it's\n\"",
            "verify",
        ];
        let mut answered = 0;
        for one in slips {
            for two in slips {
                for three in ["d", "--from d out.img"] {
                    let typed = words(&format!("{one} {two} {three}"));
                    let Some(answer) = mended(&typed, is_directory) else { continue };
                    assert!(Args::try_parse_from(&answer).is_ok(), "{typed:?}: {answer:?}");
                    assert_eq!(meant_by(&answer[1..]), None, "{typed:?}: {answer:?}");
                    answered += 1;
                }
            }
        }
        assert!(answered > 1000, "{answered}");
    }
}
