//! Charts as SVG, with a linear x axis and a logarithmic y axis.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

const WIDTH: u32 = 860;
const HEIGHT: u32 = 340;
/// Width of the space for the names of the lines.
const NAMES: u32 = 240;
/// Height of one name.
const NAME: i32 = 18;
const FONT: &str = "sans-serif";
const SHADE: RGBColor = RGBColor(243, 230, 208);

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

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// An error of the drawing library.
pub(super) type DrawError = DrawingAreaErrorKind<std::io::Error>;

/// Draws the charts one below the other.
///
/// # Errors
/// If the library cannot draw a chart.
pub(super) fn svg(charts: &[Chart]) -> Result<String, DrawError> {
    let mut text = String::new();
    let height = charts.iter().map(|_| HEIGHT).sum::<u32>().max(HEIGHT);
    let page = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
    page.fill(&WHITE)?;
    for (chart, area) in charts.iter().zip(page.split_evenly((charts.len().max(1), 1))) {
        chart.draw(&area)?;
    }
    page.present()?;
    drop(page);
    Ok(text)
}

impl Chart {
    fn draw(&self, area: &Area<'_>) -> Result<(), DrawError> {
        let (x, y) = self.ranges();
        let (area, names) = area.split_horizontally(WIDTH - NAMES);
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, (FONT, 14))
            .margin(8)
            .x_label_area_size(40)
            .y_label_area_size(56)
            .build_cartesian_2d(x, y.clone().log_scale().with_key_points(decades(&y)))?;
        if let Some((from, to)) = self.shaded {
            chart.draw_series([Rectangle::new([(from, y.start), (to, y.end)], SHADE.filled())])?;
        }
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(&self.x_label).x_label_formatter(&|x| format!("{x:.0}"));
        mesh.y_desc(&self.y_label).y_label_formatter(&|y| y.to_string());
        mesh.disable_x_mesh().draw()?;
        for (line, (number, height)) in self.lines.iter().zip((0..).zip((40..).step_by(NAME as usize))) {
            let colour = Palette99::pick(number).to_rgba();
            chart.draw_series(LineSeries::new(line.shown(), colour.stroke_width(2)).point_size(3))?;
            names.draw(&Rectangle::new([(0, height), (12, height + 4)], colour.filled()))?;
            names.draw(&Text::new(line.name.as_str(), (18, height - 4), (FONT, 12)))?;
        }
        Ok(())
    }

    /// Returns x from zero, and y between two powers of ten.
    fn ranges(&self) -> (Range<f64>, Range<f64>) {
        let points = || self.lines.iter().flat_map(Line::shown);
        let far = points().map(|(x, _)| x).fold(1.0, f64::max);
        let low = points().map(|(_, y)| y.log10().floor()).reduce(f64::min).unwrap_or(0.0);
        let high = points().map(|(_, y)| y.log10().ceil()).fold(low + 1.0, f64::max);
        (0.0..far, 10_f64.powf(low)..10_f64.powf(high))
    }
}

fn decades(y: &Range<f64>) -> Vec<f64> {
    std::iter::successors(Some(y.start), |value| Some(value * 10.0))
        .take_while(|value| *value < y.end * 2.0)
        .collect()
}

impl Line {
    fn shown(&self) -> impl Iterator<Item = (f64, f64)> {
        let is_shown = |point: &&(f64, f64)| point.0.is_finite() && point.1.is_finite() && point.1 > 0.0;
        self.points.iter().filter(is_shown).copied()
    }
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
            let text = svg(&charts).unwrap();
            check(&text);
            assert_eq!(text.matches("&lt;line&gt;").count(), 2, "{text}");
        }
        let n_drawn = |points| svg(&[chart(points)]).unwrap().matches("<polyline").count();
        assert!(n_drawn(vec![(1.0, 1.0), (2.0, 5.0)]) > n_drawn(vec![]));
        check(&svg(&[]).unwrap());
    }

    #[test]
    fn the_axes_hold_every_point_that_is_shown() {
        let ranges = |points: &[(f64, f64)]| chart(points.to_vec()).ranges();
        assert_eq!(ranges(&[(1.0, 0.5), (10.0, 50.0), (20.0, -1.0)]), (0.0..10.0, 0.1..100.0));
        assert_eq!(ranges(&[]), (0.0..1.0, 1.0..10.0));
        assert_eq!(decades(&(0.1..100.0)), [0.1, 1.0, 10.0, 100.0]);
    }
}
