//! What the parser makes of PTX, and what it refuses.

use super::parse;
use pagemill_ptx_ir::ast::{Function, Module, Operand, RegisterId, Relocation, Space, Type};

const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

fn module(text: &str) -> Module {
    parse("test.ptx", &format!("{HEAD}{text}")).unwrap_or_else(|error| panic!("{error}"))
}

fn kernel(body: &str) -> Function {
    let text = format!(".visible .entry k(.param .u64 k_param_0)\n{{\n{body}\n}}");
    module(&text).functions.remove(0)
}

/// The message for a module-level text that must be refused.
fn refusal(text: &str) -> String {
    parse("test.ptx", &format!("{HEAD}{text}"))
        .expect_err("must be refused")
        .to_string()
}

/// The message for a kernel body that must be refused; its first line is line 5.
fn body_refusal(body: &str) -> String {
    refusal(&format!(".entry k() {{\n{body}\n}}"))
}

#[test]
fn header() {
    let parsed = parse(
        "x",
        "//\n.version 9.5\n.target sm_90a, debug\n.address_size 64\n",
    )
    .expect("valid");
    assert_eq!((parsed.version, parsed.target_sm), ((9, 5), 90));
}

#[test]
fn operands_of_every_kind() {
    let function = kernel(
        ".reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<3>; .shared .b32 tile[4];\n\
         @!%p1 ld.shared.v2.u32 {%r1, _}, [tile+8];\n\
         setp.lt.and.s32 %p1|%p2, %r1, -1, !%p2;\n\
         mov.u32 %r2, %tid.y;\n\
         fma.rn.f32 %r3, 0f3F800000, 0d3FF0000000000000, 1.5;\n\
         ld.global.nc.L2::128B.u32 %r4, [%rd1+-4];\n\
         mov.u64 %rd2, tile + 4 * 2;\n\
         bra END;\n\
         END: ret;",
    );
    let register = |name: &str| {
        let index = function
            .registers
            .iter()
            .position(|register| register.name == name);
        RegisterId(index.expect("used") as u32)
    };
    let operand =
        |instruction: usize, operand: usize| &function.body[instruction].operands[operand];

    let guard = function.body[0].guard.expect("guarded");
    assert!(guard.negated && guard.register == register("%p1"));
    assert_eq!(
        *operand(0, 0),
        Operand::Vector(vec![Operand::Register(register("%r1")), Operand::Sink])
    );
    let Operand::Address(address) = operand(0, 1) else {
        panic!("no address")
    };
    assert_eq!(
        (&address.base, address.offset),
        (&Operand::Symbol("tile".into(), 0), 8)
    );
    let pair = [register("%p1"), register("%p2")].map(|id| Box::new(Operand::Register(id)));
    let [first, second] = pair;
    assert_eq!(*operand(1, 0), Operand::Pair(first, second));
    assert_eq!(*operand(1, 2), Operand::Integer(u64::MAX));
    assert_eq!(*operand(1, 3), Operand::NegatedRegister(register("%p2")));
    assert_eq!(*operand(2, 1), Operand::Special("tid".into(), Some('y')));
    assert_eq!(*operand(3, 1), Operand::Float32(0x3f80_0000));
    assert_eq!(*operand(3, 2), Operand::Float64(1f64.to_bits()));
    assert_eq!(*operand(3, 3), Operand::Float64(1.5f64.to_bits()));
    assert_eq!(
        function.body[4].opcode,
        ["ld", "global", "nc", "L2::128B", "u32"]
    );
    let Operand::Address(address) = operand(4, 1) else {
        panic!("no address")
    };
    assert_eq!(
        (&address.base, address.offset),
        (&Operand::Register(register("%rd1")), -4)
    );
    assert_eq!(*operand(5, 1), Operand::Symbol("tile".into(), 8));
    assert_eq!(*operand(6, 0), Operand::Symbol("END".into(), 0));
    assert_eq!(function.labels, [("END".to_owned(), 7)]);
    assert_eq!(function.body[7].line, 14);
}

