//! Arithmetic on byte and sector counts that cannot wrap. Knows no meaning of the numbers.

/// The least multiple of `step` that is not below `value`; `None` past `u64::MAX` or for a `step` of 0.
pub fn align_up(value: u64, step: u64) -> Option<u64> {
    value.checked_next_multiple_of(step)
}

/// `part` percent of `whole`, rounded up.
pub fn percent_of(whole: u64, part: u8) -> u64 {
    let scaled = (u128::from(whole) * u128::from(part)).div_ceil(100);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// `bytes` as it can be typed for a size: with the largest binary suffix that loses nothing.
pub fn as_typed(bytes: u64) -> String {
    for (shift, suffix) in [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')] {
        if bytes > 0 && bytes.trailing_zeros() >= shift {
            return format!("{}{suffix}", bytes >> shift);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligning_goes_up_to_the_next_multiple_only() {
        assert_eq!(align_up(0, 8), Some(0));
        assert_eq!(align_up(1, 8), Some(8));
        assert_eq!(align_up(8, 8), Some(8));
        assert_eq!(align_up(u64::MAX, 2), None);
        assert_eq!(align_up(1, 0), None);
    }

    #[test]
    fn sizes_are_shown_as_they_can_be_typed() {
        assert_eq!(as_typed(5 << 30), "5G");
        assert_eq!(as_typed(1_474_560), "1440K");
        assert_eq!(as_typed(1000), "1000");
        assert_eq!(as_typed(0), "0");
    }

    #[test]
    fn a_percentage_rounds_up() {
        assert_eq!(percent_of(200, 10), 20);
        assert_eq!(percent_of(201, 10), 21);
        assert_eq!(percent_of(u64::MAX, 99), 18_262_276_632_972_456_099);
    }
}
