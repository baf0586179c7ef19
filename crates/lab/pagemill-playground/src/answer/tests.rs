use std::sync::Mutex;

use super::*;

const PATTERN: &str = r#"
title = "A pattern"
kind = "residency"
machine = "a100-pcie4-x86"
access = { pattern = "grid-stride" }
residency = { strategy = "on-demand", factor = 1.25, ballast = 0.99 }
"#;

fn answered(text: &str) -> (Value, Vec<f64>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let answer = answer(
        text,
        Arc::new(move |share| seen.lock().unwrap().push(share)),
    );
    let shares = told.lock().unwrap().clone();
    (serde_json::from_str(&answer).unwrap(), shares)
}

#[test]
fn a_scenario_has_results_rows_and_a_map() {
    let (answer, shares) = answered(PATTERN);
    let results: Value = serde_json::from_str(answer["results"].as_str().unwrap()).unwrap();
    assert_eq!(results["scenario"], "playground");
    let time = &results["rows"][0]["time_ns"];
    assert!(time.as_f64().unwrap() > 0.0);
    let cells = answer["rows"][0].as_array().unwrap();
    let shown = cells.iter().find(|cell| cell["name"] == "time_ns").unwrap();
    assert_eq!(shown["exact"], time.to_string());
    assert!(
        STANDARD
            .decode(answer["maps"][0]["data"].as_str().unwrap())
            .unwrap()
            .starts_with(b"pagemill-map/1\n")
    );
    assert!(
        !shares.is_empty()
            && shares.is_sorted()
            && shares.iter().all(|share| (0.0..=1.0).contains(share))
    );
}

#[test]
fn a_mistake_is_named_with_its_place() {
    let (answer, _) = answered(&PATTERN.replace("on-demand", "on-demnd"));
    let error = answer["error"].as_str().unwrap();
    assert!(
        error.contains("playground.toml") && error.contains("on-demand"),
        "{error}"
    );
}

#[test]
fn programs_of_the_user_are_refused_where_there_are_none() {
    let (answer, _) = answered("title = 3");
    assert!(answer["error"].as_str().unwrap().contains("title"));
}
