//! What each kind of tree looks like: names, sizes, how they hang together. Knows no disk.

use std::fmt;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::maker::Maker;

const GIB: u64 = 1 << 30;
/// More names of 25 letters, three records each, do not fit the 65,536 records of a directory.
const MOST_IN_ONE_DIRECTORY: u64 = 21_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// 6,000 files of all sizes in 600 directories, 1 GB, two thirds of it in seven files
    Livecd,
    /// The same at 5 GB; the seven have 180 to 900 MB
    #[value(name = "livecd-5g")]
    Livecd5g,
    /// 50,000 files of 0 to 16 KB in 1,000 directories
    Small,
    /// Two files of 2 GiB
    Huge,
    /// One file of 3 GiB with 16 MiB of data in 16 pieces
    Sparse,
    /// 20,000 files of 1 KB in one directory; the names share their first sixteen letters
    Alike,
    /// The same; the first six letters differ
    Differing,
    /// 100,000 files and directories, up to forty levels deep, most of the files empty or tiny
    Deep,
    /// --count files of 1 KB, 100 in a directory
    Many,
    /// --count files of 1 KB in as few directories as hold them; the names are alike
    Names,
    /// --count files of 100 MB
    Bulk,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

/// A kind with the numbers that were asked for.
#[derive(Debug)]
pub(crate) struct Wish {
    kind: Kind,
    count: u64,
    scale: f64,
}

impl Wish {
    pub(crate) fn new(kind: Kind, count: Option<u64>, scale: f64) -> Result<Self> {
        let fixed = match kind {
            Kind::Livecd | Kind::Livecd5g => Some(6_000),
            Kind::Small => Some(50_000),
            Kind::Alike | Kind::Differing => Some(20_000),
            Kind::Deep => Some(100_000),
            Kind::Huge | Kind::Sparse => Some(0),
            Kind::Many | Kind::Names | Kind::Bulk => None,
        };
        let count = match (fixed, count) {
            (Some(fixed), None) => fixed,
            (None, Some(count)) => count,
            (Some(_), Some(_)) => {
                bail!("--count does not go with {kind}; --scale makes it smaller")
            }
            (None, None) => bail!("{kind} needs --count"),
        };
        Ok(Self { kind, count, scale })
    }

    pub(crate) fn make(&self, maker: &mut Maker) -> Result<()> {
        match self.kind {
            Kind::Livecd => self.livecd(maker, 1_000_000_000),
            Kind::Livecd5g => self.livecd(maker, 5_000_000_000),
            Kind::Small => self.small(maker),
            Kind::Huge => (0..2).try_for_each(|number| {
                maker.file(&format!("volume-{number}.img"), self.scaled(2 * GIB))
            }),
            Kind::Sparse => {
                maker.sparse_file("sparse.img", self.scaled(3 * GIB), 16, self.scaled(1 << 20))
            }
            Kind::Alike => {
                self.one_directory(maker, |number| format!("firmware-object-{number:06}.fw"))
            }
            Kind::Differing => {
                self.one_directory(maker, |number| format!("{number:06}-firmware-object.fw"))
            }
            Kind::Deep => self.deep(maker),
            Kind::Many => self.many(maker),
            Kind::Names => self.names(maker),
            Kind::Bulk => {
                let size_bytes = self.scaled(100_000_000);
                (0..self.count)
                    .try_for_each(|number| maker.file(&format!("part-{number:04}.bin"), size_bytes))
            }
        }
    }

    /// At least 1.
    fn scaled(&self, number: u64) -> u64 {
        ((number as f64 * self.scale) as u64).max(1)
    }

    fn livecd(&self, maker: &mut Maker, full_bytes: u64) -> Result<()> {
        let total_bytes = self.scaled(full_bytes);
        let directories = random_directories(maker, self.scaled(600))?;
        // 18 % of all bytes in the largest, 3.6 % in the seventh: 65 % in all of them.
        let large: Vec<u64> = (0..7)
            .map(|rank| (total_bytes as f64 * 0.18 * 0.2_f64.powf(f64::from(rank) / 6.0)) as u64)
            .collect();
        let others = self.scaled(self.count).saturating_sub(large.len() as u64).max(7);
        let rest_bytes = total_bytes - large.iter().sum::<u64>();
        let empty = others.div_ceil(100);
        let mut sizes = log_normal_sizes(maker, others - empty, rest_bytes, total_bytes / 50);
        sizes.extend((0..empty).map(|_| 0));
        sizes.extend(large);
        maker.random.shuffle(&mut sizes);
        for (number, size_bytes) in sizes.into_iter().enumerate() {
            let directory = &directories[maker.random.place(directories.len())];
            let name = file_name(maker, number);
            maker.file(&format!("{directory}{name}"), size_bytes)?;
        }
        Ok(())
    }

    fn small(&self, maker: &mut Maker) -> Result<()> {
        let directories = random_directories(maker, self.scaled(1_000))?;
        for number in 0..self.scaled(self.count) as usize {
            // The first is the root, which stays without.
            let directory = &directories[1 + number % (directories.len() - 1)];
            let name = file_name(maker, number);
            let size_bytes = maker.random.below((16 << 10) + 1);
            maker.file(&format!("{directory}{name}"), size_bytes)?;
        }
        Ok(())
    }

