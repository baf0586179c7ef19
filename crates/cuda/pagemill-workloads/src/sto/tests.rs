use super::*;

const SMALL: Sto = Sto {
    windows: 6,
    window_bytes: 12,
    step_bytes: 8,
    seed: 1,
    read_results: false,
};

fn file(sto: &Sto) -> Vec<u8> {
    let mut bytes = vec![0xff; sto.input_bytes() as usize];
    sto.write_file(&mut bytes);
    bytes
}

#[test]
fn every_window_is_whole_and_the_last_ends_in_zeros() {
    let file = file(&SMALL);
    assert_eq!(file.len(), 6 * 8 + 4);
    assert_eq!(file.windows(12).step_by(8).count(), 6);
    assert_eq!(file[48..], [0; 4]);
}

#[test]
fn the_check_compares_every_window_and_finds_one_wrong_bit() {
    let file = file(&SMALL);
    let mut digests: Vec<u8> = file.windows(12).step_by(8).flat_map(md5::digest).collect();
    let checked = SMALL.check(&file, &digests).expect("own digests");
    assert_eq!(checked.values, 6);
    digests[5 * 16] ^= 1;
    let error = SMALL.check(&file, &digests).expect_err("one bit differs");
    assert!(
        error.to_string().starts_with("sto: digests[5] is "),
        "{error}"
    );
}

#[test]
fn steps_larger_than_a_window_need_no_zeros() {
    let sparse = Sto {
        window_bytes: 4,
        ..SMALL
    };
    assert_eq!(sparse.input_bytes(), 48);
}

#[test]
fn the_default_is_the_size_of_the_literature() {
    let workload = INFO
        .build(&Values::defaults(NAME, INFO.parameters))
        .expect("defaults are allowed");
    assert_eq!(workload.footprint_bytes(), 196_608 + 252 + 49_152 * 16);
}

#[test]
fn a_file_that_is_no_whole_number_of_steps_is_refused() {
    let mut values = Values::defaults(NAME, INFO.parameters);
    values.set("file_bytes", 100).expect("alone allowed");
    values.set("step_bytes", 8).expect("alone allowed");
    let error = INFO.build(&values).expect_err("100 is no multiple of 8");
    assert_eq!(
        error.to_string(),
        "sto: file_bytes = 100 is not allowed, a multiple of step_bytes = 8 is"
    );
}
