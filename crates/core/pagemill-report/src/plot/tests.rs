//! What the figures show is what the rows say, measured on the drawn shapes.

use proptest::prelude::*;
use roxmltree::{Document, Node};

use super::*;
use crate::{Published, ResultSet, Row, Value};

/// Drawn coordinates have two decimals.
const TOLERANCE_PX: f64 = 0.03;

fn set_of(cells: &[(String, String, f64)], form: PlotForm) -> ResultSet {
    let mut set = ResultSet::default();
    for (x, series, y) in cells {
        let row = Row::new()
            .parameter("x", x.as_str())
            .parameter("series", series.as_str());
        set.rows.push(row.metric("y", *y));
    }
    set.plots.push(Plot::new("plot", "title", form));
    set
}

fn bars() -> Bars {
    Bars {
        x: "x".into(),
        series: "series".into(),
        y: "y".into(),
        ..Bars::default()
    }
}

fn draw(set: &ResultSet) -> Figure {
    figure(set, &set.plots[0], "f1")
}

fn number(node: Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

/// The tooltip and the first shape of each drawn datum.
fn shapes<'a>(document: &'a Document<'a>, class: &str) -> Vec<(&'a str, Node<'a, 'a>)> {
    document
        .descendants()
        .filter(|node| {
            node.attribute("class")
                .is_some_and(|c| c.split(' ').next() == Some(class))
        })
        .filter_map(|node| {
            let title = node
                .parent()?
                .children()
                .find(|child| child.has_tag_name("title"))?;
            Some((title.text().unwrap_or(""), node))
        })
        .collect()
}

fn data_bars<'a>(document: &'a Document<'a>) -> Vec<(&'a str, Node<'a, 'a>)> {
    shapes(document, "bar")
        .into_iter()
        .filter(|(title, _)| title.contains(": "))
        .collect()
}

/// The tooltip and the height of each dot of the data.
fn dots<'a>(document: &'a Document<'a>) -> Vec<(&'a str, f64)> {
    let height = |node: Node<'_, '_>| {
        let path = node.attribute("d").unwrap();
        let y = path[1..].split(['m', ' ']).nth(1).unwrap();
        -y.parse::<f64>().unwrap()
    };
    shapes(document, "marker")
        .into_iter()
        .filter(|(title, _)| title.contains(": "))
        .map(|(title, node)| (title, height(node)))
        .collect()
}

fn grid_cells(values: &[f64]) -> Vec<(String, String, f64)> {
    let cell = |(i, value): (usize, &f64)| (format!("x{}", i / 2), format!("s{}", i % 2), *value);
    values.iter().enumerate().map(cell).collect()
}

