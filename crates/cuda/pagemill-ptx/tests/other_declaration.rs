//! A function that another source declared with a result, and whose definition gives none.

use pagemill_ptx::{DeviceMemory, Launch, Module, Output, run_functional};

const HEADER: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

const CALLER: &str = "\
.extern .func (.param .b32 got) note(.param .b64 to, .param .b32 what);
.visible .entry k(.param .u64 out)
{
    .reg .b64 %d<2>; .reg .b32 %r<2>;
    ld.param.u64 %d0, [out];
    {
        .param .b64 to; .param .b32 what; .param .b32 got;
        st.param.b64 [to], %d0;
        st.param.b32 [what], 41;
        call (got), note, (to, what);
        ld.param.b32 %r0, [got];
    }
    ret;
}
";

const DEFINITION: &str = "\
.visible .func note(.param .b64 to, .param .b32 what)
{
    .reg .b64 %d<2>; .reg .b32 %r<2>;
    ld.param.b64 %d0, [to];
    ld.param.b32 %r0, [what];
    st.global.b32 [%d0], %r0;
    ret;
}
";

#[test]
fn a_call_takes_what_its_definition_does_not_give() {
    for text in [
        format!("{HEADER}{CALLER}{DEFINITION}"),
        format!("{HEADER}{DEFINITION}{CALLER}"),
    ] {
        let module = Module::load("linked.ptx", &text).unwrap_or_else(|error| panic!("{error}"));
        let mut memory = DeviceMemory::new();
        let linked = module.link(&mut memory).expect("there are no variables");
        let out = memory.alloc("out", 4, 256).expect("there is room");
        let kernel = module.kernel("k").expect("it is there");
        let arguments = out.to_le_bytes();
        let launch = Launch::new(&module, &linked, kernel, [1; 3], [1; 3], 0, &arguments)
            .expect("it can be launched");
        run_functional(&launch, &mut memory, &mut Output::default()).expect("it ends");
        assert_eq!(
            memory.bytes(out, 4).expect("allocated"),
            41_u32.to_le_bytes()
        );
    }
}

#[test]
fn a_definition_that_takes_something_else_is_refused() {
    let other = DEFINITION
        .replace(", .param .b32 what)", ")")
        .replace("[what]", "[to]");
    let text = format!("{HEADER}{CALLER}{other}");
    let error = Module::load("linked.ptx", &text).expect_err("one argument too many");
    assert!(
        error
            .to_string()
            .contains("note takes 1 parameters and returns 0, the call has 2 and 1"),
        "{error}"
    );
}
