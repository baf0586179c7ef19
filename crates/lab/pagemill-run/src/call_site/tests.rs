use super::*;

#[test]
fn this_test_is_found_in_itself() {
    let own = std::env::current_exe().expect("a test has a file");
    let module = Module::open(&own).expect("it can be read");
    let here = this_test_is_found_in_itself as fn() as usize as u64;
    let base = base_of(&own, here);
    let lines = module.lines(here - base + 4);
    let (_, path) = lines.last().expect("tests have debug information");
    assert!(path.ends_with("call_site/tests.rs"), "{path}");
    // Where nothing is, nothing is found.
    assert!(module.lines(u64::MAX / 2).is_empty());
    assert!(Module::open(Path::new("/nonexistent")).is_none());
}

/// Where the file with the address `inside` is mapped.
fn base_of(file: &Path, inside: u64) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
    let hex = |text: &str| u64::from_str_radix(text, 16).expect("a number");
    let own = maps
        .lines()
        .filter(|line| line.ends_with(file.to_str().expect("UTF-8")));
    let starts = own.map(|line| hex(line.split('-').next().expect("a range")));
    starts
        .filter(|&start| start <= inside)
        .min()
        .expect("it is mapped")
}

#[test]
fn borders_and_headers_are_passed_over() {
    let place = |function: &str| Place {
        function: Some(function.to_owned()),
        at: "a.cu:1".to_owned(),
    };
    assert!(is_own(&place("main"), "src/a.cu", &["add"]));
    assert!(!is_own(&place("add"), "src/a.cu", &["add"]));
    assert!(!is_own(&place("cudaMallocManaged<float>"), "src/a.cu", &[]));
    assert!(!is_own(&place("main"), "/usr/include/cuda_runtime.h", &[]));
}

#[test]
fn a_file_that_is_gone_has_offsets() {
    let stack = Stack {
        frames: vec![Frame {
            module: "/nonexistent/program".to_owned(),
            base: 0x1000,
            address: 0x1235,
        }],
        variable: None,
    };
    let places = Symbols::default().places(&stack, &[]);
    assert_eq!(places[0].at, "program+0x234");
}
