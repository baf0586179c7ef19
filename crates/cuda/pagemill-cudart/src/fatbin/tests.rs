use super::*;

/// A fat binary of entries (kind, arch, flags, payload, plain size).
fn fat(entries: &[(u16, u32, u64, &[u8], u64)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, arch, flags, payload, plain) in entries {
        let padded = payload.len().next_multiple_of(8);
        let mut header = [0u8; ENTRY_BYTES_MIN];
        header[0..2].copy_from_slice(&kind.to_le_bytes());
        header[4..8].copy_from_slice(&64u32.to_le_bytes());
        header[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
        header[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        header[28..32].copy_from_slice(&arch.to_le_bytes());
        header[40..48].copy_from_slice(&flags.to_le_bytes());
        header[56..64].copy_from_slice(&plain.to_le_bytes());
        body.extend(header);
        body.extend(*payload);
        body.resize(body.len() + padded - payload.len(), 0);
    }
    let mut binary = Vec::new();
    binary.extend(MAGIC.to_le_bytes());
    binary.extend(1u16.to_le_bytes());
    binary.extend(16u16.to_le_bytes());
    binary.extend((body.len() as u64).to_le_bytes());
    binary.extend(body);
    binary
}

#[test]
fn the_newest_ptx_comes_first() {
    let binary = fat(&[
        (KIND_PTX, 75, 0x11, b"old\0\0", 0),
        (KIND_CUBIN, 90, 0x11, b"ELF", 0),
        (KIND_PTX, 90, 0x11, b"new", 0),
    ]);
    let images = ptx_images(&binary).expect("it is sound");
    assert_eq!(
        images
            .iter()
            .map(|image| (image.arch, image.text.as_str()))
            .collect::<Vec<_>>(),
        [(90, "new"), (75, "old")]
    );
}

#[test]
fn lz4_is_unpacked() {
    let text = "mov.u32 %r1, %r1; ".repeat(50);
    let packed = lz4_flex::block::compress(text.as_bytes());
    let binary = fat(&[(KIND_PTX, 75, FLAG_LZ4, &packed, text.len() as u64)]);
    assert_eq!(ptx_images(&binary).expect("it is sound")[0].text, text);
}

#[test]
fn text_of_another_length_than_announced_is_damage() {
    let text = "mov.u32 %r1, %r1; ".repeat(50);
    let lz4 = lz4_flex::block::compress(text.as_bytes());
    let zstd = ruzstd::encoding::compress_to_vec(
        text.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    for (flag, packed) in [(FLAG_LZ4, lz4), (FLAG_ZSTD, zstd)] {
        for (length, is_sound) in [
            (text.len(), true),
            (text.len() - 1, false),
            (text.len() + 1, false),
        ] {
            let binary = fat(&[(KIND_PTX, 75, flag, &packed, length as u64)]);
            assert_eq!(ptx_images(&binary).is_ok(), is_sound, "{flag:x}, {length}");
        }
    }
}

#[test]
fn machine_code_alone_is_told_apart() {
    let error = ptx_images(&fat(&[(KIND_CUBIN, 86, 0x11, b"ELF", 0)])).expect_err("no PTX");
    assert_eq!(error, FatBinaryError::CubinOnly(vec![86]));
    assert!(error.to_string().contains("sm_86"));
}

#[test]
fn no_damage_goes_unnoticed_or_panics() {
    let text = "ret; ".repeat(20);
    let packed = lz4_flex::block::compress(text.as_bytes());
    let sound = fat(&[
        (KIND_PTX, 75, FLAG_LZ4, &packed, text.len() as u64),
        (KIND_PTX, 80, FLAG_ZSTD, b"(\xb5/\xfdxx", 9),
    ]);
    for end in 0..sound.len() {
        let _ = ptx_images(&sound[..end]);
    }
    for at in 0..sound.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut damaged = sound.clone();
            damaged[at] = value;
            let _ = ptx_images(&damaged);
        }
    }
    assert_eq!(ptx_images(b""), Err(FatBinaryError::NoFatBinary));
    assert!(matches!(
        ptx_images(&sound[..40]),
        Err(FatBinaryError::Damaged(_))
    ));
}
