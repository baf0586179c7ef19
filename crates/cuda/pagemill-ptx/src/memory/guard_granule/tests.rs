use super::*;

#[test]
fn loads_succeed_to_the_end_of_the_granule() {
    let mut memory = DeviceMemory::new();
    let a = memory.alloc("a", 1000, 512).expect("there is room");
    let passes = |memory: &DeviceMemory, offset: u64| memory.reads_beyond(a + offset, 8);
    assert!(!passes(&memory, 1000), "unless a scenario asks for it");
    memory.set_read_granule(512);
    for (offset, expected) in [(1000, true), (1016, true), (1020, false), (1024, false)] {
        assert_eq!(passes(&memory, offset), expected, "{offset}");
    }
    assert!(!memory.reads_beyond(a - 8, 8), "nothing is before it");
    let b = memory.alloc("b", 1024, 4096).expect("there is room");
    for (offset, expected) in [(1024, true), (1528, true), (1536, false)] {
        assert_eq!(memory.reads_beyond(b + offset, 8), expected, "{offset}");
    }
    memory
        .bytes_mut(a + 996, 4)
        .expect("inside")
        .copy_from_slice(&[1, 2, 3, 4]);
    let mut bytes = [9; 8];
    memory.read_beyond(a + 996, &mut bytes);
    assert_eq!(bytes, [1, 2, 3, 4, 0, 0, 0, 0]);
}