#[test]
fn calls_and_their_scopes() {
    let parsed = module(
        ".func (.param .b32 r) f(.param .b32 a) { ret; }\n\
         .entry k() {\n\
         .reg .b32 %r<3>;\n\
         { .param .b32 param0; .param .b32 retval0;\n\
           st.param.b32 [param0], %r1; call.uni (retval0), f, (param0); ld.param.b32 %r2, [retval0]; }\n\
         { .param .b64 param0; call f, (param0); }\n\
         }",
    );
    let kernel = &parsed.functions[1];
    let names: Vec<_> = kernel
        .variables
        .iter()
        .map(|variable| (variable.name.as_str(), variable.ty))
        .collect();
    assert_eq!(
        names,
        [
            ("param0", Type::B32),
            ("retval0", Type::B32),
            ("param0$1", Type::B64)
        ]
    );
    let symbol = |name: &str| Operand::Symbol(name.to_owned(), 0);
    let lists = [
        Operand::List(vec![symbol("retval0")]),
        symbol("f"),
        Operand::List(vec![symbol("param0")]),
    ];
    assert_eq!(kernel.body[1].operands, lists);
    assert_eq!(
        kernel.body[3].operands,
        [symbol("f"), Operand::List(vec![symbol("param0$1")])]
    );
}

#[test]
fn scopes_have_their_own_registers_and_labels() {
    let function = kernel(
        ".reg .b32 %r<2>;\n\
         { .reg .b64 t; L: mov.b64 t, 1; bra L; }\n\
         { .reg .b32 t; bra L; mov.b32 t, %r1; L: add.u32 t, t, %r1; }\n\
         bra M; M:",
    );
    let types: Vec<_> = function
        .registers
        .iter()
        .map(|register| (register.name.as_str(), register.ty))
        .collect();
    assert_eq!(
        types,
        [("t", Type::B64), ("t", Type::B32), ("%r1", Type::B32)]
    );
    assert_eq!(
        function.labels,
        [("L".into(), 0), ("L$1".into(), 4), ("M".into(), 6)]
    );
    assert_eq!(function.body[1].operands, [Operand::Symbol("L".into(), 0)]);
    assert_eq!(
        function.body[2].operands,
        [Operand::Symbol("L$1".into(), 0)]
    );
}

#[test]
fn branch_targets_and_prototypes() {
    let function = kernel(
        ".reg .b32 %r<2>; .reg .b64 %rd<2>;\n\
         { targets: .branchtargets A, B; brx.idx %r1, targets; A: B: ret; }\n\
         { A: ret; list: .branchtargets A; brx.idx %r1, list; }\n\
         proto: .callprototype (.param .b32 _) _ (.param .b64 _);\n\
         funcs: .calltargets k; call (), %rd1, (), proto;",
    );
    let lists = [("targets", vec!["A", "B"]), ("list", vec!["A$1"])];
    let lists: Vec<(String, Vec<String>)> = lists
        .map(|(label, names)| (label.into(), names.into_iter().map(Into::into).collect()))
        .into();
    assert_eq!(function.branch_targets, lists);
    assert_eq!(
        function.call_targets,
        [("funcs".to_owned(), vec!["k".to_owned()])]
    );
    let [prototype] = &function.call_prototypes[..] else {
        panic!("one prototype");
    };
    let types = |list: &[pagemill_ptx_ir::ast::Variable]| -> Vec<Type> {
        list.iter().map(|variable| variable.ty).collect()
    };
    assert_eq!(prototype.label, "proto");
    assert_eq!(types(&prototype.returns), [Type::B32]);
    assert_eq!(types(&prototype.params), [Type::B64]);
}

#[test]
fn variables_and_their_initial_values() {
    let parsed = module(
        ".global .align 16 .b8 text[4] = {104, 105};\n\
         .const .f32 weights[] = {1.0, 0f40000000, 3};\n\
         .global .u16 table[2][3] = {{1, 2}, {4}};\n\
         .global .v2 .u32 pair = {7, 8};\n\
         .extern .shared .align 8 .b8 dynamic[];\n\
         .global .u32 x = 0xFFFFFFFF, y;\n\
         .global .s64 many[99999999999];",
    );
    let find = |name: &str| {
        parsed
            .variables
            .iter()
            .find(|variable| variable.name == name)
            .expect("declared")
    };
    assert_eq!(
        (find("text").align, find("text").init.as_deref()),
        (16, Some(&b"hi\0\0"[..]))
    );
    let weights: Vec<u8> = [1f32, 2.0, 3.0]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    assert_eq!(
        (find("weights").bytes, find("weights").init.clone()),
        (12, Some(weights))
    );
    let table: Vec<u8> = [1u16, 2, 0, 4, 0, 0]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    assert_eq!(find("table").init.clone(), Some(table));
    assert_eq!((find("pair").bytes, find("pair").align), (8, 8));
    assert_eq!(
        find("pair").init.as_deref(),
        Some(&[7, 0, 0, 0, 8, 0, 0, 0][..])
    );
    assert!(
        find("dynamic").is_extern
            && find("dynamic").bytes == 0
            && find("dynamic").space == Space::Shared
    );
    assert_eq!(
        (find("x").init.as_deref(), find("y").init.as_deref()),
        (Some(&[255; 4][..]), None)
    );
    assert_eq!(
        (find("many").bytes, find("many").init.as_deref()),
        (799_999_999_992, None)
    );
}

