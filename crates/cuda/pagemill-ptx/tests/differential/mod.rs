//! A second model of PTX arithmetic, made of exact numbers and one rounding, beside the executor.
//!
//! Forms are made from what an instruction may combine: type, rounding, `.ftz`, `.sat`. Each runs in a kernel of its own
//! on edge cases and random bits. `PAGEMILL_DIFFERENTIAL_INPUTS` sets the inputs of a form.

mod atomics;
mod carry;
mod exact;
mod fields;
mod floats;
mod integers;
mod order;
mod packed;
mod run;
