//! What an address of the CPU's memory is.

/// Names the memory of this process that holds `address`; `None` if it has none there.
pub(crate) fn describe(address: u64) -> Option<String> {
    describe_in(&std::fs::read_to_string("/proc/self/maps").ok()?, address)
}

/// The same of the text of a `maps` file of Linux.
fn describe_in(maps: &str, address: u64) -> Option<String> {
    let line = maps.lines().find(|line| {
        let range = line
            .split(' ')
            .next()
            .and_then(|range| range.split_once('-'));
        let number = |text| u64::from_str_radix(text, 16).unwrap_or(0);
        range.is_some_and(|(start, end)| (number(start)..number(end)).contains(&address))
    })?;
    // Range, rights, offset, device, inode, name.
    let mut fields = line.split_whitespace().skip(1);
    let rights = fields.next()?;
    let name = fields.nth(3).unwrap_or("");
    Some(match name {
        _ if rights.starts_with("---") || is_ours(name) => return None,
        "[heap]" => "malloc or new: its heap".to_owned(),
        "" => "malloc or mmap: anonymous memory".to_owned(),
        _ if name.starts_with("[stack") => "a local variable: its stack".to_owned(),
        _ if name.starts_with('[') => name.trim_matches(['[', ']']).to_owned(),
        _ => format!("a variable or mapping of {name}"),
    })
}

/// Whether a mapping is this library's own: the room behind managed memory, and its own file.
fn is_ours(name: &str) -> bool {
    name.starts_with("/memfd:pagemill") || name.contains("/libpagemill_")
}

#[cfg(test)]
mod tests;
