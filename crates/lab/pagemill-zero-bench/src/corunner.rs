use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use pagemill_linux::Mapping;
use pagemill_linux::clock::cycles;
use pagemill_report::{ResultSet, Row};

use super::pool::{BenchError, BenchPool, SIZE, kernel_memory};
use super::samples::Samples;
use super::{Plan, result};

/// What each loop works on: it fits the second-level cache, and suffers when a page of zeroes passes through.
const WORK_BYTES: usize = 16 << 10;

/// One turn of a program's loop.
type Work = fn(&mut [u8]);

/// The programs of the document's table, and how often their loop runs between two faults.
const PROGRAMS: [(&str, Work, usize); 3] = [
    ("jhash 100 loop", jhash_all, 100),
    ("aes 1 loop", aes_all, 1),
    ("aes 10 loop", aes_all, 10),
];

/// Programs on a core where huge pages are faulted: cycles of the loop by itself, and with the fault before it.
pub(super) fn run(plan: &Plan) -> Result<ResultSet, BenchError> {
    let bytes = plan.pages * SIZE.bytes();
    let mut pool = BenchPool::start(plan.pages, plan.pages)?;
    let mut rows = Vec::new();
    for (name, work, loops) in PROGRAMS {
        let mut kernel = Cost::default();
        let mut pooled = Cost::default();
        let before = pool.until_clean()?.counters.cleaner_cpu_ns;
        kernel.measure(&mut kernel_memory(bytes)?, work, loops);
        let lease = pool.lease(bytes as u64)?;
        pooled.measure(&mut lease.map(false)?, work, loops);
        pool.client.give_back(lease)?;
        let cleaner_ns = pool.until_clean()?.counters.cleaner_cpu_ns - before;
        rows.push(row(name, "kernel", &kernel, 0.0));
        rows.push(row(
            name,
            "pool",
            &pooled,
            cleaner_ns as f64 / plan.pages as f64,
        ));
    }
    Ok(result(
        "zero-corunner",
        "Programs beside huge page faults",
        rows,
        Vec::new(),
    ))
}

#[derive(Default)]
struct Cost {
    work: Samples,
    both: Samples,
}

impl Cost {
    fn measure(&mut self, memory: &mut Mapping, work: Work, loops: usize) {
        let mut data = vec![1; WORK_BYTES];
        work(&mut data);
        for page in memory.bytes_mut().chunks_mut(SIZE.bytes()) {
            let begun = cycles();
            page[0] = 1;
            let faulted = cycles();
            for _ in 0..loops {
                work(&mut data);
            }
            let done = cycles();
            self.work.push((done - faulted) as f64);
            self.both.push((done - begun) as f64);
        }
        std::hint::black_box(data);
    }
}

fn row(program: &str, way: &str, cost: &Cost, cleaner_ns: f64) -> Row {
    let (work, both) = (cost.work.trimmed(), cost.both.trimmed());
    Row::new()
        .parameter("program", program)
        .parameter("source", way)
        .metric("loop_cycles", work.mean())
        .metric("loop_std_cycles", work.deviation())
        .metric("fault_and_loop_cycles", both.mean())
        .metric("fault_and_loop_std_cycles", both.deviation())
        .metric("cleaner_cpu_ns_per_page", cleaner_ns)
}

/// Hashes all of `data` (Jenkins 2006, `lookup3`), as Linux's `jhash` does, and leaves the hash at its start.
fn jhash_all(data: &mut [u8]) {
    let mut state = [0xDEAD_BEEF_u32.wrapping_add(data.len() as u32); 3];
    for twelve in data.chunks_exact(12) {
        for (word, bytes) in state.iter_mut().zip(twelve.chunks_exact(4)) {
            let bytes = bytes.try_into().unwrap_or([0; 4]);
            *word = word.wrapping_add(u32::from_le_bytes(bytes));
        }
        lookup3_mix(&mut state);
    }
    data[..4].copy_from_slice(&state[2].to_le_bytes());
}

fn lookup3_mix([a, b, c]: &mut [u32; 3]) {
    for [first, second, third] in [[4, 6, 8], [16, 19, 4]] {
        *a = a.wrapping_sub(*c) ^ c.rotate_left(first);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(second);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(third);
        *b = b.wrapping_add(*a);
    }
}

/// Encrypts all of `data`, block by block.
fn aes_all(data: &mut [u8]) {
    let cipher = Aes128::new(&Array::from([7; 16]));
    for block in data.chunks_exact_mut(16) {
        let mut one = Array::from([0; 16]);
        one.copy_from_slice(block);
        cipher.encrypt_block(&mut one);
        block.copy_from_slice(&one);
    }
}
