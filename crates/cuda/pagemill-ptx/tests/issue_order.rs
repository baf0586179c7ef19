//! The order of issue against the rules that a compiler keeps.

use pagemill_ptx::{IssueOrder, Module};

/// The opcodes of a kernel with `body`, in the order of their issue.
fn opcodes(body: &str) -> Vec<String> {
    let text = format!(
        ".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n\
         .reg .b32 %r<20>;\n.reg .b64 %d<20>;\n.shared .b8 s[64];\n\
         ld.param.u64 %d1, [a];\nmov.u64 %d2, s;\n{body}\nst.global.u32 [%d1], %r1;\nret;\n}}\n"
    );
    let module = Module::load_ordered("order.ptx", &text, IssueOrder::LoadsEarly);
    let module = module.and_then(Module::whole);
    let module = module.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let instructions = module.kernel("k").expect("it is there").instructions();
    let opcodes = instructions.iter().map(|info| info.opcode.to_string());
    opcodes.collect()
}

/// Whether the last load of global memory issues before the first `other`.
fn hoisted(body: &str, other: &str) -> bool {
    let opcodes = opcodes(body);
    let load = opcodes.iter().rposition(|own| own.starts_with("ld.global"));
    let first = opcodes.iter().position(|own| own.starts_with(other));
    load.expect("a load") < first.expect("the other instruction")
}

#[test]
fn all_loads_of_an_unrolled_sum_issue_before_the_first_is_needed() {
    let terms = (0..4).map(|term| {
        let to = 4 + term;
        format!(
            "ld.global.u32 %r{to}, [%d1+{}];\nmul.lo.u32 %r1, %r1, %r{to};\n",
            4 * term
        )
    });
    let body = format!("mov.u32 %r1, 1;\n{}", terms.collect::<String>());
    assert!(hoisted(&body, "mul.lo"));
}

#[test]
fn loads_pass_stores_that_write_elsewhere_and_no_others() {
    let body = |store: &str| {
        format!(
            "mov.u32 %r1, 7;\nadd.s64 %d3, %d1, %d2;\n{store}\nld.global.u32 %r4, [%d1+4];\nadd.u32 %r1, %r1, %r4;"
        )
    };
    let passes = |store: &str| hoisted(&body(store), "st.");
    assert!(passes("st.global.u32 [%d1+8], %r1;"));
    assert!(passes("st.shared.u32 [%d2], %r1;"));
    assert!(!passes("st.global.u32 [%d1+4], %r1;"));
    assert!(!passes("st.global.v2.u32 [%d1], {%r1, %r1};"));
    assert!(
        !passes("st.global.u32 [%d3], %r1;"),
        "another pointer may be the same"
    );
    assert!(
        !passes("st.u32 [%d2], %r1;"),
        "a generic address may be global"
    );
}

#[test]
fn nothing_passes_fences_and_ordered_accesses() {
    let body = |fence: &str| {
        format!(
            "mov.u32 %r1, 7;\nmul.lo.u32 %r3, %r1, 3;\n{fence}\nld.global.u32 %r4, [%d1+4];\nadd.u32 %r1, %r1, %r4;"
        )
    };
    assert!(!hoisted(&body("bar.sync 0;"), "bar"));
    assert!(!hoisted(&body("membar.gl;"), "membar"));
    assert!(!hoisted(
        &body("atom.global.add.u32 %r5, [%d1+64], %r3;"),
        "atom"
    ));
    assert!(!hoisted(
        &body("st.volatile.global.u32 [%d1+64], %r3;"),
        "st.volatile"
    ));
    assert!(!hoisted(
        &body("mov.u32 %r6, %clock;\nst.global.u32 [%d1+32], %r6;"),
        "mov.u32"
    ));
}

#[test]
fn loads_stay_where_registers_would_not_suffice() {
    let terms = (0..100).map(|term| {
        format!(
            "ld.global.u32 %q{term}, [%d1+{}];\nadd.u32 %r1, %r1, %q{term};\n",
            4 * term
        )
    });
    let body = format!(
        ".reg .b32 %q<100>;\nmov.u32 %r1, 1;\n{}",
        terms.collect::<String>()
    );
    let opcodes = opcodes(&body);
    let first = opcodes.iter().position(|own| own.starts_with("add.u32"));
    let loads = opcodes[..first.expect("a sum")].iter();
    let early = loads.filter(|own| own.starts_with("ld.global")).count();
    assert!(
        (16..=48).contains(&early),
        "{early} loads before the first sum"
    );
}
