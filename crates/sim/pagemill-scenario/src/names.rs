//! "Did you mean": the nearest of a few known names.

/// The known name that `found` most likely stands for.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = found.to_lowercase();
    // The first part of a name is as near as the name: `a100` is `a100-pcie4-x86`, not `h100`.
    let is_first_part = |name: &str| {
        name.strip_prefix(&lower)
            .is_some_and(|rest| rest.starts_with('-'))
    };
    let distance = |name: &str| match name.to_lowercase() {
        name if is_first_part(&name) => 0,
        name => strsim::damerau_levenshtein(&lower, &name),
    };
    known
        .into_iter()
        .map(|name| (distance(name), name))
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
        assert_eq!(
            nearest("A100", ["h100", "a100-pcie4-x86"]),
            Some("a100-pcie4-x86")
        );
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
