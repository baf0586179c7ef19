//! Calls that are not expanded: recursion, calls by address, virtual functions, memory on the stack.

use super::harness::Device;
use super::inputs::Random;
use pagemill_ptx::TrapKind;

fn factorial(n: u32) -> u32 {
    (1..=n).product::<u32>().max(1)
}

fn fibonacci(n: u32) -> u32 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

/// By the closed forms of the first three rows.
fn ackermann(m: u32, n: u32) -> u32 {
    match m {
        0 => n + 1,
        1 => n + 2,
        _ => 2 * n + 3,
    }
}

#[test]
fn recursion_to_different_depths() {
    let values = Random(31).words(96);
    let mut device = Device::load("calls");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(3 * 96));
    device.launch("recursion", 1, 96, &[from.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 3 * 96);
    for (t, &x) in values.iter().enumerate() {
        assert_eq!(found[t], factorial(x % 13), "thread {t}");
        assert_eq!(found[96 + t], fibonacci(x % 12), "thread {t}");
        let wanted = match x % 3 {
            0 => ackermann(0, x % 5),
            _ => ackermann(2, x % 4) + 1000,
        };
        assert_eq!(found[192 + t], wanted, "thread {t}");
    }
}

#[test]
fn functions_that_call_each_other() {
    let values = Random(32).words(64);
    let mut device = Device::load("calls");
    let (from, out) = (device.upload(&values), device.upload(&[9u32; 64]));
    let traces = device.zeros::<u64>(64);
    device.launch("mutual", 1, 64, &[from.into(), out.into(), traces.into()]);
    let (found, traces): (Vec<u32>, Vec<u64>) =
        (device.download(out, 64), device.download(traces, 64));
    for (t, &x) in values.iter().enumerate() {
        let n = u64::from(x % 20);
        let steps = (0..=n).rev().zip([3, 5].into_iter().cycle());
        let trace = steps.fold(1u64, |trace, (n, factor)| trace.wrapping_mul(factor) + n);
        let wanted = match t % 4 {
            3 => (9, 1),
            _ => (u32::from(n % 2 == 0), trace),
        };
        assert_eq!((found[t], traces[t]), wanted, "thread {t}");
    }
}

#[derive(Clone, Default)]
struct Walk {
    sum: u64,
    steps: u32,
    path: [u8; 9],
    weight: f64,
}

fn walk(mut so_far: Walk, x: u32, depth: u32) -> Walk {
    let digits: [u32; 4] = std::array::from_fn(|i| (x >> (4 * i)) % 10);
    let digit = |at: u32| digits[at as usize % 4];
    if depth < 9 {
        so_far.path[depth as usize] = digit(depth) as u8;
    }
    so_far.sum += u64::from(digit(depth.wrapping_add(x)) * (depth + 1));
    so_far.steps += 1;
    so_far.weight = so_far.weight * 0.5 + f64::from(digits[0]);
    if x.is_multiple_of(7) || depth == 8 {
        return so_far;
    }
    let mut deeper = walk(so_far, x / 3 + digits[1], depth + 1);
    deeper.sum += u64::from(digit(depth));
    deeper
}

#[test]
fn structures_and_arrays_in_every_frame() {
    let values = Random(33).words(64);
    let mut device = Device::load("calls");
    let (from, out) = (device.upload(&values), device.zeros::<u64>(4 * 64));
    device.launch("structures", 1, 64, &[from.into(), out.into()]);
    let found: Vec<u64> = device.download(out, 4 * 64);
    for (t, &x) in values.iter().enumerate() {
        let end = walk(Walk::default(), x, 0);
        let digits = end.path.iter();
        let path = digits.fold(0, |path, &digit| path * 10 + u64::from(digit));
        let wanted = [end.sum, end.steps.into(), path, end.weight.to_bits()];
        assert_eq!(found[4 * t..4 * t + 4], wanted, "thread {t}");
    }
}

fn operation(number: u32, a: u32, b: u32) -> u32 {
    match number {
        0 => a.wrapping_add(b),
        1 => a.wrapping_sub(b),
        2 => a.wrapping_mul(b),
        _ => a.wrapping_pow(b),
    }
}

#[test]
fn functions_by_their_address() {
    let values = Random(34).words(64);
    for by_lane in [0u32, 1] {
        let mut device = Device::load("calls");
        let (from, out) = (device.upload(&values), device.zeros::<u32>(4 * 64));
        device.launch(
            "pointers",
            1,
            64,
            &[from.into(), out.into(), by_lane.into()],
        );
        let found: Vec<u32> = device.download(out, 4 * 64);
        for (t, &x) in values.iter().enumerate() {
            let lane = t as u32;
            let chosen = if by_lane == 1 { x % 4 } else { 1 };
            let again = if t % 2 == 1 { 0 } else { 2 };
            let wanted = [
                operation(chosen, x, lane % 8),
                operation(again, operation(again, x, 3), 3),
                operation(1, x, lane),
                u32::from(t % 3 == 0),
            ];
            let found: Vec<u32> = (0..4).map(|row| found[64 * row + t]).collect();
            assert_eq!(found, wanted, "thread {t}");
        }
    }
}

