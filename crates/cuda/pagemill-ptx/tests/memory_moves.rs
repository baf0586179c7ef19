//! Reserved addresses and allocations that move, against a list of ranges.

use pagemill_ptx::DeviceMemory;
use proptest::prelude::*;

/// One allocation of the model: where it is, and the byte it is filled with.
type Model = Vec<(u64, u64, u8)>;

const BASE: u64 = 0x20_0000_0000;
const SLOT: u64 = 64;

fn overlaps(model: &Model, start: u64, bytes: u64) -> bool {
    let mut ranges = model.iter();
    ranges.any(|&(other, length, _)| start < other + length && other < start + bytes)
}

proptest! {
    #[test]
    fn moves_keep_bytes_and_never_overlap(steps in prop::collection::vec((0u64..12, 0u64..12, 1u64..3), 1..60)) {
        let mut memory = DeviceMemory::new();
        let mut model = Model::new();
        for (number, (from, to, slots)) in steps.into_iter().enumerate() {
            let (from, to, bytes) = (BASE + from * SLOT, BASE + to * SLOT, slots * SLOT);
            match model.iter().position(|&(start, ..)| start == from) {
                Some(at) => {
                    let moved = model.remove(at);
                    let is_free = !overlaps(&model, to, moved.1);
                    prop_assert_eq!(memory.relocate(from, to).is_ok(), is_free);
                    model.push((if is_free { to } else { from }, moved.1, moved.2));
                }
                None => {
                    prop_assert!(memory.relocate(from, to).is_err());
                    let fits = !overlaps(&model, from, bytes);
                    prop_assert_eq!(memory.alloc_at("test", from, bytes).is_ok(), fits);
                    if fits {
                        memory.bytes_mut(from, bytes).expect("allocated").fill(number as u8);
                        model.push((from, bytes, number as u8));
                    }
                }
            }
            prop_assert!(memory.allocations().is_sorted_by_key(|allocation| allocation.address()));
            for &(start, bytes, value) in &model {
                let found = memory.bytes(start, bytes).expect("allocated");
                prop_assert!(found.iter().all(|&byte| byte == value));
            }
        }
    }

    #[test]
    fn reserved_addresses_stay_free(sizes in prop::collection::vec((1u64..5000, 0u32..14, any::<bool>()), 1..40)) {
        let mut memory = DeviceMemory::new();
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for (bytes, align, is_allocated) in sizes {
            let align = 1 << align;
            let address = match is_allocated {
                true => memory.alloc("test", bytes, align),
                false => memory.reserve("test", bytes, align),
            };
            let address = address.expect("there are addresses");
            prop_assert!(address.is_multiple_of(align));
            prop_assert!(taken.iter().all(|&(start, end)| address + bytes < start || end < address));
            prop_assert_eq!(memory.find(address).is_some(), is_allocated);
            taken.push((address, address + bytes));
        }
    }
}