#[test]
fn addresses_in_initial_values() {
    let parsed = module(
        ".global .u32 a[4];\n\
         .global .u64 p[3] = {a + 4, generic(a), generic(a + 8) + 4};\n\
         .global .b8 bytes[2] = {0xFF(a), 0xFF00(generic(a))};",
    );
    let relocation = |offset, width, shift, addend, generic| Relocation {
        offset,
        width,
        shift,
        symbol: "a".to_owned(),
        addend,
        generic,
    };
    let pointers = [
        relocation(0, 8, 0, 4, false),
        relocation(8, 8, 0, 0, true),
        relocation(16, 8, 0, 12, true),
    ];
    assert_eq!(parsed.variables[1].relocations, pointers);
    assert_eq!(
        parsed.variables[2].relocations,
        [relocation(0, 1, 0, 0, false), relocation(1, 1, 8, 0, true)]
    );
    assert_eq!(parsed.variables[1].init, Some(vec![0; 24]));
}

#[test]
fn functions_and_directives() {
    let parsed = module(
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b) ;\n\
         .extern .func trap_now (.param .b64 _) .noreturn;\n\
         .func (.reg .f32 out) twice (.reg .f32 in, .param .align 8 .b8 s[24]);\n\
         .visible .entry k(.param .u64 .ptr .global .align 1 p, .param .align 8 .b8 q[16]) .maxntid 128, 1, 1\n\
         .minnctapersm 2 .pragma \"nounroll\"; { .pragma \"x\"; .loc 1 7 3 ret; }\n\
         .func (.reg .f32 out) twice (.reg .f32 in, .param .align 8 .b8 s[24]) { add.f32 out, in, in; ret; }\n\
         .file 1 \"a.cu\", 1, 2\n.section .debug_info { .b8 1 { .b8 \"}\" } }\n.alias g, twice;",
    );
    let names: Vec<_> = parsed
        .functions
        .iter()
        .map(|function| (function.name.as_str(), function.has_body))
        .collect();
    assert_eq!(
        names,
        [
            ("vprintf", false),
            ("trap_now", false),
            ("twice", true),
            ("k", true)
        ]
    );
    let twice = &parsed.functions[2];
    let registers: Vec<_> = twice
        .registers
        .iter()
        .map(|register| register.name.as_str())
        .collect();
    assert_eq!(registers, ["out", "in"]);
    let kernel = &parsed.functions[3];
    assert_eq!(
        kernel.directives,
        [
            ("maxntid".into(), vec![128, 1, 1]),
            ("minnctapersm".into(), vec![2])
        ]
    );
    assert_eq!((kernel.params[0].align, kernel.params[1].bytes), (8, 16));
    assert_eq!(kernel.body[0].source, Some((1, 7)));
    assert_eq!(parsed.files, [(1, "a.cu".to_owned())]);
    assert_eq!(parsed.aliases, [("g".to_owned(), "twice".to_owned())]);
}

#[test]
fn vector_registers() {
    let function = kernel(".reg .v2 .f32 v; mov.f32 v.y, v.x; st.global.v2.f32 [k_param_0], v;");
    let registers: Vec<_> = function
        .registers
        .iter()
        .map(|register| register.name.as_str())
        .collect();
    assert_eq!(registers, ["v.x", "v.y"]);
    let register = |index| Operand::Register(RegisterId(index));
    assert_eq!(function.body[0].operands, [register(1), register(0)]);
    assert_eq!(
        function.body[1].operands[1],
        Operand::Vector(vec![register(0), register(1)])
    );
}

