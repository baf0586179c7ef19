use super::*;
use crate::document::{SourceText, parse_document};

fn sweep(text: &str) -> Sweep {
    let table = parse_document(&SourceText::argument(text)).expect("TOML");
    let mut problems = Vec::new();
    let sweep = Sweep::of_table(&table, &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    sweep
}

fn points(sweep: &Sweep) -> Vec<String> {
    let point = |index| {
        let layers = sweep.layers(index);
        let shown = layers
            .iter()
            .map(|layer| format!("{}={}", layer.path.join("."), layer.value));
        shown.collect::<Vec<_>>().join(" ")
    };
    (0..sweep.points().expect("few points"))
        .map(point)
        .collect()
}

#[test]
fn the_last_key_is_the_fastest() {
    let sweep = sweep("\"a.x\" = [1, 2]\nb.y = [3, 4]\n");
    assert_eq!(
        points(&sweep),
        ["a.x=1 b.y=3", "a.x=1 b.y=4", "a.x=2 b.y=3", "a.x=2 b.y=4"]
    );
}

#[test]
fn no_sweep_is_one_point() {
    assert_eq!(points(&sweep("")), [""]);
}

#[test]
fn an_override_replaces_what_is_swept_at_its_key_and_below() {
    let cases = [
        ("a.x=9", vec!["b=3 a.x=9", "b=4 a.x=9"]),
        ("a={ x = 9 }", vec!["b=3 a=a table", "b=4 a=a table"]),
        ("a.x=[7]", vec!["a.x=7 b=3", "a.x=7 b=4"]),
        (
            "c=[5]",
            vec![
                "a.x=1 b=3 c=5",
                "a.x=1 b=4 c=5",
                "a.x=2 b=3 c=5",
                "a.x=2 b=4 c=5",
            ],
        ),
    ];
    for (argument, expected) in cases {
        let mut sweep = sweep("a.x = [1, 2]\nb = [3, 4]\n");
        sweep
            .set(Override::parse(argument).expect("override"))
            .expect("set");
        assert_eq!(points(&sweep), expected, "{argument}");
    }
}

#[test]
fn the_last_override_wins() {
    let mut sweep = sweep("");
    for argument in ["a=1", "a=[2]", "a=3"] {
        sweep
            .set(Override::parse(argument).expect("override"))
            .expect("set");
    }
    assert_eq!(points(&sweep), ["a=3"]);
}

#[test]
fn swept_tables_show_their_keys() {
    let sweep = sweep("w = [{ name = \"a\", n = 1 }, { name = \"b\", m = 2 }]\n");
    let paths: Vec<String> = sweep
        .swept_paths()
        .iter()
        .map(|path| path.join("."))
        .collect();
    assert_eq!(paths, ["w.name", "w.n", "w.m"]);
}

#[test]
fn too_many_points_are_a_mistake() {
    let values = vec!["1"; 200].join(", ");
    let sweep = sweep(&format!("a = [{values}]\nb = [{values}]\n"));
    let problem = sweep.points().expect_err("40000 points");
    assert_eq!(
        problem.to_string(),
        "the sweep has 200 x 200 points, at most 10000 are allowed"
    );
}
