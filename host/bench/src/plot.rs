//! Charts as SVG, with a linear x axis and a logarithmic y axis.

use std::fmt::Write as _;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 48.0;
const N_TICKS: u32 = 5;
const COLOURS: [&str; 8] =
    ["#1b6ca8", "#d1495b", "#2e933c", "#8f5db7", "#e08e1b", "#4d4d4d", "#12939a", "#b5651d"];

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) x_label: String,
    pub(super) y_label: String,
    pub(super) lines: Vec<Line>,
    /// A highlighted range of x.
    pub(super) shaded: Option<(f64, f64)>,
}

/// Points joined in order. Points whose y is not a positive finite number are left out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// Draws the charts one below the other.
pub(super) fn svg(charts: &[Chart]) -> String {
    let height = (0..charts.len().max(1)).map(|_| HEIGHT).sum::<f64>();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut y = 0.0;
    for chart in charts {
        writeln!(text, "<g transform=\"translate(0 {y})\">\n{}</g>", chart.body()).ok();
        y += HEIGHT;
    }
    text.push_str("</svg>\n");
    text
}

struct AxisScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl AxisScale {
    fn place(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }
}

impl Chart {
    fn body(&self) -> String {
        let (x, y) = self.scales();
        let mut text = String::new();
        if let Some((from, to)) = self.shaded {
            let (from, to) = (x.place(from), x.place(to));
            writeln!(
                text,
                "<rect x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#f3e6d0\"/>",
                to - from,
                HEIGHT - BOTTOM - TOP
            )
            .ok();
        }
        let title = escaped(&self.title);
        writeln!(text, "<text x=\"{LEFT}\" y=\"{:.1}\" font-size=\"14\">{title}</text>", TOP - 14.0).ok();
        text + &self.across(&x) + &self.upwards(&y) + &self.drawn(&x, &y)
    }

    fn across(&self, x: &AxisScale) -> String {
        let bottom = HEIGHT - BOTTOM;
        let ticks = (0..=N_TICKS).map(|tick| {
            let value = x.low + (x.high - x.low) * f64::from(tick) / f64::from(N_TICKS);
            label(x.place(value), bottom + 18.0, "middle", &format!("{value:.0}"))
        });
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        ticks.collect::<String>() + &label(middle, bottom + 36.0, "middle", &escaped(&self.x_label))
    }

    fn upwards(&self, y: &AxisScale) -> String {
        let right = WIDTH - RIGHT;
        let decades = decades(y).into_iter().map(|value| {
            let place = y.place(value.log10());
            let number = label(LEFT - 6.0, place + 4.0, "end", &value.to_string());
            format!(
                "<line x1=\"{LEFT}\" y1=\"{place:.1}\" x2=\"{right}\" y2=\"{place:.1}\" stroke=\"#dddddd\"/>\n{number}"
            )
        });
        decades.collect::<String>() + &label(6.0, TOP + 4.0, "start", &escaped(&self.y_label))
    }

    fn drawn(&self, x: &AxisScale, y: &AxisScale) -> String {
        let mut text = String::new();
        let mut legend_y = TOP + 6.0;
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let places: Vec<(f64, f64)> =
                line.shown().map(|(at, value)| (x.place(at), y.place(value.log10()))).collect();
            let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            writeln!(
                text,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>",
                path.join(" ")
            )
            .ok();
            for (x, y) in places {
                writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"{colour}\"/>").ok();
            }
            let legend_x = WIDTH - RIGHT + 14.0;
            writeln!(
                text,
                "<rect x=\"{legend_x}\" y=\"{:.1}\" width=\"12\" height=\"4\" fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                legend_y - 4.0,
                legend_x + 18.0,
                legend_y + 2.0,
                escaped(&line.name)
            )
            .ok();
            legend_y += 18.0;
        }
        text
    }

    /// Returns an x axis that starts at zero and a y axis between two powers of ten.
    fn scales(&self) -> (AxisScale, AxisScale) {
        let points = || self.lines.iter().flat_map(Line::shown);
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
        let x_high = most(&mut points().map(|(x, _)| x)).max(1.0);
        let high = most(&mut points().map(|(_, y)| y.log10())).ceil();
        let low = -most(&mut points().map(|(_, y)| -y.log10()));
        let (low, high) =
            if high.is_finite() { (low.floor(), high.max(low.floor() + 1.0)) } else { (0.0, 1.0) };
        (
            AxisScale { low: 0.0, high: x_high, from: LEFT, to: WIDTH - RIGHT },
            AxisScale { low, high, from: HEIGHT - BOTTOM, to: TOP },
        )
    }
}

impl Line {
    fn shown(&self) -> impl Iterator<Item = (f64, f64)> {
        let is_shown = |point: &&(f64, f64)| point.0.is_finite() && point.1.is_finite() && point.1 > 0.0;
        self.points.iter().filter(is_shown).copied()
    }
}

fn decades(scale: &AxisScale) -> Vec<f64> {
    let mut decades = Vec::new();
    let mut exponent = scale.low;
    while exponent <= scale.high {
        decades.push(10_f64.powf(exponent));
        exponent += 1.0;
    }
    decades
}

fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that elements nest, attributes are quoted, and numbers are finite.
    #[track_caller]
    fn check(text: &str) {
        let mut open = Vec::new();
        for piece in text.split('<').skip(1) {
            let (tag, rest) = piece.split_once('>').unwrap_or_else(|| panic!("an open tag: {piece}"));
            assert!(!rest.contains('>'), "{piece}");
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "{tag}");
            } else if !tag.ends_with('/') {
                open.push(name);
            }
            let entities = rest.matches('&').count();
            let known = ["&amp;", "&lt;", "&gt;", "&quot;"].map(|known| rest.matches(known).count());
            assert_eq!(entities, known.iter().sum::<usize>(), "{rest}");
        }
        assert!(open.is_empty(), "{open:?}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        Chart {
            title: "a < b & \"c\"".to_owned(),
            x_label: "x".to_owned(),
            y_label: "ms".to_owned(),
            lines: vec![Line { name: "<line>".to_owned(), points }],
            shaded: Some((1.0, 2.0)),
        }
    }

    #[test]
    fn a_plot_is_well_formed_whatever_is_in_it() {
        for points in [
            vec![],
            vec![(0.0, 0.0)],
            vec![(5.0, 1.0)],
            vec![(1.0, f64::NAN), (2.0, f64::INFINITY), (3.0, -1.0), (4.0, 0.013), (5.0, 2_000.0)],
        ] {
            let charts = vec![chart(points.clone()), chart(points)];
            let text = svg(&charts);
            check(&text);
            assert_eq!(text.matches("<polyline").count(), 2);
        }
        check(&svg(&[]));
    }

    #[test]
    fn more_is_higher_and_later_is_further_right() {
        let (x, y) = chart(vec![(1.0, 0.5), (10.0, 50.0)]).scales();
        assert!(x.place(10.0) > x.place(1.0));
        assert!(y.place(50.0_f64.log10()) < y.place(0.5_f64.log10()));
        assert_eq!(decades(&y), [0.1, 1.0, 10.0, 100.0]);
    }
}
