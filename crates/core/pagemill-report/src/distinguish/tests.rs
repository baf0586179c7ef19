use super::*;

fn named(points: &[&[(&str, &str)]]) -> Vec<String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let points: Vec<_> = points
        .iter()
        .map(|point| point.iter().map(owned).collect())
        .collect();
    distinguish(&points)
}

#[test]
fn what_all_share_or_another_key_implies_is_no_part_of_a_name() {
    let bfs = ("workload.name", "bfs");
    let nodes = ("workload.nodes", "16");
    let seed = ("seed", "1");
    let names = named(&[
        &[seed, bfs, nodes, ("mode", "whole-page")],
        &[seed, bfs, nodes, ("mode", "multi-range")],
        &[seed, ("workload.name", "add"), ("mode", "whole-page")],
    ]);
    assert_eq!(
        names,
        ["bfs, whole-page", "bfs, multi-range", "add, whole-page"]
    );
    let sizes = named(&[
        &[("transfer.page_size", "4 KiB")],
        &[("transfer.page_size", "64 KiB")],
    ]);
    assert_eq!(sizes, ["page size 4 KiB", "page size 64 KiB"]);
    assert_eq!(named(&[&[seed]]), [""]);
    assert!(named(&[]).is_empty());
}
