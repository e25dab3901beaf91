//! The text format 0.0.4 of Prometheus, for collectors that do not know OpenMetrics.
//!
//! It is made from the page in OpenMetrics. There, the family of a counter has a name without `_total`, and an information
//! one without `_info`; here, a family has the name of its samples. The service writes no exemplars, which this format lacks.

use std::collections::BTreeMap;

/// The media type of the format.
pub const PLAIN_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes a page in OpenMetrics as a page of the text format.
pub fn plain_text(page: &str) -> String {
    let types: BTreeMap<&str, &str> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let mut plain = String::with_capacity(page.len());
    for line in page.lines() {
        let Some(comment) = line.strip_prefix("# ") else {
            plain.push_str(line);
            plain.push('\n');
            continue;
        };
        let Some((keyword, (family, text))) =
            comment.split_once(' ').and_then(|(keyword, rest)| Some((keyword, rest.split_once(' ')?)))
        else {
            continue;
        };
        let kind = types.get(family).copied().unwrap_or("unknown");
        let name = match kind {
            "counter" => format!("{family}_total"),
            "info" => format!("{family}_info"),
            _ => family.to_owned(),
        };
        let text = match (keyword, text) {
            ("HELP", help) => help.to_owned(),
            ("TYPE", "info" | "stateset") => "gauge".to_owned(),
            ("TYPE", "unknown") => "untyped".to_owned(),
            ("TYPE", kind) => kind.to_owned(),
            _ => continue,
        };
        plain.push_str(&format!("# {keyword} {name} {text}\n"));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_the_name_of_its_samples_and_no_unit() {
        let page = "# HELP a_b Things.\n# TYPE a_b counter\na_b_total{c=\"d e\"} 3\n# HELP t_seconds Times.\n# TYPE t_seconds \
                    histogram\n# UNIT t_seconds seconds\nt_seconds_sum 1.5\nt_seconds_count 2\nt_seconds_bucket{le=\"+Inf\"} 2\n# \
                    HELP build Build.\n# TYPE build info\nbuild_info{version=\"1\"} 1\n# TYPE x unknown\nx 1\n# EOF\n";
        let expected = "# HELP a_b_total Things.\n# TYPE a_b_total counter\na_b_total{c=\"d e\"} 3\n# HELP t_seconds Times.\n# TYPE \
                        t_seconds histogram\nt_seconds_sum 1.5\nt_seconds_count 2\nt_seconds_bucket{le=\"+Inf\"} 2\n# HELP \
                        build_info Build.\n# TYPE build_info gauge\nbuild_info{version=\"1\"} 1\n# TYPE x untyped\nx 1\n";
        assert_eq!(plain_text(page), expected);
    }
}
