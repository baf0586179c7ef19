use super::*;

const SMALLEST: &str = "summary = \"s\"\n[[test]]\nname = \"a\"\nrun = \"true\"\n";

#[test]
fn every_committed_suite_loads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../kmod/suites");
    assert!(!Suite::load_all(&folder).unwrap().is_empty());
}

#[test]
fn bad_suites_are_refused() {
    assert!(Suite::parse("n", SMALLEST).is_ok());
    let bad = [
        "summary = \"s\"\ntest = []\n".to_owned(),
        format!("{SMALLEST}[[test]]\nname = \"a\"\nrun = \"true\"\n"),
        SMALLEST.replace("\"a\"", "\"a b\""),
        SMALLEST.replace("\"true\"", "\"true\\nfalse\""),
        format!("unknown = 1\n{SMALLEST}"),
        format!("architectures = [\"x86\"]\n{SMALLEST}"),
    ];
    for text in bad {
        assert!(Suite::parse("n", &text).is_err(), "{text}");
    }
}

#[test]
fn long_suites_are_booted_by_their_whole_name_only() {
    let usual = Suite::parse("color-run", SMALLEST).unwrap();
    let text = format!("on_demand = true\n{SMALLEST}");
    let long = Suite::parse("color-programs", &text).unwrap();
    let meant = |filters: &[&str]| {
        let filters: Vec<String> = filters.iter().map(|part| (*part).to_owned()).collect();
        [&usual, &long].map(|suite| suite.is_meant(&filters))
    };
    assert_eq!(meant(&[]), [true, false]);
    assert_eq!(meant(&["color"]), [true, false]);
    assert_eq!(meant(&["color-programs"]), [false, true]);
    assert_eq!(meant(&["zero"]), [false, false]);
}

#[test]
fn a_suite_may_be_for_one_architecture() {
    let [amd64, arm64] = ["amd64", "arm64"].map(|name| Architecture::find(name).unwrap());
    let all = Suite::parse("n", SMALLEST).unwrap();
    assert!(all.is_for(amd64) && all.is_for(arm64));
    let text = format!("architectures = [\"amd64\"]\n{SMALLEST}");
    let one = Suite::parse("n", &text).unwrap();
    assert!(one.is_for(amd64) && !one.is_for(arm64));
    assert_eq!(all.on(None, arm64).name, "n-arm64");
    assert_eq!(one.on(Some("sid"), amd64).name, "n-sid");
}

#[test]
fn modules_name_their_kernel_series() {
    let suite = Suite::parse("n", &format!("kernels = [\"6.1\", \"6.11\"]\n{SMALLEST}")).unwrap();
    assert_eq!(suite.cannot_run_on("6.1.0-56-amd64"), None);
    assert_eq!(suite.cannot_run_on("6.11.2-amd64"), None);
    assert!(suite.cannot_run_on("6.12.1-amd64").is_some());
    let of_all = Suite::parse("n", &format!("modules = [\"m\"]\n{SMALLEST}")).unwrap();
    assert_eq!(of_all.kernels, KERNEL_SERIES);
    assert_eq!(
        Suite::parse("n", SMALLEST).unwrap().cannot_run_on("7.0.1"),
        None
    );
}
