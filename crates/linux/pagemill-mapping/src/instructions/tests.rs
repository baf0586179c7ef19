use super::*;

/// As `objdump` has them: offset and bytes of each instruction.
fn disassembled(path: &str) -> Option<Vec<(Vec<u8>, String)>> {
    let output = std::process::Command::new("objdump")
        .args(["-d", "--wide", "-z", "-j", ".text", path])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let one = |line: &str| {
        let mut parts = line.split('\t').skip(1);
        let bytes = parts.next()?.split_whitespace();
        let bytes: Option<Vec<u8>> = bytes
            .map(|byte| u8::from_str_radix(byte, 16).ok())
            .collect();
        Some((bytes?, parts.next()?.to_owned()))
    };
    Some(text.lines().filter_map(one).collect())
}

#[test]
#[cfg_attr(miri, ignore = "it starts a program")]
fn lengths_are_those_of_a_disassembler() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let maps = std::fs::read_to_string("/proc/self/maps").expect("this process");
    let paths = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    let library = paths.clone().find(|path| path.contains("libc.so"));
    let Some(known) = library
        .and_then(disassembled)
        .filter(|known| !known.is_empty())
    else {
        return;
    };
    for (bytes, text) in known {
        let mut code = bytes.clone();
        // What follows does not matter.
        code.extend([0x90; 16]);
        if !text.contains("(bad)") && !text.starts_with("rex") && !text.starts_with("data16") {
            assert_eq!(length(&code), Some(bytes.len()), "{bytes:02x?} {text}");
        }
    }
}

fn named(code: &[u8]) -> Option<Option<&'static str>> {
    find(code).map(|site| site.name)
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_number_is_followed_to_its_call() {
    // mov $28,%eax; mov %rbx,%rdi; syscall
    let direct = [0xb8, 28, 0, 0, 0, 0x48, 0x89, 0xdf, 0x0f, 0x05];
    assert_eq!(named(&direct), Some(Some("madvise")));
    // mov $28,%r8d; jne; mov %r8d,%eax; syscall
    let moved = [
        0x41, 0xb8, 28, 0, 0, 0, 0x75, 2, 0x44, 0x89, 0xc0, 0x0f, 0x05,
    ];
    assert_eq!(named(&moved), Some(Some("madvise")));
    // mov 0x44(%rsp),%edi; mov $28,%eax; syscall: the byte before is no prefix
    let after = [0x8b, 0x7c, 0x24, 0x44, 0xb8, 28, 0, 0, 0, 0x0f, 0x05];
    assert_eq!(named(&after), Some(Some("madvise")));
    // mov %rdi,%rax; mov %rsi,%rdi; syscall: of any number
    let any = [0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x0f, 0x05];
    assert_eq!(named(&any), Some(None));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn other_calls_and_other_bytes_are_none() {
    // mov $202,%eax; syscall: `futex`
    assert_eq!(named(&[0xb8, 202, 0, 0, 0, 0x0f, 0x05]), None);
    // mov $28,%eax; xor %eax,%eax; syscall: `read`
    assert_eq!(named(&[0xb8, 28, 0, 0, 0, 0x31, 0xc0, 0x0f, 0x05]), None);
    // mov $14,%r15d; mov %r15d,%eax; syscall: `mov %edi,%eax` without its prefix
    let prefixed = [0x41, 0xbf, 14, 0, 0, 0, 0x44, 0x89, 0xf8, 0x0f, 0x05];
    assert_eq!(named(&prefixed), None);
    // mov $28,%eax; ret; syscall
    assert_eq!(named(&[0xb8, 28, 0, 0, 0, 0xc3, 0x0f, 0x05]), None);
    // mov $28,%eax; movl $0x50f,(%rdi): a number in another instruction
    assert_eq!(
        named(&[0xb8, 28, 0, 0, 0, 0xc7, 0x07, 0x0f, 0x05, 0, 0]),
        None
    );
    // mov $28,%eax; mov $202,%eax; syscall
    assert_eq!(
        named(&[0xb8, 28, 0, 0, 0, 0xb8, 202, 0, 0, 0, 0x0f, 0x05]),
        None
    );
}
