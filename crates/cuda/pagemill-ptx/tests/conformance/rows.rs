//! Element-wise kernels: each row of results is one instruction, checked against one function.

use super::harness::Device;
use super::inputs::Inputs;
use super::value::Value;

/// Whether a row's result is right for (a, b, c); otherwise what was wanted.
type Check = Box<dyn Fn(u64, u64, u64, u64) -> Result<(), String>>;

/// What one row of results must hold.
pub struct Row {
    name: &'static str,
    check: Check,
}

/// A row that must be exactly what `model` computes from the raw inputs.
pub fn row<T: Value>(name: &'static str, model: impl Fn(u64, u64, u64) -> T + 'static) -> Row {
    let check = move |a, b, c, found: u64| {
        let wanted = model(a, b, c);
        if wanted.is_pattern(found) {
            Ok(())
        } else {
            Err(format!("{:#x} ({wanted:?})", wanted.to_bits64()))
        }
    };
    Row {
        name,
        check: Box::new(check),
    }
}

/// A row with a check of its own.
pub fn checked(
    name: &'static str,
    check: impl Fn(u64, u64, u64, u64) -> Result<(), String> + 'static,
) -> Row {
    Row {
        name,
        check: Box::new(check),
    }
}

const BLOCK: u32 = 128;

/// Runs `kernel` of `file` on `inputs` and checks every row.
pub fn check_rows(file: &str, kernel: &str, inputs: &Inputs, rows: &[Row]) {
    let count = inputs.len();
    let mut device = Device::load(file);
    let [a, b, c] = [&inputs.a, &inputs.b, &inputs.c].map(|values| device.upload(values));
    // One more row than expected: a kernel that writes it has a row without a model.
    let canary = 0xDEAD_BEEF_0BAD_CAFE;
    let out = device.upload(&vec![canary; count * (rows.len() + 1)]);
    let blocks = (count as u32).div_ceil(BLOCK);
    device.launch(
        kernel,
        blocks,
        BLOCK,
        &[
            a.into(),
            b.into(),
            c.into(),
            out.into(),
            (count as u32).into(),
        ],
    );
    let results: Vec<u64> = device.download(out, count * (rows.len() + 1));
    assert!(
        results[count * rows.len()..]
            .iter()
            .all(|&bits| bits == canary),
        "{file}: {kernel} has more rows"
    );
    for (row, found) in rows.iter().zip(results.chunks(count)) {
        for (i, &found) in found.iter().enumerate() {
            let (a, b, c) = (inputs.a[i], inputs.b[i], inputs.c[i]);
            if let Err(wanted) = (row.check)(a, b, c, found) {
                panic!(
                    "{file}: {}: a={a:#x} b={b:#x} c={c:#x}: found {found:#x}, wanted {wanted}",
                    row.name
                );
            }
        }
    }
}
