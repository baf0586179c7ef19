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
        _ if rights.starts_with("---") => return None,
        "[heap]" => "malloc or new: its heap".to_owned(),
        "" => "malloc or mmap: anonymous memory".to_owned(),
        _ if name.starts_with("[stack") => "a local variable: its stack".to_owned(),
        _ if name.starts_with('[') => name.trim_matches(['[', ']']).to_owned(),
        _ => format!("a variable or mapping of {name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
00400000-00500000 rw-p 00000000 fe:01 12345                              /home/me/program
01000000-01100000 rw-p 00000000 00:00 0                                  [heap]
7f0000000000-7f0000100000 rw-p 00000000 00:00 0
7f0000100000-7f0000200000 ---p 00000000 00:00 0
7ffe00000000-7ffe00100000 rw-p 00000000 00:00 0                          [stack]
";

    #[test]
    fn memory_is_named_by_its_range() {
        for (address, name) in [
            (
                0x0040_0000,
                Some("a variable or mapping of /home/me/program"),
            ),
            (0x0100_0010, Some("malloc or new: its heap")),
            (0x7f00_000f_ffff, Some("malloc or mmap: anonymous memory")),
            (0x7f00_0010_0000, None),
            (0x7ffe_0000_0000, Some("a local variable: its stack")),
            (0x0050_0000, None),
        ] {
            assert_eq!(describe_in(MAPS, address).as_deref(), name, "{address:#x}");
        }
    }

    #[test]
    fn memory_of_this_process_is_known() {
        let local = 7_u8;
        let heap = Box::new(7_u8);
        assert!(describe(&raw const local as u64).is_some());
        assert!(describe(&raw const *heap as u64).is_some());
        assert_eq!(describe(8), None);
    }
}