proptest! {
    #[test]
    fn bar_heights_are_proportional(values in proptest::collection::vec(10.0..1e6f64, 2..24)) {
        let set = set_of(&grid_cells(&values), PlotForm::Bars(bars()));
        let figure = draw(&set);
        let document = Document::parse(&figure.images[0]).unwrap();
        let drawn = data_bars(&document);
        prop_assert_eq!(drawn.len(), values.len());
        let highest = values.iter().copied().fold(0.0, f64::max);
        let full = drawn.iter().map(|(_, bar)| number(*bar, "height")).fold(0.0, f64::max);
        for ((_, bar), value) in drawn.iter().zip(&values) {
            let expected = (full * value / highest).max(0.75);
            let height = number(*bar, "height");
            prop_assert!((height - expected).abs() < 2.0 * TOLERANCE_PX, "{height} != {expected}");
        }
        let feet: Vec<f64> = drawn.iter().map(|(_, b)| number(*b, "y") + number(*b, "height")).collect();
        prop_assert!(feet.iter().all(|foot| (foot - feet[0]).abs() < TOLERANCE_PX), "one base line");
    }

    #[test]
    fn equal_factors_are_equal_steps_of_dots_on_a_log_axis(base in 1.0..100.0f64, factor in 1.5..20.0f64) {
        let values = [base, base * factor, base * factor * factor];
        let set = set_of(&grid_cells(&values), PlotForm::Bars(Bars { log: true, ..bars() }));
        let figure = draw(&set);
        let document = Document::parse(&figure.images[0]).unwrap();
        // A length on an axis without a zero would say nothing.
        prop_assert!(data_bars(&document).is_empty());
        let heights: Vec<f64> = dots(&document).iter().map(|(_, height)| *height).collect();
        prop_assert_eq!(heights.len(), 3);
        let (first, second) = (heights[1] - heights[0], heights[2] - heights[1]);
        prop_assert!((first - second).abs() < 3.0 * TOLERANCE_PX, "{heights:?}");
    }

    #[test]
    fn points_lie_where_their_numbers_say(values in proptest::collection::vec(0.0..1e6f64, 2..12)) {
        let mut set = ResultSet::default();
        for (shift, value) in values.iter().enumerate() {
            let row = Row::new().parameter("x", 1u64 << shift).parameter("series", "s");
            set.rows.push(row.metric("y", *value));
        }
        let form = Lines { x: "x".into(), series: "series".into(), y: "y".into(), log2_x: true, ..Lines::default() };
        set.plots.push(Plot::new("plot", "title", PlotForm::Lines(form)));
        let figure = draw(&set);
        let document = Document::parse(&figure.images[0]).unwrap();
        let path = document
            .descendants()
            .find(|n| n.has_tag_name("path") && n.attribute("class").is_some_and(|c| c.starts_with("line ")))
            .and_then(|node| node.attribute("d"))
            .unwrap();
        let points: Vec<(f64, f64)> = path
            .split(['M', 'L'])
            .filter_map(|pair| pair.split_once(' '))
            .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
            .collect();
        prop_assert_eq!(points.len(), values.len());
        let step = points[1].0 - points[0].0;
        prop_assert!(points.windows(2).all(|p| (p[1].0 - p[0].0 - step).abs() < 2.0 * TOLERANCE_PX));
        let high = (0..values.len()).max_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap();
        let low = (0..values.len()).min_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap();
        let span = values[high] - values[low];
        for (point, value) in points.iter().zip(&values) {
            let drawn = points[low].1 - point.1;
            let expected = (points[low].1 - points[high].1) * (value - values[low]) / span.max(1e-300);
            prop_assert!((drawn - expected).abs() < 3.0 * TOLERANCE_PX);
        }
    }

    #[test]
    fn shares_fill_the_bar(parts in proptest::collection::vec(0u64..1000, 3)) {
        prop_assume!(parts.iter().sum::<u64>() > 0);
        let mut row = Row::new().parameter("x", "a");
        for (index, part) in parts.iter().enumerate() {
            row = row.metric(format!("part{index}"), *part);
        }
        let form = StackedBars {
            x: "x".into(),
            parts: (0..3).map(|i| (format!("part{i}"), format!("label {i}"))).collect(),
            as_shares: true,
        };
        let set = ResultSet {
            rows: vec![row],
            plots: vec![Plot::new("plot", "title", PlotForm::Stacked(form))],
            ..ResultSet::default()
        };
        let figure = draw(&set);
        let document = Document::parse(&figure.images[0]).unwrap();
        let drawn = data_bars(&document);
        let total: f64 = drawn.iter().map(|(_, bar)| number(*bar, "height")).sum();
        prop_assert!((total - 250.0).abs() < 4.0 * TOLERANCE_PX, "{total}");
        let sum = parts.iter().sum::<u64>() as f64;
        let shown = parts.iter().filter(|part| **part > 0);
        for ((_, bar), part) in drawn.iter().zip(shown) {
            prop_assert!((number(*bar, "height") - 250.0 * *part as f64 / sum).abs() < 2.0 * TOLERANCE_PX);
        }
    }

    #[test]
    fn any_numbers_make_a_well_formed_figure(
        cells in proptest::collection::vec((".{0,8}", ".{0,8}", any::<f64>()), 0..12),
        log: bool,
    ) {
        let forms = [
            PlotForm::Bars(Bars { log, y_cap: Some(2.0), mean: Mean::Geometric, ..bars() }),
            PlotForm::Lines(Lines { x: "y".into(), series: "series".into(), y: "y".into(), log2_x: log, log_y: log, normalize_to_x: None }),
            PlotForm::Stacked(StackedBars { x: "x".into(), parts: vec![("y".into(), "<part>".into())], as_shares: log }),
            PlotForm::HeatMap(HeatMap { x: "x".into(), y: "series".into(), value: "y".into(), log }),
        ];
        for form in forms {
            let set = set_of(&cells, form);
            for image in draw(&set).images {
                let parsed = Document::parse(&image);
                prop_assert!(parsed.is_ok(), "{:?}: {}", parsed.err(), image);
                let has_nonsense = image.contains("NaN") || image.contains("\"inf");
                prop_assert!(!has_nonsense, "{}", image);
            }
        }
    }
}

#[test]
fn bars_over_the_cap_are_cut_and_say_so() {
    let cells = grid_cells(&[1.0, 98.62, 1.0, 5.0]);
    let set = set_of(
        &cells,
        PlotForm::Bars(Bars {
            y_cap: Some(20.0),
            ..bars()
        }),
    );
    let figure = draw(&set);
    let document = Document::parse(&figure.images[0]).unwrap();
    let heights: Vec<f64> = data_bars(&document)
        .iter()
        .map(|(_, b)| number(*b, "height"))
        .collect();
    assert!(
        (heights[1] / heights[3] - 4.0).abs() < 0.01,
        "cut at 20, four times 5: {heights:?}"
    );
    let breaks = document
        .descendants()
        .filter(|n| n.attribute("class") == Some("break"))
        .count();
    assert_eq!(breaks, 1);
    let label = document
        .descendants()
        .find(|n| n.attribute("class") == Some("value cut"))
        .unwrap();
    assert_eq!(label.text(), Some("98.6"));
    assert_eq!(
        figure.notes,
        ["Bars over 20 are cut; the label is the true value."]
    );
}

