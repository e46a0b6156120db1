//! Byte counts as people type and read them.

/// Reads `5M`, `1G` or a bare number of bytes; the letters are powers of 1,024.
///
/// # Errors
/// When it is none of them.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KIB" => 10,
        "M" | "MIB" => 20,
        "G" | "GIB" => 30,
        unit => return Err(format!("{unit} is no unit; use K, M or G")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("{text} is no size; try 5M or 1G"))?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("{text} is more than 64 bits hold"))
}

/// The shortest exact form: `5 MiB`, `1536 KiB`, `17 B`.
pub fn show_bytes(bytes: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes > 0 && bytes.is_multiple_of(1_u64 << shift) {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::{parse_bytes, show_bytes};

    #[test]
    fn what_is_shown_is_read() {
        for (text, bytes) in [("17", 17), ("64K", 65_536), ("5M", 5 << 20), ("10g", 10 << 30)] {
            assert_eq!(parse_bytes(text), Ok(bytes));
            assert_eq!(parse_bytes(&show_bytes(bytes).replace(' ', "")), Ok(bytes));
        }
        for text in ["", "M", "5X", "-1", "99999999999G"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
