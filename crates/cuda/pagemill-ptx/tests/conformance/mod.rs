//! Every instruction the executor supports, run in kernels that nvcc compiled, against CPU code.
//!
//! The kernels are in `tests/kernels`. Most are element-wise: each row of their results is one instruction applied to
//! many inputs ([`rows`]). The rest are small programs with a model in Rust beside each test.

mod approximate;
mod atomics;
mod barrier;
mod bulk;
mod calls;
mod clusters;
mod compare;
mod control;
mod convert;
mod convert_float;
mod convert_fp8;
mod coverage;
mod device_launches;
mod extended;
mod float32;
mod float64;
mod functions;
mod half_precision;
mod harness;
mod heap;
mod inputs;
mod integer;
mod integer_bits;
mod lanes;
mod matrix;
mod matrix_group;
mod matrix_lanes;
mod mbarrier;
mod memory;
mod oracle;
mod print;
mod programs;
mod rows;
mod special;
mod stepped;
mod tensor;
mod texture;
mod traps;
mod unsupported;
mod value;
mod video;
mod warp;
mod wmma;
