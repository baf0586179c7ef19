use super::*;

// SAFETY: no other function of the test program has this name.
#[unsafe(no_mangle)]
extern "C" fn pagemill_test_marker() -> i32 {
    7
}

#[test]
fn a_function_is_found_where_it_is() {
    assert_eq!(pagemill_test_marker(), 7);
    let own = Executable::open("/proc/self/exe".as_ref()).expect("the test program");
    let found = own
        .functions(|name| name == "pagemill_test_marker")
        .expect("symbols");
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].address,
        pagemill_test_marker as extern "C" fn() -> i32 as usize as u64
    );
    assert!(own.has_section(".text") && !own.has_section(".nv_fatbin"));
    assert!(own.needs_library("libc.so") && !own.needs_library("libcudart.so"));
}

/// More sections than 16 bits count: the first one has their number, and that of the names.
#[test]
fn sections_beyond_16_bits_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many");
    let count = 0x1_0001_usize;
    let table = 64 + count * SECTION_BYTES;
    let mut file = vec![0u8; table];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    file[40] = 64;
    file[62..64].copy_from_slice(&[0xff, 0xff]);
    file[64 + 32..64 + 40].copy_from_slice(&(count as u64).to_le_bytes());
    file[64 + 40..64 + 44].copy_from_slice(&(count as u32 - 1).to_le_bytes());
    let last = table - SECTION_BYTES;
    file[last] = 1;
    file[last + 24..last + 32].copy_from_slice(&(table as u64).to_le_bytes());
    file[last + 32] = 8;
    file.extend(b"\0.names\0");
    std::fs::write(&path, &file).expect("it can be written");
    let own = Executable::open(&path).expect("an executable");
    assert_eq!(own.sections.len(), count);
    assert!(own.has_section(".names"));
}

#[test]
fn no_damage_panics() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("damaged");
    let mut sound = vec![0u8; 64 + 3 * SECTION_BYTES];
    sound[..6].copy_from_slice(b"\x7fELF\x02\x01");
    sound[40] = 64;
    sound[60] = 3;
    for at in 0..sound.len() {
        for value in [1, 0x7f, 0xff] {
            let mut damaged = sound.clone();
            damaged[at] = value;
            std::fs::write(&path, &damaged).expect("it can be written");
            if let Ok(own) = Executable::open(&path) {
                let _ = own.functions(|_| true);
                let _ = own.needs_library("x");
            }
        }
    }
}
