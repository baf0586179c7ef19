use super::*;

fn listed() -> Value {
    serde_json::from_str(&catalog()).unwrap()
}

fn names(list: &Value, driven: bool) -> Vec<&str> {
    let entries = list.as_array().unwrap().iter();
    let chosen = entries.filter(|entry| entry["driven"] == driven);
    chosen
        .map(|entry| entry["name"].as_str().unwrap())
        .collect()
}

#[test]
fn a_driver_is_told_from_none() {
    let catalog = listed();
    assert!(names(&catalog["machines"], true).contains(&"a100-pcie4-x86"));
    assert!(names(&catalog["machines"], false).contains(&"gtx480"));
    assert!(names(&catalog["modes"], true).contains(&"on-demand"));
    assert!(names(&catalog["modes"], false).contains(&"multi-range"));
}

#[test]
fn every_small_size_is_allowed() {
    for (program, parameter, value) in SMALL {
        let info = WORKLOADS.find(program).unwrap();
        let mut values = info.defaults();
        assert!(
            values.set(parameter, *value).is_ok(),
            "{program}.{parameter} = {value}"
        );
        let known = info
            .parameters
            .iter()
            .find(|known| known.name == *parameter);
        assert!(
            known.is_some_and(|known| *value < known.default),
            "{program}.{parameter}"
        );
    }
}
