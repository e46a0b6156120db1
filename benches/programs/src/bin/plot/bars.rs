//! The chart of ratios: a group of bars for each tree, one bar for each tool, on a logarithmic axis.

use mkfatimg_benches::results::Run;
use mkfatimg_benches::summary::{self, Row, three_digits};

use crate::axis::{LogAxis, mark_text};
use crate::svg::{Anchor, Drawing};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = 760.0;
const TOP: f64 = 84.0;
const BAR: f64 = 15.0;
const GAP: f64 = 14.0;

/// A tool on a tree.
struct Bar {
    tool: usize,
    ratio: f64,
    /// The tool was stopped; the ratio is what it would have been then.
    is_least: bool,
}

pub(crate) fn draw(runs: &[Run], reference: &str, leave_out: &[String]) -> Option<String> {
    let is_drawn = |tool: &str| tool != reference && !leave_out.iter().any(|name| name == tool);
    let names = runs.iter().map(|run| run.tool.as_str()).filter(|tool| is_drawn(tool));
    let tools = summary::in_order(names);
    let trees: Vec<(&str, Vec<Bar>)> = summary::in_order(runs.iter().map(|run| run.tree.as_str()))
        .into_iter()
        .map(|tree| {
            let of_tree: Vec<Run> = runs.iter().filter(|run| run.tree == tree).cloned().collect();
            (tree, bars(&summary::rows(&of_tree, reference), reference, &tools))
        })
        .collect();
    let ratios = trees.iter().flat_map(|(_, bars)| bars.iter().map(|bar| bar.ratio));
    let axis = LogAxis::over(ratios.chain([1.0]), LEFT, RIGHT)?;
    let groups: f64 = trees.iter().map(|(_, bars)| BAR * bars.len() as f64 + GAP).sum();
    let bottom = TOP + GAP + groups;

    let title = format!("Time to make an image, as a ratio to the {reference}");
    let mut drawing = Drawing::new(WIDTH, bottom + 56.0, &title);
    drawing.legend(16.0, 54.0, &tools);
    for mark in axis.marks() {
        let x = axis.place(mark);
        drawing.grid_line((x, TOP), (x, bottom));
        drawing.soft_text(x, bottom + 18.0, Anchor::Middle, &mark_text(mark));
    }
    let mut y = TOP + GAP;
    for (tree, bars) in &trees {
        let middle = y + BAR * bars.len() as f64 / 2.0;
        drawing.text(LEFT - 10.0, middle + 4.0, Anchor::End, tree);
        for bar in bars {
            draw_bar(&mut drawing, &axis, bar, y);
            y += BAR;
        }
        y += GAP;
    }
    let one = axis.place(1.0);
    drawing.frame_line((one, TOP), (one, bottom));
    drawing.frame_line((LEFT, bottom), (RIGHT, bottom));
    let unit = format!(
        "wall time / wall time of the {reference}, logarithmic; median of the rounds; further left is faster"
    );
    drawing.soft_text(f64::midpoint(LEFT, RIGHT), bottom + 42.0, Anchor::Middle, &unit);
    Some(drawing.finish())
}

/// From 1, the reference, to the ratio: to the left for what is faster.
fn draw_bar(drawing: &mut Drawing, axis: &LogAxis, bar: &Bar, y: f64) {
    let (one, end) = (axis.place(1.0), axis.place(bar.ratio));
    let width = (end - one).abs().max(1.0);
    drawing.bar(one.min(end), y + 1.0, (width, BAR - 2.0), bar.tool, bar.is_least);
    let value = three_digits(bar.ratio);
    let value = if bar.is_least { format!("over {value}") } else { value };
    drawing.text(one.max(end) + 5.0, y + BAR - 3.0, Anchor::Start, &value);
}

fn bars(rows: &[Row], reference: &str, tools: &[&str]) -> Vec<Bar> {
    let base = rows.iter().find(|row| row.tool == reference).and_then(|row| row.wall_seconds);
    rows.iter()
        .filter(|row| !row.is_failed)
        .filter_map(|row| {
            let tool = tools.iter().position(|tool| *tool == row.tool)?;
            Some(match row.over_seconds {
                Some(seconds) => Bar { tool, ratio: seconds / base?.median, is_least: true },
                None => Bar { tool, ratio: row.ratio?.median, is_least: false },
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::draw;
    use mkfatimg_benches::results::{Cost, Outcome, Run};

    #[test]
    fn each_tool_has_a_bar_with_its_value() {
        let cost = |wall_seconds| Cost { wall_seconds, cpu_seconds: 0.1, peak_bytes: 1 };
        let run = |tool: &str, outcome| Run {
            tree: "a<b".into(),
            amount: 0,
            tool: tool.into(),
            round: 1,
            outcome,
        };
        let runs = [
            run("ours", Outcome::Done(cost(3.0))),
            run("slow", Outcome::Over(60.0)),
            run("limit", Outcome::Done(cost(2.0))),
        ];
        let drawn = draw(&runs, "limit", &[]).unwrap();
        assert!(drawn.contains(">1.50</text>"), "{drawn}");
        assert!(drawn.contains(">over 30.0</text>"), "{drawn}");
        assert!(drawn.contains("a&lt;b") && !drawn.contains("a<b"));
        assert!(draw(&runs, "nobody", &[]).is_some_and(|drawn| !drawn.contains("1.50")));
    }
}