#[test]
fn an_address_that_is_no_function_is_named() {
    for address in [0u64, 0x600_0000_0000_0001, 12] {
        let mut device = Device::load("calls");
        let out = device.zeros::<u32>(1);
        let trap = device.trap("bad_pointer", 1, 32, &[out.into(), address.into()]);
        assert_eq!(trap.kind, TrapKind::BadCall { address });
        assert_eq!(trap.thread, Some([7, 0, 0]));
        assert!(
            trap.to_string().contains(&format!("{address:#x}")),
            "{trap}"
        );
    }
}

#[test]
fn virtual_functions() {
    let values = Random(35).words(64);
    let mut device = Device::load("calls");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(128));
    device.launch("virtuals", 1, 64, &[from.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 128);
    for (t, &word) in values.iter().enumerate() {
        let (x, lane) = (word % 100, t as u32);
        let (circle, a_box) = (3 * x * x, (x + 1) * lane);
        let inside = if t % 2 == 1 { (circle, 0) } else { (a_box, 4) };
        let whole = (2 * x + 50) * (3 * lane + 70);
        let wanted = match word % 3 {
            0 => (circle, 0),
            1 => (a_box, 4),
            _ => (whole.wrapping_sub(inside.0), 4 + inside.1),
        };
        assert_eq!((found[t], found[64 + t]), wanted, "thread {t}");
    }
}

#[test]
fn lanes_meet_inside_and_behind_their_calls() {
    let values = Random(36).words(64);
    for depth in [0u32, 1, 6] {
        let mut device = Device::load("calls");
        let (from, out) = (device.upload(&values), device.zeros::<u32>(64));
        device.launch("meetings", 1, 64, &[from.into(), out.into(), depth.into()]);
        let found: Vec<u32> = device.download(out, 64);
        let own = |t: usize| fibonacci(values[t] % 7);
        let deep = |t: usize| {
            let steps = (1..=depth).rev();
            steps.fold(own(t), |value, depth| value * 3 + depth)
        };
        for t in 0..64 {
            let warp = t / 32 * 32;
            let odd = (0..32).filter(|lane| own(warp + lane) % 2 == 1);
            let ballot = odd.fold(0u32, |bits, lane| bits | 1 << lane);
            let wanted = values[(t + 1) % 64]
                .wrapping_add(deep(t ^ 1))
                .wrapping_add(depth * (depth + 1) / 2)
                .wrapping_add(ballot);
            assert_eq!(found[t], wanted, "thread {t} at depth {depth}");
        }
    }
}

fn reversed(values: &[u32], depth: u32) -> u32 {
    let copy: Vec<u32> = values
        .iter()
        .rev()
        .map(|value| value.wrapping_add(depth))
        .collect();
    let mut sum = copy[0];
    if values.len() > 1 {
        let rest = reversed(&copy[..values.len() - 1], depth + 1);
        sum = sum.wrapping_mul(31).wrapping_add(rest);
    }
    copy.iter()
        .fold(sum, |sum, value| sum.wrapping_mul(7).wrapping_add(*value))
}

#[test]
fn memory_on_the_stack() {
    let values = Random(37).words(40);
    let mut device = Device::load("calls");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(32));
    device.launch("stack_memory", 1, 32, &[from.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 32);
    for t in 0..32 {
        assert_eq!(
            found[t],
            reversed(&values[t..t + t % 6 + 1], 0),
            "thread {t}"
        );
    }
}

#[test]
fn the_stack_has_an_end() {
    let mut device = Device::load("calls");
    let out = device.zeros::<u32>(32);
    device.launch("deep", 1, 32, &[out.into(), 0u32.into()]);
    let found: Vec<u32> = device.download(out, 32);
    assert_eq!(found, [1, 0].repeat(16));
    let trap = device.trap("deep", 1, 32, &[out.into(), 100_000u32.into()]);
    let message = trap.to_string();
    let TrapKind::StackOverflow { bytes, limit } = trap.kind else {
        panic!("{message}");
    };
    assert!(
        bytes > limit && limit >= u64::from(device.stack_bytes),
        "{message}"
    );
    assert!(message.contains("cudaLimitStackSize"), "{message}");
    // Deeper with more.
    device.stack_bytes = 64 << 10;
    device.launch("deep", 1, 32, &[out.into(), 500u32.into()]);
    device.stack_bytes = 256;
    device.trap("deep", 1, 32, &[out.into(), 500u32.into()]);
}

#[test]
fn stacks_and_calls_written_by_hand() {
    let values = Random(38).words(32);
    let mut device = Device::load("by_hand_stack");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(7 * 32));
    device.launch("stack", 1, 32, &[from.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 7 * 32);
    for (t, &x) in values.iter().enumerate() {
        let (n, lane) = (x % 9, t as u32);
        let product = (0..n).fold(5, |product: u32, _| product * 3 + 5);
        let by_registers = match n {
            4 => (77, 5),
            _ => (n * (n + 1) / 2, product),
        };
        let by_list = match t % 2 {
            0 => x.wrapping_add(1),
            _ => x.wrapping_mul(2),
        };
        let wanted = [
            by_registers.0,
            by_registers.1,
            by_list,
            1,
            0,
            0,
            x.wrapping_add(4 * lane),
        ];
        let found: Vec<u32> = (0..7).map(|row| found[32 * row + t]).collect();
        assert_eq!(found, wanted, "thread {t}");
    }
}
