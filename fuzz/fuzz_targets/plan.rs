//! A plan of any tree under any wish: refused with reasons, or an image whose segments cover it and in
//! whose structure the check finds nothing.
#![no_main]

use std::io;

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use mkfatimg::disk::Scheme;
use mkfatimg::fat::kind::FatKind;
use mkfatimg::fat::label::Label;
use mkfatimg::image::{Body, Image, Segment};
use mkfatimg::plan::request::{
    AttributeWishes, Clash, DiskWish, Format, Free, ImageSize, InvalidNames, LabelWish, Names,
    TableWish,
};
use mkfatimg::plan::{Plan, Request};
use mkfatimg::source::made::{self, Made};
use mkfatimg::verify::bytes::ImageBytes;
use mkfatimg::verify::part::Part;
use mkfatimg::verify::{Findings, structure};

/// A larger image is planned and cut, but not looked at: its FAT alone takes too long.
const MOST_CHECKED_BYTES: u64 = 256 << 20;

#[derive(Debug)]
struct Case {
    entries: Vec<Made>,
    request: Request,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        // The wish first: it is short, and what is left is entries.
        let request = request(u)?;
        let mut entries = Vec::new();
        while !u.is_empty() && entries.len() < 2000 {
            entries.push(entry(u)?);
        }
        Ok(Self { entries, request })
    }
}

fn entry(u: &mut Unstructured<'_>) -> Result<Made> {
    let name = match u.int_in_range(0..=7)? {
        0 => u.arbitrary::<&[u8]>()?.to_vec(),
        1 => u.arbitrary::<&str>()?.as_bytes().to_vec(),
        2 => u.arbitrary::<char>()?.to_string().into_bytes(),
        // Names that meet.
        3 => format!("look alike {}.txt", u.arbitrary::<u8>()?).into_bytes(),
        4 => vec![b'a' + u.int_in_range(0..=3)?; u.int_in_range(1..=300)?],
        5 => format!("FILE~{}", u.arbitrary::<u8>()?).into_bytes(),
        6 => vec![*u.choose(b"abcABC")?, b'.', *u.choose(b"abcABC")?],
        _ => u.arbitrary::<u16>()?.to_string().into_bytes(),
    };
    let size_bytes = match u.int_in_range(0..=5)? {
        0 | 1 => None,
        2 => Some(u64::from(u.arbitrary::<u8>()?)),
        3 => Some(u64::from(u.arbitrary::<u16>()?)),
        4 => Some(u64::from(u.arbitrary::<u32>()? >> u.int_in_range(0..=31)?)),
        _ => Some(u.arbitrary::<u64>()? >> u.int_in_range(0..=63)?),
    };
    Ok(Made {
        directory: u.int_in_range(0..=15)?,
        name,
        size_bytes,
        read_only: u.arbitrary()?,
        modified_seconds: u.arbitrary::<i64>()? >> u.int_in_range(0..=63)?,
    })
}

