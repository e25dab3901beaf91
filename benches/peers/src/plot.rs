//! A chart of the medians: a row per variant, a dot per size, on a logarithmic scale.

use std::fmt::Write as _;

use crate::table::Row;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 180.0;
const TOP: f64 = 70.0;
const LINE: f64 = 30.0;
/// The scale covers 1 to 10,000 ns per rule.
const DECADES: f64 = 4.0;
/// Colours by size, from the smallest.
const COLOURS: [&str; 4] = ["#9ecae1", "#4292c6", "#08519c", "#041f3d"];

/// Renders the rows as an SVG document; the bar at each dot extends to the minimum.
pub(crate) fn svg(machine: &str, rows: &[Row]) -> String {
    let mut names: Vec<&Row> = Vec::new();
    let mut sizes: Vec<usize> = rows.iter().map(|row| row.n_rules).collect();
    sizes.sort_unstable();
    sizes.dedup();
    names.extend(rows.iter().filter(|row| Some(&row.n_rules) == sizes.last()));
    names.sort_by(|a, b| a.median.total_cmp(&b.median));
    let height = TOP + LINE * names.len() as f64 + 50.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    text(&mut svg, LEFT, 24.0, "start", "Nanoseconds per rule, median (bars: down to the minimum)");
    axis(&mut svg, height - 40.0);
    for (size, colour) in sizes.iter().zip(COLOURS) {
        let x = LEFT + 110.0 * sizes.iter().position(|other| other == size).unwrap_or_default() as f64;
        dot(&mut svg, x + 5.0, 42.0, colour);
        text(&mut svg, x + 15.0, 46.0, "start", &format!("{size} rules"));
    }
    for (number, Row { name, .. }) in names.iter().enumerate() {
        let y = TOP + LINE * (number as f64 + 0.5);
        text(&mut svg, LEFT - 10.0, y + 4.0, "end", name);
        for row in rows.iter().filter(|row| row.name == *name) {
            let rule_index = sizes.iter().position(|size| *size == row.n_rules).unwrap_or_default();
            mark(&mut svg, row, y, COLOURS.get(rule_index).copied().unwrap_or("black"));
        }
    }
    text(&mut svg, WIDTH - 20.0, height - 8.0, "end", machine);
    svg + "</svg>\n"
}

fn axis(svg: &mut String, bottom: f64) {
    for (decade, label) in ["1", "10", "100", "1,000", "10,000"].into_iter().enumerate() {
        let x = x_of(10_f64.powf(decade as f64));
        line(svg, (x, TOP), (x, bottom), "#dddddd", 1);
        text(svg, x, bottom + 16.0, "middle", label);
    }
}

fn mark(svg: &mut String, row: &Row, y: f64, colour: &str) {
    line(svg, (x_of(row.minimum), y), (x_of(row.median), y), colour, 4);
    dot(svg, x_of(row.median), y, colour);
}

fn x_of(nanoseconds: f64) -> f64 {
    let share = nanoseconds.max(1.0).log10() / DECADES;
    LEFT + share.min(1.0) * (WIDTH - LEFT - 40.0)
}

fn dot(svg: &mut String, x: f64, y: f64, colour: &str) {
    // Writing to a `String` cannot fail.
    _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{colour}\"/>");
}

fn line(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str, width: u8) {
    _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
    );
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}