    fn one_directory(&self, maker: &mut Maker, name: impl Fn(u64) -> String) -> Result<()> {
        maker.directory("objects")?;
        (0..self.scaled(self.count))
            .try_for_each(|number| maker.file(&format!("objects/{}", name(number)), 1024))
    }

    /// Chains of forty directories, four files in each.
    fn deep(&self, maker: &mut Maker) -> Result<()> {
        let mut rest = self.scaled(self.count);
        for chain in 0_u64.. {
            let mut path = format!("chain-{chain:03}");
            for level in 0..40 {
                if rest == 0 {
                    return Ok(());
                }
                if level > 0 {
                    path += &format!("/d{level:02}");
                }
                maker.directory(&path)?;
                rest -= 1;
                for leaf in 0..rest.min(4) {
                    let size_bytes = if leaf < 2 { 0 } else { maker.random.below(512) };
                    maker.file(&format!("{path}/settings-{leaf}.conf"), size_bytes)?;
                    rest -= 1;
                }
            }
        }
        Ok(())
    }

    fn many(&self, maker: &mut Maker) -> Result<()> {
        for number in 0..self.scaled(self.count) {
            let (outer, inner) = (number / 10_000, number / 100 % 100);
            if number % 10_000 == 0 {
                maker.directory(&format!("group-{outer:03}"))?;
            }
            if number % 100 == 0 {
                maker.directory(&format!("group-{outer:03}/part-{inner:02}"))?;
            }
            maker
                .file(&format!("group-{outer:03}/part-{inner:02}/record-{number:07}.dat"), 1024)?;
        }
        Ok(())
    }

    fn names(&self, maker: &mut Maker) -> Result<()> {
        for number in 0..self.scaled(self.count) {
            let directory = format!("objects-{}", number / MOST_IN_ONE_DIRECTORY);
            if number % MOST_IN_ONE_DIRECTORY == 0 {
                maker.directory(&directory)?;
            }
            maker.file(&format!("{directory}/firmware-object-{number:06}.fw"), 1024)?;
        }
        Ok(())
    }
}

/// `count` sizes of a log-normal distribution with a median of 13 KB, none above `most_bytes`, whose
/// spread is what makes them `total_bytes` together.
fn log_normal_sizes(maker: &mut Maker, count: u64, total_bytes: u64, most_bytes: u64) -> Vec<u64> {
    let deviations: Vec<f64> = (0..count).map(|_| maker.random.normal()).collect();
    let sizes = |spread: f64| {
        let size =
            move |deviation: &f64| ((13_000.0 * (spread * deviation).exp()) as u64).min(most_bytes);
        deviations.iter().map(size).collect::<Vec<u64>>()
    };
    let (mut low, mut high) = (0.0, 6.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if sizes(middle).iter().sum::<u64>() < total_bytes { low = middle } else { high = middle }
    }
    let mut found = sizes(low);
    // What rounding, or a tree too small for its shape, left over.
    let missing_bytes = total_bytes.saturating_sub(found.iter().sum());
    if let Some(first) = found.first_mut() {
        *first += missing_bytes;
    }
    found
}

/// The root, as an empty string, and `count` directories below it, up to seven levels deep; each
/// ends in a slash.
fn random_directories(maker: &mut Maker, count: u64) -> Result<Vec<String>> {
    let mut made = vec![String::new()];
    for number in 0..count {
        let parent = loop {
            let parent = &made[maker.random.place(made.len())];
            if parent.matches('/').count() < 7 {
                break parent.clone();
            }
        };
        let word = WORDS[maker.random.place(WORDS.len())];
        let path = match number % 4 {
            0 => format!("{parent}{word}{number}"),
            1 => format!("{parent}{}_{number}", word.to_uppercase()),
            _ => format!("{parent}{word}-of-the-system-{number}"),
        };
        maker.directory(&path)?;
        made.push(path + "/");
    }
    Ok(made)
}

/// A name that no other file has, in any spelling: a fifth are short names in small letters, a tenth
/// in capitals, the others long ones.
fn file_name(maker: &mut Maker, number: usize) -> String {
    let extension = EXTENSIONS[maker.random.place(EXTENSIONS.len())];
    match maker.random.below(10) {
        0 | 1 => format!("f{number:06}.{extension}"),
        2 => format!("F{number:06}.{}", extension.to_uppercase()),
        _ => {
            let parts = 1 + maker.random.below(4);
            let separator = ["-", "_", " ", "."][maker.random.place(4)];
            let mut name = String::new();
            for _ in 0..parts {
                name += WORDS[maker.random.place(WORDS.len())];
                name += separator;
            }
            format!("{name}{number}.{extension}")
        }
    }
}

const WORDS: [&str; 24] = [
    "boot", "codec", "daemon", "edge", "filter", "glyph", "handler", "input", "journal", "keymap",
    "locale", "module", "notify", "object", "package", "query", "render", "schema", "target",
    "update", "vector", "widget", "xserver", "Zone",
];

const EXTENSIONS: [&str; 12] =
    ["so", "ko", "png", "svg", "mo", "xml", "py", "gz", "txt", "cfg", "ttf", "h"];
