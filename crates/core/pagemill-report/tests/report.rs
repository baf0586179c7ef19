//! The HTML report: whole, harmless, and small.

use std::collections::BTreeSet;

use pagemill_report::{Bars, Column, ColumnKind, Plot, PlotForm, ResultSet, Row, html};
use proptest::prelude::*;

const ELEMENTS: &str = "html head meta title style script body main header h1 h2 h3 p code dl div \
    dt dd nav ul li a figure figcaption b table thead tbody tr th td span br details summary \
    footer svg defs pattern path g rect line text canvas select option input label button i";
const ATTRIBUTES: &str = "lang charset http-equiv content name class id title href tabindex role \
    aria-label scope open viewBox width height patternUnits d x y x1 y1 x2 y2 fill transform \
    text-anchor rowspan type autocomplete inputmode hidden";

fn render(set: &ResultSet) -> String {
    let mut out = Vec::new();
    html::write(set, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("HTML is UTF-8")
}

/// A tag as a browser sees it: its name, and its attributes with their values.
type Tag = (String, Vec<(String, String)>);

/// The tags of `page`, read the way a browser does; style and script hold text only.
fn tags(page: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let (tag, after) = read_tag(rest);
        rest = after;
        if let Some(tag) = tag {
            if tag.0 == "style" || tag.0 == "script" {
                let end = rest.find(&format!("</{}", tag.0)).expect("raw text ends");
                rest = &rest[end..];
            }
            tags.push(tag);
        }
    }
    tags
}

fn read_tag(text: &str) -> (Option<Tag>, &str) {
    let name_end = text
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(text.len());
    let name = text[..name_end].to_ascii_lowercase();
    let mut rest = &text[name_end..];
    let mut attributes = Vec::new();
    if name.is_empty() {
        return (None, rest);
    }
    loop {
        rest = rest.trim_start_matches([' ', '/', '\n']);
        if let Some(after) = rest.strip_prefix('>') {
            return (Some((name, attributes)), after);
        }
        let end = rest.find(['=', '>', ' ', '/']).expect("a tag ends");
        let key = rest[..end].to_owned();
        rest = &rest[end..];
        let mut value = String::new();
        if let Some(after) = rest.strip_prefix("=\"") {
            let end = after.find('"').expect("a quoted value ends");
            value = after[..end].to_owned();
            rest = &after[end + 1..];
        } else if let Some(after) = rest.strip_prefix('=') {
            let end = after.find(['>', ' ']).expect("a value ends");
            value = after[..end].to_owned();
            rest = &after[end..];
        }
        attributes.push((key, value));
    }
}

fn assert_harmless(page: &str) {
    let elements: BTreeSet<&str> = ELEMENTS.split_whitespace().collect();
    let attributes: BTreeSet<&str> = ATTRIBUTES.split_whitespace().collect();
    for (name, tag_attributes) in tags(page) {
        assert!(elements.contains(name.as_str()), "element <{name}>");
        for (key, value) in tag_attributes {
            assert!(
                attributes.contains(key.as_str()) || key.starts_with("aria-"),
                "{key}={value}"
            );
            if key == "href" {
                assert!(value.starts_with('#'), "href={value}");
            }
            if key == "fill" && value.starts_with("url") {
                assert!(value.starts_with("url(#f"), "fill={value}");
            }
        }
    }
}

fn hostile_set(strings: &[String], rows: Vec<Row>) -> ResultSet {
    let mut set = crate::common::sample();
    let at = |index: usize| strings[index % strings.len()].clone();
    set.scenario = at(0);
    set.title = at(1);
    set.about = at(2);
    set.pagemill_version = at(3);
    set.summary.claims[0].id = at(4);
    set.summary.claims[0].text = at(5);
    set.summary.claims[0].note = at(6);
    set.summary.claims[0].measured = Some(at(7).into());
    set.summary.facts[0].name = at(8);
    set.summary.facts[0].doc = at(9);
    set.columns[0].doc = at(10);
    set.description[0].title = at(11);
    set.description[0].entries[0].name = at(12);
    set.description[0].entries[0].value = at(13);
    set.description[0].entries[0].source = at(14);
    for (index, plot) in set.plots.iter_mut().enumerate() {
        plot.id = at(15 + index);
        plot.title = at(16 + index);
        plot.caption = at(17 + index);
        plot.x_title = at(18 + index);
        plot.y_title = at(19 + index);
    }
    for (index, row) in set.rows.iter_mut().enumerate() {
        row.parameters[0].1 = at(20 + index % 3).into();
        row.parameters[1].1 = at(23 + index % 3).into();
    }
    set.rows.extend(rows);
    set
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_string_becomes_markup(
        strings in proptest::collection::vec(crate::common::text(), 26),
        others in crate::common::result_set(),
    ) {
        let page = render(&hostile_set(&strings, others.rows));
        assert_harmless(&page);
    }
}

#[test]
fn the_usual_attacks_stay_text() {
    let strings: Vec<String> = crate::common::HOSTILE
        .iter()
        .map(|text| (*text).to_owned())
        .collect();
    for shift in 0..strings.len() {
        let mut rotated = strings.clone();
        rotated.rotate_left(shift);
        let page = render(&hostile_set(&rotated, Vec::new()));
        assert_harmless(&page);
        assert!(!page.contains("<script>alert"), "{shift}");
        assert_eq!(page.matches("<script>").count(), 1);
        assert_eq!(page.matches("</script>").count(), 1);
    }
}

