//! "Did you mean": the nearest of a few known names.

/// The known name that `found` most likely stands for.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = found.to_lowercase();
    known
        .into_iter()
        .map(|name| {
            (
                strsim::damerau_levenshtein(&lower, &name.to_lowercase()),
                name,
            )
        })
        .filter(|(distance, name)| *distance <= 1.max(name.chars().count() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The help of an unknown name: the nearest known one, and all of them.
pub fn did_you_mean<'a>(
    found: &str,
    what: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    let all = known.clone().into_iter().collect::<Vec<_>>().join(", ");
    match nearest(found, known) {
        Some(name) => format!("did you mean `{name}`? {what}: {all}"),
        None if all.is_empty() => format!("{what}: none"),
        None => format!("{what}: {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        let known = ["bandwidth", "latency"];
        assert_eq!(nearest("bandwith", known), Some("bandwidth"));
        assert_eq!(nearest("Latency", known), Some("latency"));
        assert_eq!(nearest("frequency", known), None);
    }

    #[test]
    fn help_lists_every_name() {
        assert_eq!(
            did_you_mean("bfg", "workloads", ["bfs", "vector-add"]),
            "did you mean `bfs`? workloads: bfs, vector-add"
        );
        assert_eq!(did_you_mean("x", "workloads", []), "workloads: none");
    }
}
