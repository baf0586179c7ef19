use std::collections::BTreeSet;

use super::*;

/// What the kernels may use: all in PTX ISA 6.0 for sm_70 (PTX ISA 6.0, chapter 9).
const KNOWN: &[&str] = &[
    "ld.param.u64",
    "ld.global.f32",
    "st.global.f32",
    "cvta.to.global.u64",
    "mov.u32",
    "mov.u64",
    "mov.f32",
    "cvt.u64.u32",
    "cvt.u32.u64",
    "cvt.s64.s32",
    "add.s64",
    "add.f32",
    "sub.s64",
    "mul.lo.s64",
    "mul.wide.u32",
    "mul.wide.s32",
    "mad.lo.s64",
    "div.u64",
    "div.u32",
    "rem.u64",
    "rem.u32",
    "and.b64",
    "and.b32",
    "or.b64",
    "shl.b64",
    "min.u64",
    "setp.eq.s64",
    "setp.ne.s32",
    "setp.ge.u64",
    "setp.lt.u64",
    "setp.gt.u64",
    "setp.ge.s64",
    "bra",
    "bra.uni",
    "bar.sync",
    "ret",
];

fn instructions(ptx: &str) -> BTreeSet<&str> {
    let code = ptx
        .lines()
        .map(str::trim)
        .filter(|line| line.ends_with(';') && !line.starts_with('.') && !line.starts_with("//"));
    code.map(|line| {
        let unguarded = match line.strip_prefix('@') {
            Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
            None => line,
        };
        unguarded.split([' ', '\t', ';']).next().unwrap_or_default()
    })
    .collect()
}

#[test]
fn kernels_use_nothing_newer_than_the_lowered_header_says() {
    for kernel in Kernel::all() {
        let unknown: Vec<_> = instructions(kernel.ptx())
            .into_iter()
            .filter(|instruction| !KNOWN.contains(instruction))
            .collect();
        assert!(
            unknown.is_empty(),
            "{}: look up {unknown:?} in PTX ISA 6.0",
            kernel.entry()
        );
    }
}

#[test]
fn only_the_header_changes() {
    for kernel in Kernel::all() {
        let (made, lowered) = (kernel.ptx(), for_any_driver(kernel.ptx()));
        let changed: Vec<_> = made
            .lines()
            .zip(lowered.lines())
            .filter(|(old, new)| old != new)
            .map(|(_, new)| new)
            .collect();
        assert_eq!(changed, [".version 6.0", ".target sm_70"]);
        assert_eq!(made.lines().count(), lowered.lines().count());
    }
}

#[test]
fn every_kernel_is_in_its_ptx_with_its_arguments() {
    for kernel in Kernel::all() {
        let module = pagemill_ptx::Module::load(kernel.entry(), &for_any_driver(kernel.ptx()))
            .unwrap_or_else(|error| panic!("{error}"));
        let found = module.kernel(kernel.entry()).expect("it is in its PTX");
        assert_eq!(found.params.len(), 1 + kernel.scalar_count());
        assert!(found.params.iter().all(|parameter| parameter.bytes == 8));
    }
}
