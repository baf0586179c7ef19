use super::*;

const MAPS: &str = "\
00400000-00500000 rw-p 00000000 fe:01 12345                              /srv/program
01000000-01100000 rw-p 00000000 00:00 0                                  [heap]
7f0000000000-7f0000100000 rw-p 00000000 00:00 0
7f0000100000-7f0000200000 ---p 00000000 00:00 0
7f0000200000-7f0000300000 rw-s 00000000 00:01 20                         /memfd:pagemill-managed (deleted)
7f0000300000-7f0000400000 rw-p 00000000 fe:01 12346                      /opt/libpagemill_cudart.so
7ffe00000000-7ffe00100000 rw-p 00000000 00:00 0                          [stack]
";

#[test]
fn memory_is_named_by_its_range() {
    for (address, name) in [
        (0x0040_0000, Some("a variable or mapping of /srv/program")),
        (0x0100_0010, Some("malloc or new: its heap")),
        (0x7f00_000f_ffff, Some("malloc or mmap: anonymous memory")),
        (0x7f00_0010_0000, None),
        (0x7f00_0020_0000, None),
        (0x7f00_0030_0000, None),
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