#[test]
fn normalizing_divides_each_group_by_its_own_base() {
    let cells = grid_cells(&[50.0, 100.0, 2.0, 8.0]);
    let form = Bars {
        normalize_to: Some("s0".into()),
        mean: Mean::Geometric,
        ..bars()
    };
    let figure = draw(&set_of(&cells, PlotForm::Bars(form)));
    let document = Document::parse(&figure.images[0]).unwrap();
    let titles: Vec<&str> = data_bars(&document)
        .iter()
        .map(|(title, _)| *title)
        .collect();
    let expected = [
        "x0, s0: 1.00",
        "x0, s1: 2.00",
        "x1, s0: 1.00",
        "x1, s1: 4.00",
        "geomean, s0: 1.00",
        "geomean, s1: 2.83",
    ];
    assert_eq!(titles, expected);
}

#[test]
fn rows_that_share_their_keys_are_averaged_and_the_figure_says_so() {
    let cell = |value| ("x".to_owned(), "s".to_owned(), value);
    let figure = draw(&set_of(&[cell(10.0), cell(30.0)], PlotForm::Bars(bars())));
    assert!(
        figure.images[0].contains("x, s: 20.0"),
        "{}",
        figure.images[0]
    );
    assert_eq!(figure.notes, ["A bar is the mean of up to 2 rows."]);
}

#[test]
fn missing_values_are_shown_as_missing() {
    let mut cells = grid_cells(&[1.0, 2.0, 3.0]);
    cells.push(("x1".into(), "s1".into(), f64::NAN));
    let figure = draw(&set_of(&cells, PlotForm::Bars(bars())));
    assert!(figure.images[0].contains("x1, s1: no value"));
}

#[test]
fn rows_without_the_panel_s_value_have_a_panel_of_their_own() {
    let mut set = set_of(&grid_cells(&[1.0, 2.0, 3.0, 4.0]), PlotForm::Bars(bars()));
    set.rows[0] = std::mem::take(&mut set.rows[0]).parameter("size", 7u64);
    set.rows[1] = std::mem::take(&mut set.rows[1]).parameter("size", 7u64);
    set.plots[0].panel_by = Some("size".into());
    let figure = draw(&set);
    assert_eq!(figure.images.len(), 2);
    assert!(figure.images[0].contains("size = 7") && figure.images[0].contains("x0, s1: 2"));
    assert!(figure.images[1].contains("no size") && figure.images[1].contains("x1, s1: 4"));
}

#[test]
fn rows_without_a_place_are_counted() {
    let mut set = set_of(&grid_cells(&[1.0, 2.0, 3.0, 4.0]), PlotForm::Bars(bars()));
    set.rows
        .push(Row::new().parameter("series", "s0").metric("y", 5u64));
    set.rows
        .push(Row::new().parameter("x", "x0").parameter("series", "s0"));
    let notes = draw(&set).notes;
    assert!(
        notes.contains(&"Left out: 1 of 6 rows, which has no x.".to_owned()),
        "{notes:?}"
    );
    assert!(
        notes.contains(&"Left out: 1 of 6 rows, which has no y.".to_owned()),
        "{notes:?}"
    );
}

#[test]
fn a_panel_without_values_is_not_drawn() {
    let mut set = set_of(
        &grid_cells(&[1.0, 2.0]),
        PlotForm::Lines(Lines {
            x: "size".into(),
            series: "series".into(),
            y: "y".into(),
            ..Lines::default()
        }),
    );
    set.rows[0] = std::mem::take(&mut set.rows[0]).parameter("size", 7u64);
    set.plots[0].panel_by = Some("series".into());
    let figure = draw(&set);
    assert_eq!(figure.images.len(), 1);
    assert_eq!(figure.notes, ["Left out: 1 of 2 rows, which has no size."]);
}

#[test]
fn a_zero_on_a_log_axis_is_written_as_zero() {
    let form = Bars {
        log: true,
        ..bars()
    };
    let figure = draw(&set_of(&grid_cells(&[0.0, 1000.0]), PlotForm::Bars(form)));
    assert!(!figure.images[0].contains("n/a"), "{}", figure.images[0]);
    assert!(figure.images[0].contains(">0<"), "{}", figure.images[0]);
}

