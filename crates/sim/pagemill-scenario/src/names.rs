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

/// The names of a long list that are shown of it.
const SHOWN: usize = 5;

/// The help of an unknown name where there are many: the nearest ones, and the command that lists all.
pub fn nearest_few<'a>(
    found: &str,
    what: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    let lower = found.to_lowercase();
    let mut all: Vec<&str> = known.clone().into_iter().collect();
    let count = all.len();
    all.sort_by_key(|name| {
        let is_part = name.contains(&lower) || lower.contains(name);
        (!is_part, strsim::damerau_levenshtein(&lower, name))
    });
    all.truncate(SHOWN);
    let begun = all.first().copied().filter(|it| it.contains(&lower));
    let meant = begun.or_else(|| nearest(found, known));
    let meant = meant.map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    format!(
        "{meant}nearest of {count}: {}; `pagemill list {what}` has all",
        all.join(", ")
    )
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
}
