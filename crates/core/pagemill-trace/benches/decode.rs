//! How fast a trace is decoded.

use std::hint::black_box;

use pagemill_testkit::bench::rate;
use pagemill_trace::{Access, NativeReader, NativeWriter, Reference, Trace};

fn main() {
    let mut writer = NativeWriter::new(Vec::new()).expect("memory takes it");
    let mut state = 1_u64;
    for number in 0..4_000_000_u64 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        // Three of four references go on where the last was, as in programs.
        let address = if number % 4 == 0 {
            state >> 38
        } else {
            number * 8
        };
        let access = if number % 3 == 0 {
            Access::Write
        } else {
            Access::Read
        };
        let reference = Reference {
            address,
            bytes: 8,
            task: 0,
            access,
        };
        writer.write(reference).expect("memory takes it");
    }
    let bytes = writer.finish().expect("memory takes it");
    rate("trace-decode", "references/s", || {
        let mut trace = NativeReader::new(&bytes[..]).expect("it is a trace");
        let (mut block, mut references) = (Vec::new(), 0);
        loop {
            trace.next_block(&mut block).expect("it is whole");
            if block.is_empty() {
                return references;
            }
            references += black_box(&block).len() as u64;
        }
    });
}