#[test]
fn published_values_stand_beside_the_measured_ones() {
    let mut set = set_of(&grid_cells(&[1.0, 2.0, 1.0, 3.0]), PlotForm::Bars(bars()));
    set.plots[0].published = vec![Published {
        panel: None,
        x: Some("x1".into()),
        series: "s1".into(),
        value: 6.0,
    }];
    let image = draw(&set).images.remove(0);
    assert!(image.contains("published: 6.00; here 3.00"), "{image}");
    let document = Document::parse(&image).unwrap();
    let marks = shapes(&document, "published");
    let height = |node: Node<'_, '_>| {
        let path = node.attribute("d").unwrap();
        let y = path[1..].split([' ', 'H']).nth(1).unwrap();
        y.parse::<f64>().unwrap()
    };
    let drawn = marks
        .iter()
        .find(|(title, _)| title.starts_with("published: "))
        .unwrap();
    let bars = data_bars(&document);
    let (_, bar) = bars
        .iter()
        .find(|(title, _)| *title == "x1, s1: 3.00")
        .unwrap();
    let foot = number(*bar, "y") + number(*bar, "height");
    let ratio = (foot - height(drawn.1)) / number(*bar, "height");
    assert!((ratio - 2.0).abs() < 0.01, "{ratio}");
}

#[test]
fn captions_name_extremes_and_lines_that_coincide() {
    let form = Lines {
        x: "x".into(),
        series: "series".into(),
        y: "y".into(),
        ..Lines::default()
    };
    let figure = draw(&set_of(
        &grid_cells(&[1.0, 1.001, 3.0, 3.0]),
        PlotForm::Lines(form),
    ));
    assert_eq!(
        figure.seen,
        "Lowest: s0 at x0 (1.00). Highest: s1 at x1 (3.00)."
    );
    assert_eq!(figure.notes, ["The lines of s0, s1 coincide."]);
}

#[test]
fn a_phone_gets_a_figure_of_its_width() {
    let set = set_of(&grid_cells(&[1.0, 2.0, 3.0, 4.0]), PlotForm::Bars(bars()));
    let image = narrow_figure(&set, &set.plots[0], "f1m").images.remove(0);
    let document = Document::parse(&image).unwrap();
    assert!(number(document.root_element(), "width") <= 360.0);
}

#[test]
fn files_of_their_own_need_no_css_variables() {
    let set = set_of(&grid_cells(&[1.0, 2.0]), PlotForm::Bars(bars()));
    let drawing = crate::drawings(&set, &set.plots[0]).remove(0);
    Document::parse(&drawing).unwrap();
    assert!(!drawing.contains("var("));
    assert!(drawing.contains(".s0{fill:#4477aa}"));
}

#[test]
fn panels_share_one_scale() {
    let mut set = set_of(
        &grid_cells(&[1.0, 2.0, 1.0, 10.0]),
        PlotForm::Bars(Bars {
            x: "series".into(),
            ..bars()
        }),
    );
    set.plots[0].panel_by = Some("x".into());
    let figure = draw(&set);
    assert_eq!(figure.images.len(), 2);
    let height_of = |image: &str, title: &str| {
        let document = Document::parse(image).unwrap();
        let bars = data_bars(&document);
        let (_, bar) = bars.iter().find(|(t, _)| t.starts_with(title)).unwrap();
        number(*bar, "height")
    };
    let (two, ten) = (
        height_of(&figure.images[0], "s1, s1"),
        height_of(&figure.images[1], "s1, s1"),
    );
    assert!((ten / two - 5.0).abs() < 0.01);
}

#[test]
fn filters_keep_other_rows_out() {
    let mut set = set_of(&grid_cells(&[1.0, 2.0, 3.0, 4.0]), PlotForm::Bars(bars()));
    set.plots[0].only = vec![("x".into(), Value::from("x1"))];
    let figure = draw(&set);
    assert!(!figure.images[0].contains("x0, "));
    assert!(figure.images[0].contains("x1, s1: 4"));
}

#[test]
fn the_lowest_and_highest_cells_have_the_ends_of_the_ramp() {
    let form = HeatMap {
        x: "x".into(),
        y: "series".into(),
        value: "y".into(),
        log: false,
    };
    let figure = draw(&set_of(
        &grid_cells(&[1.0, 2.0, 3.0, 9.0]),
        PlotForm::HeatMap(form),
    ));
    let document = Document::parse(&figure.images[0]).unwrap();
    let fill_of = |title: &str| {
        let cells = shapes(&document, "cell");
        let (_, cell) = cells
            .iter()
            .find(|(t, _)| t.starts_with(title))
            .copied()
            .unwrap();
        cell.attribute("fill").map(str::to_owned)
    };
    assert_eq!(fill_of("s0, x0").as_deref(), Some("#08204c"));
    assert_eq!(fill_of("s1, x1").as_deref(), Some("#fde34d"));
}
