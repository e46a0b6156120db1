//! Source times as FAT stamps: ceiling, zone, range. Knows no clock.

use jiff::Timestamp;

use super::request::Times;
use crate::fat::time::{CivilTime, DosTime};
use crate::source::tree::Modified;

/// A stamp, and whether the time lay outside what FAT can store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) stored: DosTime,
    pub(super) clamped: bool,
}

/// The stamp of a node that was last changed at `modified`.
pub(super) fn stamp(modified: Modified, times: &Times) -> Stamp {
    let found = || {
        let nanoseconds = i32::try_from(modified.nanoseconds).unwrap_or(0);
        // Hosts can store times that lie beyond the calendar's ends.
        let end = if modified.seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
        Timestamp::new(modified.seconds, nanoseconds).unwrap_or(end)
    };
    let time = times.fixed.unwrap_or_else(found);
    let time = times.ceiling.map_or(time, |ceiling| time.min(ceiling));
    let civil = times.zone.to_datetime(time);
    // Jiff's fields are in the ranges that their names promise.
    let narrow = |field: i8| u8::try_from(field).unwrap_or(0);
    let stored = DosTime::from_civil(CivilTime {
        year: civil.year(),
        month: narrow(civil.month()),
        day: narrow(civil.day()),
        hour: narrow(civil.hour()),
        minute: narrow(civil.minute()),
        second: narrow(civil.second()),
    });
    Stamp { stored, clamped: i32::from(civil.year()) != i32::from(stored.year()) }
}

#[cfg(test)]
mod tests {
    use jiff::tz::{TimeZone, offset};

    use super::*;

    fn at(seconds: i64) -> Modified {
        Modified { seconds, nanoseconds: 999_999_999 }
    }

    #[test]
    fn times_round_down_and_go_no_later_than_the_ceiling() {
        let times = Times::default();
        // 2020-09-13 12:26:41 UTC
        let stored = stamp(at(1_600_000_001), &times).stored;
        assert_eq!(stored, DosTime { date: 0x512D, time: 0x6354 });
        let capped = Times { ceiling: Timestamp::from_second(1_600_000_000).ok(), ..times };
        assert_eq!(
            stamp(at(1_700_000_000), &capped).stored,
            DosTime { date: 0x512D, time: 0x6354 }
        );
        assert_eq!(stamp(at(1_500_000_000), &capped).stored.year(), 2017);
    }

    #[test]
    fn a_zone_moves_the_civil_time() {
        let times = Times { zone: TimeZone::fixed(offset(2)), ..Times::default() };
        assert_eq!(stamp(at(1_600_000_000), &times).stored, DosTime { date: 0x512D, time: 0x7354 });
    }

    #[test]
    fn times_outside_the_range_are_told() {
        for (seconds, stored) in [
            (0, DosTime::EARLIEST),
            (315_532_799, DosTime::EARLIEST),
            (4_354_819_200, DosTime::LATEST),
            (i64::MAX, DosTime::LATEST),
            (i64::MIN, DosTime::EARLIEST),
        ] {
            assert_eq!(stamp(at(seconds), &Times::default()), Stamp { stored, clamped: true });
        }
        let first = Stamp { stored: DosTime::EARLIEST, clamped: false };
        assert_eq!(stamp(at(315_532_800), &Times::default()), first);
    }
}
