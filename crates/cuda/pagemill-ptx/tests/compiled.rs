//! What machine code remembers of memory must not outlive what it remembers it of.

use pagemill_ptx::{
    DeviceMemory, Executor, Launch, Linked, Module, Output, TrapKind, run_functional,
};

/// Loads a word `rounds` times, `step` bytes apart, and stores the last.
const WALK: &str = ".version 8.0\n.target sm_75\n.address_size 64\n\
    .visible .entry walk(.param .u64 from, .param .u64 step, .param .u32 rounds, .param .u64 to)\n{\n\
    .reg .b64 %d<8>; .reg .b32 %r<4>; .reg .pred %p<2>;\n\
    ld.param.u64 %d0, [from];\nld.param.u64 %d1, [step];\nld.param.u32 %r0, [rounds];\nld.param.u64 %d2, [to];\n\
    L:\nld.global.u32 %r1, [%d0];\nadd.u64 %d0, %d0, %d1;\nsub.u32 %r0, %r0, 1;\n\
    setp.ne.u32 %p0, %r0, 0;\n@%p0 bra L;\n\
    st.global.u32 [%d2], %r1;\nret;\n}\n";

struct Device {
    module: Module,
    linked: Linked,
    memory: DeviceMemory,
}

impl Device {
    fn new() -> Self {
        let module = Module::load("walk.ptx", WALK).unwrap_or_else(|error| panic!("{error}"));
        let mut memory = DeviceMemory::new();
        let linked = module.link(&mut memory).expect("there are no variables");
        Self {
            module,
            linked,
            memory,
        }
    }

    fn walk(&mut self, (from, step, rounds, to): (u64, u64, u32, u64)) -> Result<(), TrapKind> {
        let mut image = Vec::new();
        image.extend(from.to_le_bytes());
        image.extend(step.to_le_bytes());
        image.extend(u64::from(rounds).to_le_bytes());
        image.extend(to.to_le_bytes());
        let kernel = self.module.kernel("walk").expect("it is there");
        let (grid, block) = ([2, 1, 1], [64, 1, 1]);
        let launch = Launch::new(&self.module, &self.linked, kernel, grid, block, 0, &image)
            .expect("it can be launched")
            .with_executor(Executor::Compiled);
        run_functional(&launch, &mut self.memory, &mut Output::default())
            .map(drop)
            .map_err(|trap| trap.kind)
    }
}

#[test]
fn alignment_is_that_of_addresses() {
    let mut device = Device::new();
    device
        .memory
        .alloc_at("odd", 0x1001, 64)
        .expect("it is free");
    let to = device.memory.alloc("to", 4, 4).expect("there is room");
    assert_eq!(device.walk((0x1004, 4, 8, to)), Ok(()));
    let trap = device
        .walk((0x1004, 1, 2, to))
        .expect_err("it is misaligned");
    assert!(
        matches!(
            trap,
            TrapKind::Misaligned {
                address: 0x1005,
                ..
            }
        ),
        "{trap:?}"
    );
}

/// Hardware protects memory by pages: a load just beyond an allocation reads something, a store there is refused here all the same.
#[test]
fn loads_beyond_an_allocation_can_be_let_pass() {
    let mut device = Device::new();
    let from = device.memory.alloc("from", 64, 128).expect("there is room");
    let to = device.memory.alloc("to", 4, 4096).expect("there is room");
    device.memory.set_read_granule(128);
    assert_eq!(device.walk((from, 4, 17, to)), Ok(()));
    let threads = 2 * 64;
    assert_eq!(device.memory.loads_beyond(), threads);
    assert_eq!(device.walk((from, 4, 32, to)), Ok(()));
    assert_eq!(device.memory.loads_beyond(), threads * (1 + 16));
    for (steps, to) in [(33, to), (16, to + 4)] {
        let trap = device.walk((from, 4, steps, to));
        assert!(
            matches!(trap, Err(TrapKind::OutOfBounds { .. })),
            "{trap:?}"
        );
    }
}

#[test]
fn accesses_end_where_the_allocation_does() {
    let mut device = Device::new();
    let from = device.memory.alloc("from", 64, 4).expect("there is room");
    let to = device.memory.alloc("to", 4, 4).expect("there is room");
    assert_eq!(device.walk((from, 4, 16, to)), Ok(()));
    let trap = device
        .walk((from, 4, 17, to))
        .expect_err("it leaves the allocation");
    assert!(
        matches!(trap, TrapKind::OutOfBounds { address, .. } if address == from + 64),
        "{trap:?}"
    );
}

#[test]
fn memory_that_was_given_back_is_forgotten() {
    let mut device = Device::new();
    device
        .memory
        .alloc_at("first", 0x1000, 64)
        .expect("it is free");
    let to = device.memory.alloc("to", 4, 4).expect("there is room");
    assert_eq!(device.walk((0x1000, 4, 8, to)), Ok(()));
    device.memory.free(0x1000).expect("it is there");
    assert!(device.walk((0x1000, 4, 8, to)).is_err());
    device
        .memory
        .alloc_at("second", 0x1000, 64)
        .expect("it is free");
    device.memory.bytes_mut(0x101c, 4).expect("inside").fill(7);
    assert_eq!(device.walk((0x1000, 4, 8, to)), Ok(()));
    assert_eq!(device.memory.bytes(to, 4).expect("inside"), [7; 4]);
    let mut copy = device.memory.clone();
    copy.bytes_mut(0x101c, 4).expect("inside").fill(9);
    device.memory = copy;
    assert_eq!(device.walk((0x1000, 4, 8, to)), Ok(()));
    assert_eq!(device.memory.bytes(to, 4).expect("inside"), [9; 4]);
}
