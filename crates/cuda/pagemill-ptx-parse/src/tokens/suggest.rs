//! "Did you mean" for names that are not declared.

/// Longest name and most candidates that are compared: the comparison costs their product.
const NAME_BYTES_MAX: usize = 128;
const CANDIDATES_MAX: usize = 4096;

/// The candidate nearest to `name`, when it is near enough to be a slip of the pen.
pub(crate) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<String> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let distance_max = (name.len() / 3).clamp(1, 3);
    candidates
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= distance_max)
        .take(CANDIDATES_MAX)
        .map(|candidate| (strsim::osa_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= distance_max)
        .min()
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests;