#[test]
fn a_huge_range_costs_nothing() {
    let function = kernel(".reg .b32 %r<4000000000>; mov.u32 %r3999999999, %r7;");
    assert_eq!(function.registers.len(), 2);
}

#[test]
fn undeclared_names_say_what_was_meant() {
    let message = body_refusal(".reg .b32 %r<5>; add.u32 %r1, %r2, %r5;");
    assert!(
        message.starts_with("test.ptx:5: register `%r5` is not declared"),
        "{message}"
    );
    assert!(
        message.contains("add.u32 %r1, %r2, %r5;") && message.contains("declares %r0 to %r4"),
        "{message}"
    );
    let message = body_refusal(".reg .b32 counter; add.u32 counter, counter, %conter;");
    assert!(message.contains("`%conter` is not declared"), "{message}");
    let message = body_refusal("bra $L_lop;\n$L_loop: ret;");
    assert!(
        message.starts_with("test.ptx:5:") && message.contains("did you mean `$L_loop`?"),
        "{message}"
    );
    let message = refusal(".global .u32 buffer;\n.entry k() { .reg .u64 a; mov.u64 a, bufer; }");
    assert!(
        message.starts_with("test.ptx:5:") && message.contains("did you mean `buffer`?"),
        "{message}"
    );
    assert!(refusal(".global .u64 p = nowhere;").contains("`nowhere` is declared nowhere"));
}

#[test]
fn label_of_another_scope_is_out_of_reach() {
    assert!(body_refusal("{ L: ret; } bra L;").contains("`L` is declared nowhere"));
}

#[test]
fn refusals_name_their_line() {
    let cases = [
        ("", "x", "expected a directive"),
        (
            ".global .u32 x;\n",
            ".global .f32 x;",
            "`x` is declared twice",
        ),
        ("\n", ".global .b8 x[9999999999999999999];", "larger than"),
        (
            "\n",
            ".global .b8 x[99999999999] = {1};",
            "initial values of more than",
        ),
        (
            "\n",
            ".global .u32 x[2] = {1, 2, 3};",
            "more initial values than elements",
        ),
        ("\n", ".global .b8 x = y;", "does not fit an element"),
        ("\n", ".global .align 3 .b8 x;", "no power of two"),
        ("\n", ".global .texref t;", "not supported"),
        (
            "\n",
            ".entry k() { add.u32 1 2; }",
            "expected `,` or `;` in `add`",
        ),
        ("\n", ".entry k() { L: L: ret; }", "declared twice"),
        ("\n", ".entry k() { ret x }", "expected `,` or `;` in `ret`"),
        ("\n", ".entry k() { ret;", "never closed"),
        ("\n", ".entry k() .fast { ret; }", "not known on a function"),
        (
            "\n",
            ".entry k() { mov.u32 %tid.x, [[1]]; }",
            "an address starts with",
        ),
    ];
    for (before, text, wanted) in cases {
        let message = refusal(&format!("{before}{text}\n"));
        let place = format!("test.ptx:{}: ", 4 + before.lines().count());
        assert!(
            message.starts_with(&place) && message.contains(wanted),
            "{text}: {message}"
        );
    }
}

#[test]
fn no_ptx_at_all() {
    let error = parse("notes.txt", "hello").expect_err("must be refused");
    assert_eq!(
        error.help.as_deref(),
        Some("PTX text starts with `.version`; is this a PTX file?")
    );
    assert!(parse("empty", "").is_err());
    assert!(parse("old", ".version 3.0\n.target sm_20\n.address_size 32").is_err());
}

#[test]
fn nesting_is_limited_everywhere() {
    for deep in [
        "{",
        "mov.u32 x, {",
        "mov.u32 x, (",
        "call (",
        "mov.u32 x, [",
        "mov.u32 x, -",
        "mov.u32 x, 1?",
    ] {
        assert!(
            parse(
                "deep",
                &format!("{HEAD}.entry k() {{ {}", deep.repeat(50_000))
            )
            .is_err()
        );
    }
    let braces = "{".repeat(50_000);
    assert!(refusal(&format!(".global .b8 x[1] = {braces}")).contains("braces"));
    assert!(
        parse(
            "deep",
            &format!("{HEAD}.global .b8 x{} = {braces}", "[1]".repeat(5_000))
        )
        .is_err()
    );
}
