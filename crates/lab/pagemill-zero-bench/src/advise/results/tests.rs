use super::*;

fn tried(setting: Setting, walls: &[u64]) -> Tried {
    let run = |wall_ns: &u64| {
        let mut run = Run::default();
        run.usage.wall_ns = *wall_ns;
        run
    };
    Tried {
        setting,
        runs: walls.iter().map(run).collect(),
        obstacle: walls.is_empty().then(|| "a reason".to_owned()),
    }
}

#[test]
fn the_advice_names_the_figures_and_the_command() {
    let all = [
        tried(
            Setting::AsIs,
            &[3_000_000_000, 2_900_000_000, 3_100_000_000],
        ),
        tried(Setting::Transparent, &[]),
        tried(
            Setting::Pool,
            &[1_500_000_000, 1_400_000_000, 1_600_000_000],
        ),
    ];
    let set = result_set("program", &all, &Costs::default(), 40);
    for part in [
        "Use pool: 1.500 s instead of 3.000 s, 50.0 % less",
        "--pages 40 ",
    ] {
        assert!(set.about.contains(part), "{}", set.about);
    }
    let texts = |name| {
        set.rows
            .iter()
            .map(|row| row.get(name).cloned())
            .collect::<Vec<_>>()
    };
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    assert_eq!(
        texts("standing"),
        [text("-"), text("not tried"), text("faster")]
    );
    assert_eq!(texts("note"), [None, text("a reason"), None]);
    assert_eq!(set.summary.facts[0].value, Value::Text("pool".to_owned()));
}

#[test]
fn noise_is_no_reason_to_change_anything() {
    let all = [
        tried(Setting::AsIs, &[10, 30]),
        tried(Setting::Transparent, &[9, 12]),
    ];
    let set = result_set("program", &all, &Costs::default(), 1);
    assert!(
        set.about.starts_with("Leave the program as it is"),
        "{}",
        set.about
    );
}
