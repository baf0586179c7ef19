use super::*;

#[test]
fn the_nearest_name_is_near() {
    let known = ["bandwidth", "latency"];
    assert_eq!(nearest("bandwith", known), Some("bandwidth"));
    assert_eq!(nearest("Latency", known), Some("latency"));
    assert_eq!(nearest("frequency", known), None);
    assert_eq!(
        nearest("A100", ["h100", "a100-pcie4-x86"]),
        Some("a100-pcie4-x86")
    );
}

#[test]
fn of_many_names_the_nearest_are_shown() {
    let known = [
        "h100",
        "h100-sxm",
        "a100-pcie4-x86",
        "v100",
        "gtx480",
        "pni",
        "rtx5090",
    ];
    assert_eq!(
        nearest_few("a100", "machines", known),
        "did you mean `a100-pcie4-x86`? nearest of 7: a100-pcie4-x86, h100, v100, pni, h100-sxm; `pagemill list machines` has all"
    );
    assert!(nearest_few("h100-smx", "machines", known).starts_with("did you mean `h100-sxm`?"));
    assert!(nearest_few("nope", "machines", known).starts_with("nearest of 7: "));
}

#[test]
fn help_lists_every_name() {
    assert_eq!(
        did_you_mean("bfg", "workloads", ["bfs", "vector-add"]),
        "did you mean `bfs`? workloads: bfs, vector-add"
    );
    assert_eq!(did_you_mean("x", "workloads", []), "workloads: none");
}
