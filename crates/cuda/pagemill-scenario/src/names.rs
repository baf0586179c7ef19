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
mod tests;
