use super::*;

#[test]
fn allocations_avoid_what_was_placed_by_hand() {
    let mut memory = DeviceMemory::new();
    memory
        .alloc_at("mine", FIRST_ADDRESS + 64, 100)
        .expect("it is free");
    let other = memory.alloc("other", 100, 256).expect("there is room");
    assert!(other >= FIRST_ADDRESS + 164);
    assert!(matches!(
        memory.alloc_at("again", other + 99, 4),
        Err(MemoryError::Refused { .. })
    ));
    memory
        .alloc_at("beside", other + 104, 4)
        .expect("it is free");
}

#[test]
fn bytes_end_where_the_allocation_does() {
    let mut memory = DeviceMemory::new();
    let a = memory.alloc("a", 10, 1).expect("there is room");
    memory
        .bytes_mut(a + 8, 2)
        .expect("inside")
        .copy_from_slice(&[1, 2]);
    assert_eq!(memory.bytes(a, 10).expect("inside")[7..], [0, 1, 2]);
    let error = memory
        .bytes(a + 9, 2)
        .expect_err("one too many")
        .to_string();
    assert!(
        error.contains("\"a\"") && error.contains("10 bytes"),
        "{error}"
    );
    assert!(memory.bytes(u64::MAX, 2).is_err());
    assert_eq!(memory.find(a + 10), None);
    let beside = |address: u64| memory.nearest(address).to_string();
    assert!(beside(a + 9).contains("it is in"), "{}", beside(a + 9));
    for (address, words) in [
        (a + 10, "which ends right before"),
        (a + 11, "which ends 1 byte before"),
        (a + 12, "which ends 2 bytes before"),
        (a - 1, "which starts 1 byte after"),
    ] {
        assert!(beside(address).ends_with(words), "{}", beside(address));
    }
}

#[test]
fn what_just_misses_an_allocation_is_explained_by_it() {
    let mut memory = DeviceMemory::new();
    memory.know_cpu_memory(|_| Some("its heap".to_owned()));
    let a = memory.alloc("a", 4000, 1).expect("there is room");
    for (address, words) in [
        (a + 4000, "which ends right before"),
        (a + 8000, "which ends 4000 bytes before"),
        (a - 4, "which starts 4 bytes after"),
        (a + 8096, "or cudaMallocHost"),
        (a - 4096, "or cudaMallocHost"),
    ] {
        let said = memory.nearest(address).to_string();
        assert!(said.ends_with(words), "{address:#x}: {said}");
    }
}

#[test]
fn freed_memory_is_remembered() {
    let mut memory = DeviceMemory::new();
    let a = memory.alloc("a", 64, 1).expect("there is room");
    memory.free(a).expect("it is there");
    assert!(matches!(
        memory.free(a),
        Err(MemoryError::NotAnAllocation { .. })
    ));
    let error = memory.bytes(a + 3, 1).expect_err("it is gone").to_string();
    assert!(error.contains("freed allocation \"a\""), "{error}");
    assert_ne!(memory.alloc("b", 64, 1), Ok(a));
}

#[test]
fn lent_memory_is_the_lenders() {
    let mut memory = DeviceMemory::new();
    let lent = Box::leak(vec![7u8; 16].into_boxed_slice());
    memory.lend_at("lent", 4096, lent).expect("it is free");
    assert_eq!(memory.bytes(4104, 8).expect("inside"), [7; 8]);
    assert!(memory.alloc_at("over", 4111, 1).is_err());
    let mut copy = memory.clone();
    copy.bytes_mut(4096, 1).expect("inside")[0] = 1;
    assert_eq!(memory.bytes(4096, 1).expect("inside"), [7]);
    memory.free(4096).expect("it is there");
    assert!(memory.bytes(4096, 1).is_err());
}

#[test]
fn impossible_sizes_are_refused() {
    let mut memory = DeviceMemory::new();
    for bytes in [1 << 55, u64::MAX, 1 << 60] {
        assert!(
            matches!(
                memory.alloc("huge", bytes, 1),
                Err(MemoryError::Refused { .. })
            ),
            "{bytes}"
        );
    }
    assert!(memory.alloc("aligned", 1, u64::MAX).is_err());
    assert!(memory.alloc_at("wrapping", u64::MAX - 1, 4).is_err());
}

#[test]
fn more_than_the_host_would_promise_can_be_allocated() {
    let mut memory = DeviceMemory::new();
    let bytes = 1 << 40;
    let start = memory.alloc("pool", bytes, 256).expect("addresses");
    memory
        .bytes_mut(start + bytes - 1, 1)
        .expect("inside")
        .fill(7);
    let last = memory.bytes(start + bytes - 2, 2).expect("inside");
    assert_eq!(last, [0, 7]);
}
