//! Lanes that leave early do not hold up those that stay.

use pagemill_ptx::{DeviceMemory, Launch, Module, Output, Trap, run_functional};

/// Runs kernel `k` with one pointer to `words` zero words; what they hold afterwards.
fn run(body: &str, threads: u32, words: u64) -> Result<Vec<u32>, Box<Trap>> {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b32 %r<9>; .reg .pred %p<9>; .reg .b64 %d<9>;\n\
         ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.u64 %d2, %d0, %d1;\n{body}\n}}\n"
    );
    let module = Module::load("early.ptx", &text).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let linked = module.link(&mut memory).expect("there are no variables");
    let out = memory.alloc("out", 4 * words, 256).expect("there is room");
    let kernel = module.kernel("k").expect("it is there");
    let launch = Launch::new(
        &module,
        &linked,
        kernel,
        [1; 3],
        [threads, 1, 1],
        0,
        &out.to_le_bytes(),
    );
    run_functional(
        &launch.expect("it can be launched"),
        &mut memory,
        &mut Output::default(),
    )?;
    let bytes = memory.bytes(out, 4 * words).expect("allocated");
    Ok(bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect())
}

/// Odd threads store 1 and fall into the common `ret`; even ones cross a barrier and store 2.
#[test]
fn a_shared_exit_is_no_meeting_point() {
    let body = "and.b32 %r1, %r0, 1;\nsetp.ne.u32 %p0, %r1, 0;\n@%p0 bra LEAVE;\n\
                bar.sync 0;\nst.global.u32 [%d2], 2;\nbra END;\n\
                LEAVE:\nst.global.u32 [%d2], 1;\nEND:\nret;";
    let wanted: Vec<u32> = (0..70).map(|thread| 2 - thread % 2).collect();
    assert_eq!(run(body, 70, 70).expect("it is correct"), wanted);
}

/// A thread that waits for its own warp at a real meeting point has not reached the barrier.
#[test]
fn a_barrier_in_one_branch_only_is_an_error() {
    let body = "setp.lt.u32 %p0, %r0, 7;\n@%p0 bra SKIP;\nbar.sync 0;\nSKIP:\nst.global.u32 [%d2], 3;\nret;";
    let trap = run(body, 32, 32).expect_err("seven threads go around the barrier");
    assert!(trap.to_string().contains("only lanes 0xffffff80"), "{trap}");
}

/// Threads leave a loop one after the other; the rest still meet at the barrier.
#[test]
fn leaving_a_loop_with_a_barrier() {
    let body = "mov.u32 %r1, 0;\nLOOP:\nsetp.eq.u32 %p0, %r1, %r0;\n@%p0 bra END;\n\
                bar.sync 0;\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%d2], %r1;\nbra LOOP;\nEND:\nret;";
    let wanted: Vec<u32> = (0..40).collect();
    assert_eq!(run(body, 40, 40).expect("it is correct"), wanted);
}

/// As above, with the test at the end of the loop: what comes behind it is for each thread when it has left.
#[test]
fn leaving_a_loop_that_is_tested_at_its_end() {
    let body = "mov.u32 %r1, 0;\nLOOP:\nbar.sync 0;\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%d2], %r1;\n\
                setp.le.u32 %p0, %r1, %r0;\n@%p0 bra LOOP;\nadd.u32 %r1, %r1, 100;\nst.global.u32 [%d2], %r1;\nret;";
    let wanted: Vec<u32> = (101..141).collect();
    assert_eq!(run(body, 40, 40).expect("it is correct"), wanted);
}

/// The same where nothing but the end comes behind the loop.
#[test]
fn leaving_a_loop_to_the_end() {
    let body = "mov.u32 %r1, 0;\nLOOP:\nbar.sync 0;\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%d2], %r1;\n\
                setp.le.u32 %p0, %r1, %r0;\n@%p0 bra LOOP;\nret;";
    let wanted: Vec<u32> = (1..41).collect();
    assert_eq!(run(body, 40, 40).expect("it is correct"), wanted);
}
