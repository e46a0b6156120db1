//! A logarithmic axis: from numbers to places, and the numbers that are written at it.

/// An axis from one place to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogAxis {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl LogAxis {
    /// Spans `numbers` and ends at round ones; `None` unless all are above zero.
    pub(crate) fn over(numbers: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for number in numbers {
            (least, most) = (least.min(number), most.max(number));
        }
        if !(least > 0.0 && most < f64::INFINITY && least <= most) {
            return None;
        }
        Some(Self { least: round_down(least), most: round_up(most), from, to })
    }

    /// Where `number` is; outside the span, at its end.
    pub(crate) fn place(&self, number: f64) -> f64 {
        let part = (number / self.least).ln() / (self.most / self.least).ln();
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// 1, 2 and 5 times the powers of ten, or the powers only where these are many.
    pub(crate) fn marks(&self) -> Vec<f64> {
        let decades = (self.most / self.least).log10();
        let steps: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let first = self.least.log10().floor() as i32;
        let last = self.most.log10().ceil() as i32;
        (first..=last)
            .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
            .filter(|mark| (self.least * 0.999..=self.most * 1.001).contains(mark))
            .collect()
    }
}

fn round_down(number: f64) -> f64 {
    let power = 10_f64.powf(number.log10().floor());
    [5.0, 2.0, 1.0]
        .into_iter()
        .map(|step| step * power)
        .find(|round| *round <= number)
        .unwrap_or(power)
}

/// Above `number`, so that the axis is never without length.
fn round_up(number: f64) -> f64 {
    let power = 10_f64.powf(number.log10().floor());
    [2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|round| *round > number)
        .unwrap_or(power * 10.0)
}

/// A number at an axis: `0.5`, `20`, `1k`, `3M`.
pub(crate) fn mark_text(number: f64) -> String {
    for (unit, letter) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if number >= unit * 0.999 {
            return format!("{}{letter}", trimmed(number / unit));
        }
    }
    trimmed(number)
}

fn trimmed(number: f64) -> String {
    let digits = format!("{number:.4}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{LogAxis, mark_text};

    #[test]
    fn the_axis_ends_at_round_numbers() {
        let axis = LogAxis::over([0.9, 77.0].into_iter(), 0.0, 100.0).unwrap();
        assert_eq!(axis.marks(), [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!((axis.place(0.5), axis.place(100.0), axis.place(1e9)), (0.0, 100.0, 100.0));
        assert!(LogAxis::over([0.0].into_iter(), 0.0, 1.0).is_none());
        assert!(LogAxis::over(std::iter::empty(), 0.0, 1.0).is_none());
    }

    #[test]
    fn marks_are_short() {
        let shown = [0.05, 2.0, 1000.0, 2e6, 4e9].map(mark_text);
        assert_eq!(shown, ["0.05", "2", "1k", "2M", "4G"]);
    }
}
