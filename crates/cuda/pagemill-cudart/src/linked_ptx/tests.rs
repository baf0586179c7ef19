use super::*;

const CALLER: &str = ".version 7.0\n.target sm_75\n.address_size 64\n\n.extern .func (.param .b32 r) twice\n(\n  .param .b32 a\n)\n;\n.visible .entry main_kernel()\n{\n  ret;\n}\n";
const CALLEE: &str = ".version 8.3\n.target sm_80\n.address_size 64\n.visible .func (.param .b32 r) twice(.param .b32 a)\n{\n  ret;\n}\n";

fn source(body: &str) -> String {
    format!(".version 7.0\n.target sm_75\n.address_size 64\n{body}\n")
}

#[test]
fn one_source_stays_as_it_is() {
    assert_eq!(link(&[CALLER.to_owned()]), CALLER);
}

#[test]
fn the_newest_header_stands_once_and_declarations_of_definitions_go() {
    let linked = link(&[CALLER.to_owned(), CALLEE.to_owned()]);
    assert_eq!(linked.matches(".version").count(), 1, "{linked}");
    assert!(
        linked.starts_with(".version 8.3\n.target sm_80\n.address_size 64\n"),
        "{linked}"
    );
    assert!(!linked.contains(".extern"), "{linked}");
    assert!(
        linked.contains("main_kernel()") && linked.contains(".visible .func"),
        "{linked}"
    );
}

#[test]
fn declarations_without_definition_stay() {
    let other = source(
        ".visible .func (.param .b32 r) other(.param .b32 a) { ret; }\n.visible .global .align 4 .b32 r;",
    );
    assert!(link(&[CALLER.to_owned(), other]).contains(".extern"));
}

#[test]
fn names_of_one_text_do_not_meet_those_of_another() {
    let unit = |value: u32, name: &str| {
        source(&format!(
            "// comment {{ with; braces\n.global .align 4 .b8 $str[2] = {{{value}, 0}};\n\
                 .func helper() {{ ret; }}\n.visible .func {name}() {{ .reg .b64 %r; mov.u64 %r, $str; call helper; ret; }}"
        ))
    };
    let linked = link(&[unit(1, "first"), unit(2, "second")]);
    let parsed = pagemill_ptx_parse::parse("linked", &linked);
    let parsed = parsed.unwrap_or_else(|error| panic!("{error}\n{linked}"));
    let function = |name: &str| {
        let found = parsed.functions.iter().find(|own| own.name == name);
        found.unwrap_or_else(|| panic!("{name} in {linked}"))
    };
    let uses = |name: &str| format!("{:?}", function(name).body);
    assert!(uses("first").contains("\"$str\"") && uses("first").contains("\"helper\""));
    assert!(uses("second").contains("$str$unit1") && uses("second").contains("helper$unit1"));
    let value = |name: &str| {
        let own = parsed.variables.iter().find(|own| own.name == name);
        own.and_then(|own| own.init.clone())
    };
    assert_eq!(value("$str"), Some(vec![1, 0]));
    assert_eq!(value("$str$unit1"), Some(vec![2, 0]));
}

#[test]
fn of_weak_definitions_one_stays_and_a_strong_one_wins() {
    let weak = |value: u32| {
        source(&format!(
            ".weak .func f() {{ .reg .b32 %r; mov.b32 %r, {value}; ret; }}\n.weak .global .align 4 .u32 v = {value};"
        ))
    };
    let strong = source(
        ".visible .func f() { .reg .b32 %r; mov.b32 %r, 9; ret; }\n.visible .global .align 4 .u32 v = 9;",
    );
    for (sources, wanted) in [
        (vec![weak(1), weak(2)], 1),
        (vec![weak(1), strong.clone(), weak(3)], 9),
    ] {
        let linked = link(&sources);
        let parsed = pagemill_ptx_parse::parse("linked", &linked);
        let parsed = parsed.unwrap_or_else(|error| panic!("{error}\n{linked}"));
        assert_eq!(parsed.variables[0].init, Some(vec![wanted, 0, 0, 0]));
        let body = format!("{:?}", parsed.functions[0].body);
        assert!(body.contains(&format!("Integer({wanted})")), "{body}");
    }
    let twice = link(&[strong.clone(), strong]);
    assert!(pagemill_ptx_parse::parse("linked", &twice).is_err());
}
