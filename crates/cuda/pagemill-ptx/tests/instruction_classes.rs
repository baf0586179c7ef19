//! In whose pipe an instruction is timed.

use pagemill_ptx::InstructionClass::{self, Float32, Float64, Integer, IntegerMultiply};
use pagemill_ptx::Module;

fn class(instruction: &str) -> InstructionClass {
    let text = format!(
        ".version 8.6\n.target sm_100\n.address_size 64\n.visible .entry k()\n{{\n.reg .b16 %h<4>;\n\
         .reg .b32 %r<4>;\n.reg .f32 %f<4>;\n.reg .f64 %d<4>;\n.reg .b64 %x<4>;\n{instruction};\nret;\n}}\n"
    );
    let module = Module::load("classes.ptx", &text);
    let module = module.unwrap_or_else(|error| panic!("{error}\n{text}"));
    module.kernel("k").expect("it is there").instructions()[0].class
}

#[test]
fn arithmetic_is_timed_by_its_precision_whatever_the_operation() {
    for operation in ["add", "sub", "mul", "min", "max", "fma.rn"] {
        let is_fused = operation.starts_with("fma");
        for (ty, name, expected) in [("f32", "%f", Float32), ("f64", "%d", Float64)] {
            let third = if is_fused {
                format!(", {name}3")
            } else {
                String::new()
            };
            let instruction = format!("{operation}.{ty} {name}0, {name}1, {name}2{third}");
            assert_eq!(class(&instruction), expected, "{instruction}");
        }
    }
    for instruction in [
        "mul.f16 %h0, %h1, %h2",
        "add.f16x2 %r0, %r1, %r2",
        "mul.f32x2 %x0, %x1, %x2",
    ] {
        assert_eq!(class(instruction), Float32, "{instruction}");
    }
    assert_eq!(class("add.s32 %r0, %r1, %r2"), Integer);
    assert_eq!(class("mul.lo.s32 %r0, %r1, %r2"), IntegerMultiply);
}
