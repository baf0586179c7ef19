use super::*;

#[test]
fn it_gives_the_published_numbers() {
    // First outputs of SplitMix64 started at state 0, as published with the xoshiro generators.
    let outputs = [0, 1, 2].map(|index| random64(0, index));
    let published = [
        0xe220_a839_7b1d_cdaf,
        0x6e78_9e6a_a1b9_65f4,
        0x06c4_5d18_8009_454f,
    ];
    assert_eq!(outputs, published);
}
