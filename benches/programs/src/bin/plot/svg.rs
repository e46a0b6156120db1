//! SVG text with few kinds of element. Knows no data. The drawing has a ground of its own, so that it
//! can be read on any page; where the reader's colours are dark, so are its own.

use std::fmt::Write;

/// Colours that stay apart for those who see no red or no green (Okabe and Ito), one a series.
const SERIES: [&str; 6] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"];

const STYLE: &str = "\
.ground{fill:#fff}.ink{fill:#222}.soft{fill:#555}.frame{stroke:#555}.grid{stroke:#ddd}\
@media(prefers-color-scheme:dark){.ground{fill:#16181c}.ink{fill:#eee}.soft{fill:#b5b5b5}\
.frame{stroke:#aaa}.grid{stroke:#3a3d42}}";

/// Where a text is held.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing in the making; lengths are pixels.
#[derive(Debug)]
pub(crate) struct Drawing {
    body: String,
}

impl Drawing {
    /// `title` is drawn, and is what programs that read aloud say.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        let title = escaped(title);
        let body = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\" \
             role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n\
             <text class=\"ink\" x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"bold\">{title}\
             </text>\n"
        );
        Self { body }
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.put_text(x, y, anchor, "ink", "", text);
    }

    /// Less in the foreground: units and numbers at an axis.
    pub(crate) fn soft_text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.put_text(x, y, anchor, "soft", "", text);
    }

    /// From bottom to top, as beside an upright axis.
    pub(crate) fn upright_text(&mut self, x: f64, y: f64, text: &str) {
        let turned = format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"");
        self.put_text(x, y, Anchor::Middle, "soft", &turned, text);
    }

    pub(crate) fn bar(&mut self, left: f64, top: f64, size: (f64, f64), series: usize, pale: bool) {
        let opacity = if pale { " fill-opacity=\"0.45\"" } else { "" };
        let (width, height) = size;
        self.line_of_body(format_args!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{}\"{opacity}/>",
            colour(series)
        ));
    }

    pub(crate) fn grid_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.straight("grid", from, to);
    }

    pub(crate) fn frame_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.straight("frame", from, to);
    }

    /// A line through `points` with a dot at each.
    pub(crate) fn curve(&mut self, points: &[(f64, f64)], series: usize) {
        let colour = colour(series);
        let joined: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.line_of_body(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            joined.join(" ")
        ));
        for (x, y) in points {
            self.line_of_body(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"
            ));
        }
    }

    /// Names of the series in one row.
    pub(crate) fn legend(&mut self, left: f64, y: f64, names: &[&str]) {
        let mut x = left;
        for (series, name) in names.iter().enumerate() {
            self.bar(x, y - 10.0, (12.0, 12.0), series, false);
            self.text(x + 18.0, y, Anchor::Start, name);
            x += 42.0 + 7.2 * name.chars().count() as f64;
        }
    }

    pub(crate) fn finish(mut self) -> String {
        self.body += "</svg>\n";
        self.body
    }

    fn straight(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.line_of_body(format_args!(
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    fn put_text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, more: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.line_of_body(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{more}>{}\
             </text>",
            escaped(text)
        ));
    }

    fn line_of_body(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{line}");
    }
}

fn colour(series: usize) -> &'static str {
    SERIES[series % SERIES.len()]
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
