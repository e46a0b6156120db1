//! Date and time as FAT stores them: local civil time, two-second steps, 1980 to 2107. Knows no
//! time zone and no clock.

/// A stamp as stored in a directory record. Ordered like time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DosTime {
    /// Years since 1980 in bits 9 to 15, month in 5 to 8, day in 0 to 4.
    pub date: u16,
    /// Hours in bits 11 to 15, minutes in 5 to 10, two-second steps in 0 to 4.
    pub time: u16,
}

/// A civil date and time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CivilTime {
    /// Any year.
    pub year: i16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31, legal in its month.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
}

impl DosTime {
    /// 1980-01-01 00:00:00.
    pub const EARLIEST: Self = Self { date: 0x0021, time: 0 };
    /// 2107-12-31 23:59:58.
    pub const LATEST: Self = Self { date: 0xFF9F, time: 0xBF7D };

    /// The stamp at or before `civil`, or the end of the range that lies nearest to it. Rounding
    /// up could reach the next day, so it never does.
    pub fn from_civil(civil: CivilTime) -> Self {
        let Ok(years) = u16::try_from(i32::from(civil.year) - 1980) else {
            return Self::EARLIEST;
        };
        if years > 127 {
            return Self::LATEST;
        }
        Self {
            date: years << 9 | u16::from(civil.month) << 5 | u16::from(civil.day),
            time: u16::from(civil.hour) << 11
                | u16::from(civil.minute) << 5
                | (u16::from(civil.second) / 2),
        }
    }

    /// Whether it is a day of the calendar and a time of day. A date of zero is none.
    pub fn is_real(self) -> bool {
        let (month, day) = (self.date >> 5 & 0x0F, self.date & 0x1F);
        let year = self.year();
        let leap =
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => 0,
        };
        let (hour, minute, half) = (self.time >> 11, self.time >> 5 & 0x3F, self.time & 0x1F);
        (1..=days).contains(&day) && hour < 24 && minute < 60 && half < 30
    }

    /// The year, 1980 to 2107.
    pub fn year(self) -> u16 {
        1980 + (self.date >> 9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(year: i16, month: u8, day: u8, hour: u8, minute: u8, second: u8) -> DosTime {
        DosTime::from_civil(CivilTime { year, month, day, hour, minute, second })
    }

    #[test]
    fn the_ends_of_the_range_are_the_known_bytes() {
        assert_eq!(stamp(1980, 1, 1, 0, 0, 0), DosTime::EARLIEST);
        assert_eq!(stamp(2107, 12, 31, 23, 59, 59), DosTime::LATEST);
        assert_eq!(stamp(2024, 2, 29, 13, 5, 7), DosTime { date: 0x585D, time: 0x68A3 });
    }

    #[test]
    fn years_outside_the_range_go_to_its_ends() {
        assert_eq!(stamp(1979, 12, 31, 23, 59, 59), DosTime::EARLIEST);
        assert_eq!(stamp(-9999, 1, 1, 0, 0, 0), DosTime::EARLIEST);
        assert_eq!(stamp(2108, 1, 1, 0, 0, 0), DosTime::LATEST);
    }

    #[test]
    fn days_that_do_not_exist_are_no_dates() {
        assert!(DosTime::EARLIEST.is_real() && DosTime::LATEST.is_real());
        assert!(stamp(2000, 2, 29, 0, 0, 0).is_real());
        assert!(!stamp(2100, 2, 29, 0, 0, 0).is_real());
        assert!(!stamp(2023, 2, 29, 0, 0, 0).is_real());
        assert!(!stamp(2023, 4, 31, 0, 0, 0).is_real());
        assert!(!DosTime { date: 0, time: 0 }.is_real());
        assert!(!DosTime { date: 0x0021, time: 30 }.is_real());
        assert!(!DosTime { date: 0x0021, time: 24 << 11 }.is_real());
    }
}