#[test]
fn every_image_is_well_formed_xml() {
    let page = render(&crate::common::sample());
    let mut rest = page.as_str();
    let mut images = 0;
    while let Some(start) = rest.find("<svg") {
        let end = start + rest[start..].find("</svg>").expect("an image ends") + "</svg>".len();
        roxmltree::Document::parse(&rest[start..end]).expect("an image is XML");
        rest = &rest[end..];
        images += 1;
    }
    // Each figure is there twice: for a page, and for a phone.
    assert_eq!(images, 8);
}

#[test]
fn nothing_is_fetched() {
    let page = render(&crate::common::sample());
    assert!(page.contains("default-src 'none'"));
    for forbidden in [
        "http://", "https://", "src=", "@import", "url(h", "url(/", "<link", "<img",
    ] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn identifiers_are_unique() {
    let page = render(&crate::common::sample());
    let mut seen = BTreeSet::new();
    for (_, attributes) in tags(&page) {
        for (key, value) in attributes.into_iter().filter(|(key, _)| key == "id") {
            assert!(seen.insert(value.clone()), "{key}={value} twice");
        }
    }
}

#[test]
fn thousands_of_rows_stay_under_three_megabytes() {
    let mut set = ResultSet::default();
    for index in 0..20 {
        set.columns.push(Column::metric(
            format!("metric_{index}_ns"),
            ColumnKind::TimeNs,
            "Time",
        ));
    }
    for point in 0..5000u64 {
        let mut row = Row::new().parameter("workload", format!("program {}", point % 50));
        row = row.parameter("mode", format!("mode {}", point % 5));
        for index in 0..20 {
            row = row.metric(format!("metric_{index}_ns"), point * 1_234_567 + index);
        }
        set.rows.push(row);
    }
    let bars = Bars {
        x: "workload".into(),
        series: "mode".into(),
        y: "metric_0_ns".into(),
        ..Bars::default()
    };
    set.plots
        .push(Plot::new("all", "All", PlotForm::Bars(bars)));
    let page = render(&set);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    let rows = page.matches("<tr><td>program").count();
    assert!(rows > 2000, "{rows} rows");
    assert!(
        page.contains(&format!("{} more are in", 5000 - rows)),
        "what is left out is said"
    );
    // Its rows are not offered as a file.
    assert!(page.contains("<table class=\"sortable\" data-partial>"));
    assert!(!render(&ResultSet::default()).contains("data-partial>"));
}

/// Rows of a program, its kernels and a mistake, as runs of CUDA programs have them.
fn program() -> ResultSet {
    let row = |table: &str| Row::new().parameter("table", table);
    let kernel = |name: &str, time_ns: u64| {
        row("kernel")
            .parameter("kernel", name)
            .metric("time_ns", time_ns)
            .metric("launches", 2u64)
    };
    let whole = row("program")
        .parameter("machine", "gtx480")
        .parameter("mode", "whole-page")
        .metric("time_ns", 2_000_000u64)
        .metric("migrated_bytes", 3u64 << 20)
        .metric("findings", 1u64);
    let mistake = row("defect")
        .parameter("line", "sum.cu:7")
        .metric("defect", "shared-race")
        .metric("detail", "kernel sum, block 4");
    ResultSet {
        rows: vec![
            whole,
            kernel("a", 1),
            kernel("b", 500_000),
            kernel("c", 2),
            kernel("d", 3),
            mistake,
        ],
        ..ResultSet::default()
    }
}

#[test]
fn the_answer_comes_first() {
    let page = render(&program());
    let (answer, rows) = page.split_once("id=\"rows\"").expect("rows");
    for part in [
        "gtx480",
        "whole-page",
        "2.00 ms",
        "3.00 MiB",
        "<td>b</td><td>500 µs</td><td>25.0 %</td><td>2</td>",
    ] {
        assert!(answer.contains(part), "{part}");
    }
    assert!(answer.contains("<td>sum.cu:7</td><td>shared-race</td><td>kernel sum, block 4</td>"));
    assert!(!answer.contains("<td>a</td>"), "only the three dearest");
    // What the rows are about has a table each, with the columns that it fills.
    let tables: Vec<&str> = rows.split("<h3>").skip(1).collect();
    assert_eq!(tables.len(), 3);
    assert!(tables[1].starts_with("kernel") && !tables[1].contains("migrated"));
    let unhurt = ResultSet {
        rows: program().rows.into_iter().take(1).collect(),
        ..ResultSet::default()
    };
    assert!(render(&unhurt).contains("No mistake was found"));
}

#[test]
fn a_figure_compares() {
    let mut set = crate::common::sample();
    let all = render(&set).matches("<figure>").count();
    set.rows.truncate(1);
    assert!(render(&set).matches("<figure>").count() < all);
}

#[test]
fn of_many_points_the_slowest_is_named_by_what_differs() {
    let page = render(&crate::common::sample());
    assert!(
        page.contains("Slowest: lps, whole-page, unit bytes 4096"),
        "{page}"
    );
}

#[test]
fn an_empty_result_makes_a_page() {
    assert_harmless(&render(&ResultSet::default()));
}
