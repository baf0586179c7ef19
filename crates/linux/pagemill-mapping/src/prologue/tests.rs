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
            let found = layout(&code).map_or(bytes.len(), |found| found.bytes);
            assert_eq!(found, bytes.len(), "{bytes:02x?} {text}");
        }
    }
}

const FROM: usize = 0x10_0000;
const TO: usize = 0x20_0000;

fn at(code: &[u8]) -> Option<(Vec<u8>, usize)> {
    moved(&[code, &[0x90; 16]].concat(), FROM, TO)
}

#[test]
fn instructions_mean_at_another_place_what_they_meant() {
    // mov $28,%eax: `madvise`
    let plain = [0xb8, 28, 0, 0, 0];
    assert_eq!(at(&plain), Some((plain.to_vec(), 5)));
    // test %rdi,%rdi; je +0xbf: `free`
    let branch = [0x48, 0x85, 0xff, 0x0f, 0x84, 0xbf, 0, 0, 0];
    let nearer = 0xbf - (TO - FROM) as i32;
    let aimed = [&branch[..5], &nearer.to_le_bytes()[..]].concat();
    assert_eq!(at(&branch), Some((aimed, 9)));
    // test %rdi,%rdi; je +0x2b: `malloc_usable_size`. Its copy has an offset of four bytes, and ends four bytes later.
    let short = [0x48, 0x85, 0xff, 0x74, 0x2b];
    let far = 0x2b - (TO - FROM) as i32 - 4;
    let aimed = [&[0x48, 0x85, 0xff, 0x0f, 0x84], &far.to_le_bytes()[..]].concat();
    assert_eq!(at(&short), Some((aimed, 5)));
    // mov %ecx,%r10d; test $0xfff,%r9d: `mmap`
    let constant = [0x41, 0x89, 0xca, 0x41, 0xf7, 0xc1, 0xff, 0x0f, 0, 0];
    assert_eq!(at(&constant), Some((constant.to_vec(), 10)));
    // cmpb $0,0x140e71(%rip): `aligned_alloc`. The constant stands behind the offset.
    let data = [0x80, 0x3d, 0x71, 0x0e, 0x14, 0, 0];
    let nearer = 0x14_0e71 - (TO - FROM) as i32;
    let aimed = [&data[..2], &nearer.to_le_bytes()[..], &[0]].concat();
    assert_eq!(at(&data), Some((aimed, 7)));
}

#[test]
fn what_cannot_be_moved_is_left() {
    // ret; xor %eax,%eax, ret; jmp +2; bnd jmp; loop
    for code in [
        &[0xc3][..],
        &[0x31, 0xc0, 0xc3],
        &[0xeb, 2],
        &[0xf2, 0xe9, 1, 0, 0, 0],
        &[0xe2, 0xfe],
    ] {
        assert_eq!(at(code), None, "{code:02x?}");
    }
    // Too far for an offset of four bytes.
    assert_eq!(moved(&[0xe9, 0, 0, 0, 0], FROM, 1 << 40), None);
}
