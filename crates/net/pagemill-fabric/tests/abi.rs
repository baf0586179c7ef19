//! The structures written by hand, against the installed headers.

use std::fmt::Write;
use std::process::Command;

use crate::common::lacks_libfabric;
use pagemill_fabric::ffi::abi;

#[test]
fn every_structure_is_laid_out_as_the_headers_say() {
    if let Some(lack) = lacks_libfabric() {
        return pagemill_testkit::skip(lack);
    }
    let headers = [
        "fi_prov",
        "../fi_cm",
        "../fi_eq",
        "../fi_tagged",
        "../fi_rma",
        "../fi_domain",
    ];
    let mut source = String::from("#include <stdio.h>\n#include <stddef.h>\n");
    for header in headers {
        writeln!(source, "#include <rdma/providers/{header}.h>").expect("text");
    }
    source.push_str("int main(void) {\n");
    let mut expected = String::new();
    for (name, bytes, fields) in abi::layouts() {
        writeln!(source, "printf(\"{name} %zu\\n\", sizeof(struct {name}));").expect("text");
        writeln!(expected, "{name} {bytes}").expect("text");
        for (field, offset) in fields {
            let field = field.trim_start_matches("r#");
            writeln!(
                source,
                "printf(\"{name}.{field} %zu\\n\", offsetof(struct {name}, {field}));"
            )
            .expect("text");
            writeln!(expected, "{name}.{field} {offset}").expect("text");
        }
    }
    source.push_str("}\n");
    let folder = tempfile::tempdir().expect("a folder");
    let (c, program) = (folder.path().join("layout.c"), folder.path().join("layout"));
    std::fs::write(&c, source).expect("a file");
    let compiled = Command::new("cc")
        .arg("-o")
        .arg(&program)
        .arg(&c)
        .output()
        .expect("a compiler");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let said = Command::new(program).output().expect("the program starts");
    assert_eq!(String::from_utf8_lossy(&said.stdout), expected);
}