/// Wishes in the ranges that [`Format`] and [`TableWish`] state.
fn request(u: &mut Unstructured<'_>) -> Result<Request> {
    let sector_bytes = 512 << u.int_in_range(0..=3)?;
    let power = |u: &mut Unstructured<'_>, from: u32, to: u32| -> Result<u32> {
        Ok(1 << u.int_in_range(from..=to)?)
    };
    let label = Label::new(u.arbitrary::<&str>()?).ok();
    let cluster_bytes = match u.arbitrary()? {
        true => Some(u32::from(sector_bytes) << u.int_in_range(0..=7)?).filter(|b| *b <= 65_536),
        false => None,
    };
    let align_bytes = match u.arbitrary()? {
        true => Some(power(u, 9, 24)?.max(sector_bytes.into())),
        false => None,
    };
    let some = |u: &mut Unstructured<'_>, from: u16, to: u16| -> Result<Option<u16>> {
        Ok(if u.arbitrary()? { Some(u.int_in_range(from..=to)?) } else { None })
    };
    let format = Format {
        kind: if u.arbitrary()? { Some(*u.choose(&FatKind::ALL)?) } else { None },
        cluster_bytes,
        sector_bytes,
        fat_count: some(u, 1, 2)?.map(|count| count as u8),
        root_entries: some(u, 1, u16::MAX)?,
        reserved_sectors: some(u, 1, u16::MAX)?,
        align_bytes,
        media: if u.arbitrary()? { Some(*u.choose(&[0xF0, 0xF8, 0xF9, 0xFF])?) } else { None },
        heads: some(u, 1, 255)?,
        sectors_per_track: some(u, 1, 63)?,
        hidden_sectors: if u.arbitrary()? { Some(u.arbitrary()?) } else { None },
        label: label.map(|label| LabelWish { label, made_capital: false }),
        volume_id: if u.arbitrary()? { Some(u.arbitrary()?) } else { None },
        ..Format::default()
    };
    let size = match u.int_in_range(0..=3)? {
        0 | 1 => ImageSize::Auto,
        2 => ImageSize::Bytes(u64::from(sector_bytes) * u64::from(u.arbitrary::<u16>()?)),
        _ => ImageSize::Bytes(u.arbitrary::<u64>()? >> u.int_in_range(16..=63)?),
    };
    let free = match u.int_in_range(0..=2)? {
        0 => Free::default(),
        1 => Free::Percent(u.int_in_range(0..=99)?),
        _ => Free::Bytes(u.arbitrary::<u64>()? >> u.int_in_range(20..=63)?),
    };
    let disk = match u.int_in_range(0..=4)? {
        0 | 1 => DiskWish::None,
        2 => DiskWish::Within {
            start_bytes: u64::from(sector_bytes) * u64::from(u.arbitrary::<u32>()?),
        },
        table => {
            let scheme = if table == 3 { Scheme::Mbr } else { Scheme::Gpt };
            let start_bytes = match u.arbitrary()? {
                true => Some(u64::from(sector_bytes) * u64::from(u.arbitrary::<u32>()?)),
                false => None,
            };
            DiskWish::Table(TableWish { start_bytes, ..TableWish::of(scheme) })
        }
    };
    Ok(Request {
        size,
        free,
        format,
        disk,
        names: Names {
            always_long: u.arbitrary()?,
            windows_safe: u.arbitrary()?,
            invalid: *u.choose(&[
                InvalidNames::Error,
                InvalidNames::Replace,
                InvalidNames::Skip,
            ])?,
            clash: *u.choose(&[Clash::Error, Clash::Skip, Clash::Rename])?,
        },
        attributes: AttributeWishes { keep_read_only: u.arbitrary()?, ..Default::default() },
        ..Request::default()
    })
}

fuzz_target!(|case: Case| {
    let tree = made::tree(case.entries);
    match Plan::new(tree, &case.request) {
        Err(problems) => {
            let told = problems.to_string();
            assert!(!told.is_empty() && !told.contains(|c: char| c.is_control() && c != '\n'));
        }
        Ok(plan) => look(&plan, &case.request),
    }
});

fn look(plan: &Plan, request: &Request) {
    let image = Image::of(plan);
    let segments: Vec<Segment> = image.segments().collect();
    let end = segments.iter().fold(0, |at, segment| {
        assert_eq!(segment.at, at);
        at + segment.len
    });
    assert_eq!(end, plan.image_bytes());
    if let ImageSize::Bytes(bytes) = request.size {
        assert_eq!(end, bytes);
    }
    if end > MOST_CHECKED_BYTES {
        return;
    }
    let rendered = Rendered { image, segments, len: end };
    let volume = Part::new(&rendered, plan.volume_at_byte(), plan.geometry().volume_bytes());
    let volume = volume.expect("the length is known");
    let mut findings = Findings::default();
    let survey = structure::check(&volume, &(), &mut findings).expect("it can be read");
    assert!(findings.is_empty(), "{:?}", findings.kept());
    let survey = survey.expect("nothing is wrong");
    assert_eq!(survey.files, plan.totals().files);
    assert_eq!(survey.directories, plan.totals().directories);
    assert_eq!(survey.used_clusters, plan.totals().used_clusters);
}

/// The image as bytes, rendered where it is asked for; contents are zeros.
struct Rendered<'a> {
    image: Image<'a>,
    segments: Vec<Segment>,
    len: u64,
}

impl ImageBytes for Rendered<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        if at + buffer.len() as u64 > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer.fill(0);
        let mut from = at;
        let mut rest = buffer;
        let first = self.segments.partition_point(|segment| segment.at + segment.len <= at);
        for segment in &self.segments[first..] {
            let count = (segment.at + segment.len - from).min(rest.len() as u64);
            let (now, later) = rest.split_at_mut(count as usize);
            if let Body::Meta(meta) = segment.body {
                self.image.render(meta, from - segment.at, now);
            }
            rest = later;
            from += count;
            if rest.is_empty() {
                break;
            }
        }
        Ok(())
    }
}
