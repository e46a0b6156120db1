//! The chart of growth: seconds, and beside them peak memory, against how much there is, both axes
//! logarithmic, so that what is linear is straight and rises by one decade in each decade.

use mkfatimg_benches::results::Run;
use mkfatimg_benches::summary;

use crate::axis::{LogAxis, mark_text};
use crate::svg::{Anchor, Drawing};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 400.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 330.0;

/// A point of each tool, amount first.
type Series = Vec<(f64, f64)>;

pub(crate) fn draw(runs: &[Run], tree: &str, unit: &str) -> Option<String> {
    let runs: Vec<Run> = runs.iter().filter(|run| run.tree == tree).cloned().collect();
    let tools = summary::in_order(runs.iter().map(|run| run.tool.as_str()));
    let mut amounts: Vec<u64> = runs.iter().map(|run| run.amount).collect();
    amounts.sort_unstable();
    amounts.dedup();
    let (mut seconds, mut mebibytes) =
        (vec![Series::new(); tools.len()], vec![Series::new(); tools.len()]);
    for amount in amounts {
        let same: Vec<Run> = runs.iter().filter(|run| run.amount == amount).cloned().collect();
        for row in summary::rows(&same, "") {
            let series = tools.iter().position(|tool| *tool == row.tool)?;
            let amount = amount as f64;
            if let (Some(wall), Some(peak_bytes)) = (row.wall_seconds, row.peak_bytes) {
                seconds[series].push((amount, wall.median));
                mebibytes[series].push((amount, peak_bytes as f64 / f64::from(1 << 20)));
            }
        }
    }
    let mut drawing = Drawing::new(WIDTH, HEIGHT, &format!("Time and memory against {tree}"));
    drawing.legend(16.0, 54.0, &tools);
    panel(&mut drawing, (76.0, 410.0), unit, "seconds, median", &seconds)?;
    panel(&mut drawing, (506.0, 840.0), unit, "peak memory, MiB", &mebibytes)?;
    Some(drawing.finish())
}

fn panel(
    drawing: &mut Drawing,
    (left, right): (f64, f64),
    across: &str,
    up: &str,
    all: &[Series],
) -> Option<()> {
    let points = || all.iter().flatten();
    let x_axis = LogAxis::over(points().map(|point| point.0), left, right)?;
    let y_axis = LogAxis::over(points().map(|point| point.1), BOTTOM, TOP)?;
    for mark in x_axis.marks() {
        let x = x_axis.place(mark);
        drawing.grid_line((x, TOP), (x, BOTTOM));
        drawing.soft_text(x, BOTTOM + 18.0, Anchor::Middle, &mark_text(mark));
    }
    for mark in y_axis.marks() {
        let y = y_axis.place(mark);
        drawing.grid_line((left, y), (right, y));
        drawing.soft_text(left - 6.0, y + 4.0, Anchor::End, &mark_text(mark));
    }
    drawing.frame_line((left, TOP), (left, BOTTOM));
    drawing.frame_line((left, BOTTOM), (right, BOTTOM));
    drawing.soft_text(f64::midpoint(left, right), BOTTOM + 42.0, Anchor::Middle, across);
    drawing.upright_text(left - 52.0, f64::midpoint(TOP, BOTTOM), up);
    for (series, points) in all.iter().enumerate() {
        let places: Vec<(f64, f64)> =
            points.iter().map(|(x, y)| (x_axis.place(*x), y_axis.place(*y))).collect();
        drawing.curve(&places, series);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::draw;
    use mkfatimg_benches::results::{Cost, Outcome, Run};

    #[test]
    fn a_point_is_drawn_for_each_amount_in_both_panels() {
        let runs: Vec<Run> = [10_000, 100_000, 1_000_000]
            .into_iter()
            .map(|amount| Run {
                tree: "files".into(),
                amount,
                tool: "mkfatimg".into(),
                round: 1,
                outcome: Outcome::Done(Cost {
                    wall_seconds: amount as f64 / 1e5,
                    cpu_seconds: 0.1,
                    peak_bytes: amount * 200,
                }),
            })
            .collect();
        let drawn = draw(&runs, "files", "files").unwrap();
        assert_eq!(drawn.matches("<circle").count(), 6);
        assert!(draw(&runs, "names", "names").is_none());
    }
}
