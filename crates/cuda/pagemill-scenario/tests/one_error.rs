//! A wrong value makes one error, whichever key of whichever file has it: what depends on it is not complained about.

use pagemill_scenario::{InputErrors, MACHINES, SCENARIOS, load};
use toml::{Table, Value};

/// The dotted keys of all values; a value with its source is one.
fn keys(table: &Table, prefix: &str, found: &mut Vec<String>) {
    for (key, value) in table {
        match value {
            Value::Table(inner) if !inner.contains_key("value") => {
                keys(inner, &format!("{prefix}{key}."), found);
            }
            // Only the lists of swept keys are values that `--set` replaces.
            Value::Array(items) if items.iter().any(Value::is_table) && prefix.is_empty() => {}
            _ => found.push(format!("{prefix}{key}")),
        }
    }
}

fn keys_of(text: &str) -> Vec<String> {
    let table: Table = text.parse().expect("a built-in file is sound");
    let mut found = Vec::new();
    keys(&table, "", &mut found);
    found
}

fn errors(scenario: &str, sets: &[String]) -> InputErrors {
    load(scenario, sets).expect_err(&format!("{scenario} with {sets:?} is wrong"))
}

fn check(scenario: &str, sets: &[String], wrong: &mut Vec<String>) {
    let errors = errors(scenario, sets);
    if errors.problems().len() != 1 {
        let text = errors.render(false);
        let heads = text.lines().filter(|line| line.contains('×'));
        let heads: Vec<&str> = heads.map(str::trim).collect();
        wrong.push(format!("{scenario} {sets:?}: {heads:?}"));
    }
}

#[test]
fn a_wrong_value_of_a_scenario_is_one_error() {
    let mut wrong = Vec::new();
    for scenario in SCENARIOS {
        let mut keys = keys_of(scenario.text);
        keys.push("seed".to_owned());
        for key in keys {
            let key = key.trim_start_matches("sweep.");
            if key.starts_with("machine") || key.starts_with("claims") || key.starts_with("plots") {
                continue;
            }
            check(scenario.name, &[format!("{key}=[[1]]")], &mut wrong);
            if !["title", "about"].contains(&key) {
                check(scenario.name, &[format!("{key}=\"no such\"")], &mut wrong);
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_wrong_value_of_a_machine_is_one_error() {
    let of_kinds = [
        ("gpu", "smoke"),
        ("nic", "nic-puts"),
        ("coloring", "cachepm-single"),
        ("zeroing", "zero-latency"),
        ("pager", "pager-budgets"),
    ];
    let mut wrong = Vec::new();
    for machine in MACHINES {
        let kind = machine.head().expect("it is sound").kind;
        let Some((_, scenario)) = of_kinds.iter().find(|(known, _)| *known == kind) else {
            panic!(
                "machine {} is of kind {kind}: name a scenario of it",
                machine.name
            );
        };
        for key in keys_of(machine.text) {
            if ["title", "about", "kind", "base"].contains(&key.as_str()) {
                continue;
            }
            let sets = [
                format!("machine=\"{}\"", machine.name),
                format!("machine.{key}=[[1]]"),
            ];
            check(scenario, &sets, &mut wrong);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
