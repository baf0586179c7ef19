//! Whether two runs have the same results.

/// The first line in which two outputs differ, from 1; lines with one of the `ignored` texts may differ. `None` if they are the
/// same.
pub fn first_difference(one: &[u8], other: &[u8], ignored: &[String]) -> Option<usize> {
    let one: Vec<&[u8]> = one.split(|&byte| byte == b'\n').collect();
    let other: Vec<&[u8]> = other.split(|&byte| byte == b'\n').collect();
    let may_differ = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        ignored.iter().any(|text| line.contains(text.as_str()))
    };
    let lines = one.len().max(other.len());
    (0..lines)
        .find(|&line| match (one.get(line), other.get(line)) {
            (Some(one), Some(other)) => one != other && !(may_differ(one) && may_differ(other)),
            _ => true,
        })
        .map(|line| line + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_may_differ_do() {
        let ignored = ["time".to_owned()];
        for (one, other, expected) in [
            ("a\nb\n", "a\nb\n", None),
            ("a\nb\n", "a\nc\n", Some(2)),
            ("a\n", "a\nb\n", Some(2)),
            ("time 1\nb", "time 2\nb", None),
            ("time 1\nb", "no\nb", Some(1)),
            ("", "", None),
        ] {
            let found = first_difference(one.as_bytes(), other.as_bytes(), &ignored);
            assert_eq!(found, expected, "{one:?} {other:?}");
        }
    }
}
