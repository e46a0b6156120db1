//! Sizes as people type them: `5G`, `512MiB`, `64Mi`, `1440K`, `5GB`.

/// Bytes of a size: a whole number, with `K`, `M`, `G` or `T` (also `KiB`, `Ki`) for powers of 1024, with
/// `KB` and so on for powers of 1000. Case is ignored.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, suffix) = text.split_at(digits);
    if number.is_empty() {
        return Err("a size is a whole number with an optional K, M, G or T".to_owned());
    }
    let unit = suffix.to_ascii_lowercase();
    let (letter, base) = match unit.as_bytes() {
        [] | [b'b'] => (b'b', 1024_u64),
        // A byte has no multiples of its own.
        [b'b', ..] => (b'?', 0),
        [letter] | [letter, b'i'] | [letter, b'i', b'b'] => (*letter, 1024),
        [letter, b'b'] => (*letter, 1000),
        _ => (b'?', 0),
    };
    let power = match letter {
        b'b' => 0,
        b'k' => 1,
        b'm' => 2,
        b'g' => 3,
        b't' => 4,
        _ if suffix.starts_with('.') => {
            return Err("whole numbers only; 1536M is one and a half G".to_owned());
        }
        _ => return Err(format!("unknown unit {suffix:?}; use K, M, G or T")),
    };
    number
        .parse::<u64>()
        .ok()
        .zip(base.checked_pow(power))
        .and_then(|(number, unit)| number.checked_mul(unit))
        .ok_or_else(|| "more than 16 EiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn binary_and_decimal_units_differ() {
        for (text, bytes) in [
            ("5G", 5 << 30),
            ("5g", 5 << 30),
            ("5GiB", 5 << 30),
            ("64Mi", 64 << 20),
            ("5GB", 5_000_000_000),
            ("1440k", 1_474_560),
            ("512", 512),
            ("512B", 512),
            ("2T", 2 << 40),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "",
            "-5",
            "abc",
            "5X",
            "5 G",
            "1.5G",
            "0x10",
            "G",
            "5GiBs",
            "5iB",
            "5i",
            "5Bi",
            "17179869184G",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
