//! Formats: what is written is read back, and what is damaged is never taken for whole.

use pagemill_trace::{
    Access, ChampSim, Columns, Csv, Format, Lackey, NativeReader, NativeWriter, Reference, Trace,
    TraceError, detect, open,
};
use proptest::prelude::*;

fn all(trace: &mut dyn Trace) -> Result<Vec<Reference>, TraceError> {
    let (mut all, mut block) = (Vec::new(), Vec::new());
    loop {
        trace.next_block(&mut block)?;
        if block.is_empty() {
            return Ok(all);
        }
        all.extend(&block);
    }
}

fn written(references: &[Reference]) -> Vec<u8> {
    let mut writer = NativeWriter::new(Vec::new()).expect("memory takes it");
    for reference in references {
        writer.write(*reference).expect("memory takes it");
    }
    writer.finish().expect("memory takes it")
}

fn read_native(bytes: &[u8]) -> Result<Vec<Reference>, TraceError> {
    all(&mut NativeReader::new(bytes)?)
}

fn reference() -> impl Strategy<Value = Reference> {
    let address = prop_oneof![any::<u64>(), 0_u64..1 << 20, Just(u64::MAX), Just(0)];
    let bytes = prop_oneof![1_u32..10, any::<u32>().prop_map(|bytes| bytes.max(1))];
    (
        address,
        bytes,
        prop_oneof![Just(0_u16), any::<u16>()],
        any::<bool>(),
    )
        .prop_map(|(address, bytes, task, is_write)| Reference {
            address,
            bytes,
            task,
            access: if is_write {
                Access::Write
            } else {
                Access::Read
            },
        })
}

/// More than one block.
fn many() -> Vec<Reference> {
    (0..100_000_u64)
        .map(|number| Reference {
            address: number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (number % 50),
            bytes: 1 << (number % 7),
            task: (number / 1000) as u16,
            access: if number.is_multiple_of(3) {
                Access::Write
            } else {
                Access::Read
            },
        })
        .collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(references in prop::collection::vec(reference(), 0..200)) {
        prop_assert_eq!(read_native(&written(&references)).expect("it is whole"), references);
    }

    #[test]
    fn any_bytes_are_a_trace_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let csv = Format::Csv("address=1,bytes=2".parse().expect("columns"));
        let formats = [Format::Native, Format::Lackey, Format::DrCacheSim, Format::ChampSim, csv];
        for format in std::iter::once(None).chain(formats.map(Some)) {
            if let Ok(mut trace) = open(&bytes[..], format) {
                // It ends, whatever it says.
                let _ = all(&mut *trace);
            }
        }
    }

    #[test]
    fn one_wrong_bit_is_found(place in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let references: Vec<Reference> = many().into_iter().take(500).collect();
        let mut bytes = written(&references);
        let place = place.index(bytes.len());
        bytes[place] ^= 1_u8 << bit;
        prop_assert!(read_native(&bytes).is_err(), "byte {}", place);
    }
}

#[test]
fn blocks_join() {
    let references = many();
    let bytes = written(&references);
    assert!(
        bytes.len() > 3 * (64 << 10),
        "{} bytes are several blocks",
        bytes.len()
    );
    assert_eq!(read_native(&bytes).expect("it is whole"), references);
}

#[test]
fn every_cut_is_found() {
    let bytes = written(&many()[..300]);
    for end in 0..bytes.len() {
        assert!(read_native(&bytes[..end]).is_err(), "cut after {end} bytes");
    }
    let error = read_native(b"PMTRACE\x01").expect_err("it has no end");
    assert!(
        matches!(error, TraceError::CutOff { references: 0 }),
        "{error}"
    );
}

#[test]
fn sequential_references_take_two_bytes() {
    let references: Vec<Reference> = (0..10_000)
        .map(|number| Reference {
            address: 8 * number,
            bytes: 8,
            task: 0,
            access: Access::Read,
        })
        .collect();
    let bytes = written(&references).len();
    assert!(bytes < 2 * references.len() + 100, "{bytes}");
}

#[test]
fn lackey_text_is_read() {
    let text = "==123== Lackey, an example tool\nI  04222c2c,3\n L 1ffeffe7e0,8\n S 0421b000,4\r\n M 0421c7cc,2\n";
    let reference = |address, bytes, access| Reference {
        address,
        bytes,
        task: 0,
        access,
    };
    let expected = [
        reference(0x1f_feff_e7e0, 8, Access::Read),
        reference(0x421_b000, 4, Access::Write),
        reference(0x421_c7cc, 2, Access::Read),
        reference(0x421_c7cc, 2, Access::Write),
    ];
    let mut trace = open(text.as_bytes(), None).expect("its lines name its format");
    assert_eq!(all(&mut *trace).expect("it is whole"), expected);
}

#[test]
fn a_line_that_is_no_reference_is_named() {
    for bad in [
        "hello",
        " L xyz,8",
        " L 10",
        " L 10,0",
        " L 10,-1",
        "X 10,8",
        "L",
        " L +10,8",
        " L 10,+8",
        " L 0x10,8",
        " L 10,8 8",
        " L 10,4294967296",
        " L 10000000000000000,8",
    ] {
        let text = format!(" L 10,8\n{bad}\n");
        let error = all(&mut Lackey::new(text.as_bytes())).expect_err(bad);
        assert!(
            error
                .to_string()
                .starts_with(&format!("line 2 is no reference: `{bad}`")),
            "{error}"
        );
    }
    let endless = vec![b'L'; 10 << 20];
    let error = all(&mut Lackey::new(&endless[..])).expect_err("one line");
    assert!(error.to_string().len() < 250, "{error}");
}

#[test]
fn instructions_of_champsim_read_and_then_write() {
    let instruction = |destinations: [u64; 2], sources: [u64; 4]| {
        let mut record = 0x40_1000_u64.to_le_bytes().to_vec();
        // A taken branch with registers: no data.
        record.extend([1, 1, 2, 3, 4, 5, 6, 7]);
        for address in destinations.iter().chain(&sources) {
            record.extend(address.to_le_bytes());
        }
        record
    };
    // More than a block of instructions without data come first.
    let mut bytes = instruction([0; 2], [0; 4]).repeat(5000);
    bytes.extend(instruction([0xA0, 0], [0xB0, 0, 0xC0, 0]));
    let read = all(&mut ChampSim::new(&bytes[..])).expect("whole records");
    let found: Vec<(u64, Access)> = read.iter().map(|one| (one.address, one.access)).collect();
    assert_eq!(
        found,
        [
            (0xB0, Access::Read),
            (0xC0, Access::Read),
            (0xA0, Access::Write)
        ]
    );
    let error = all(&mut ChampSim::new(&bytes[..100])).expect_err("half a record");
    assert!(matches!(error, TraceError::CutOff { .. }), "{error}");
}

/// Lines as the documentation of DynamoRIO shows them.
const VIEWED: &str = "Output format:
<--record#-> <--instr#->: <---tid---> <record details>
------------------------------------------------------------
           1           0:     2765542 <marker: version 5>
       47445       37770:     2765543 ifetch       5 byte(s) @ 0x0000000000404a7e 48 8b 5c 24 08       mov    0x08(%rsp)[8byte] -> %rbx
       47446       37770:     2765543 read         8 byte(s) @ 0x00007fdf64e2adc8 by PC 0x0000000000404a7e
       47449       37773:     W0.T292 write        4 byte(s) @ 0x00007fdf64e2add0 by PC 0x0000000000404a8d
";

#[test]
fn text_of_drcachesim_is_read() {
    assert_eq!(
        detect(VIEWED.as_bytes()).expect("known"),
        Format::DrCacheSim
    );
    let mut trace = open(VIEWED.as_bytes(), None).expect("its lines name its format");
    let read = all(&mut *trace).expect("it is whole");
    let found: Vec<(u64, u32, Access)> = read
        .iter()
        .map(|one| (one.address, one.bytes, one.access))
        .collect();
    assert_eq!(
        found,
        [
            (0x7FDF_64E2_ADC8, 8, Access::Read),
            (0x7FDF_64E2_ADD0, 4, Access::Write)
        ]
    );
    for bad in [
        "1 2: 3 read x byte(s) @ 0x10",
        "1 2: 3 read 8 byte(s) @ 10",
        "1 2 3 read",
        "hello",
    ] {
        let text = format!("{VIEWED}{bad}\n");
        let mut trace = open(text.as_bytes(), Some(Format::DrCacheSim)).expect("opened");
        let error = all(&mut *trace).expect_err(bad).to_string();
        assert!(
            error.starts_with(&format!("line 8 is no reference: `{bad}`")),
            "{error}"
        );
    }
}

fn table(columns: &str, text: &str) -> Result<Vec<(u64, u32)>, TraceError> {
    let columns: Columns = columns.parse().expect("columns");
    let read = all(&mut Csv::new(text.as_bytes(), columns))?;
    Ok(read.iter().map(|one| (one.address, one.bytes)).collect())
}

#[test]
fn tables_are_read_by_their_columns() {
    let text = "time,at,size\n1, 17 ,100\n2,0x12,0\n3,0X7,8\n4,+007,8\n";
    let read = table("address=2,bytes=3,header", text).expect("a table");
    assert_eq!(read, [(17, 100), (18, 1), (7, 8), (7, 8)]);
    let read = table("address=1,delimiter=space", "0x1000 r\n8 w\n").expect("a table");
    assert_eq!(read, [(0x1000, 1), (8, 1)]);
}

#[test]
fn rows_that_are_no_references_are_named() {
    for (columns, text, needed) in [
        ("address=1", "16\nhello\n", "an address in the column"),
        ("address=1", "16\n-7\n", "an address in the column"),
        (
            "address=1",
            "16\n18446744073709551616\n",
            "an address in the column",
        ),
        ("address=2", "1,1\n2\n", "an address in the column"),
        ("address=2", "1,1\n2, \n", "an address in the column"),
        ("address=1,bytes=2", "1,10\n2,large\n", "a size in bytes"),
        ("address=1,bytes=2", "1,10\n2,-4\n", "a size in bytes"),
        ("address=1,bytes=2", "1,10\n2,4.5\n", "a size in bytes"),
        ("address=1,bytes=2", "1,10\n2,\n", "a size in bytes"),
        ("address=1,bytes=2", "1,10\n2\n", "a size in bytes"),
        ("address=1,bytes=2", "1,1\n2,4294967296\n", "below 4 GiB"),
    ] {
        let error = table(columns, text).expect_err(text).to_string();
        assert!(
            error.starts_with("line 2 is no reference") && error.contains(needed),
            "{error}"
        );
    }
    for bad in [
        "",
        "address",
        "address=0",
        "bytes=1",
        "object=1",
        "address=1,size=2",
        "address=1,delimiter=ab",
    ] {
        let error = bad.parse::<Columns>().expect_err(bad).to_string();
        assert!(error.contains("describes no column"), "{error}");
    }
}

#[test]
fn other_files_are_no_traces() {
    for bytes in [&b""[..], b"\x7fELF", b"hello\nworld\n", &[0; 48]] {
        assert!(
            matches!(open(bytes, None), Err(TraceError::UnknownFormat)),
            "{bytes:?}"
        );
    }
}

/// The plugin that records in the virtual machine writes the same bytes as we do.
#[test]
fn the_recorder_of_the_virtual_machine_writes_this_format() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let sources = [
        "plugin_cache/usertest/replay/trace_replay.c",
        "plugin_cache/trace.c",
    ];
    let Some(recorder) = pagemill_testkit::CProgram::compile(folder, &sources) else {
        return pagemill_testkit::skip("there is no gcc");
    };
    let file = folder.join("recorded.pmtrace");
    // Some cases have several blocks.
    let many = proptest::collection::vec(reference(), 0..20_000);
    proptest!(ProptestConfig::with_cases(12), |(references in many)| {
        let mut recorder = recorder.start();
        recorder.ask_number(&format!("start {}", file.display()));
        for Reference { address, bytes, task, access } in &references {
            let write = u8::from(*access == Access::Write);
            recorder.ask_number(&format!("add {address} {bytes} {task} {write}"));
        }
        recorder.ask_number("finish");
        prop_assert!(std::fs::read(&file).unwrap() == written(&references));
    });
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// A frame of zstd with something else than data.
fn skipped() -> Vec<u8> {
    [
        &0x184D_2A57_u32.to_le_bytes()[..],
        &3_u32.to_le_bytes(),
        b"abc",
    ]
    .concat()
}

fn read_as(bytes: &[u8], format: Format) -> Result<Vec<Reference>, TraceError> {
    all(&mut *open(bytes, Some(format))?)
}

/// A small file of each format.
fn samples() -> [(Format, Vec<u8>); 5] {
    let table = Format::Csv("address=1,bytes=2".parse().expect("columns"));
    let mut instruction = [0; 64];
    instruction[32] = 7;
    [
        (Format::Native, written(&many()[..1000])),
        (
            Format::Lackey,
            b"==1== Lackey\n L 1ffeffe7e0,8\nI  1,2\n M 10,4\n".to_vec(),
        ),
        (Format::DrCacheSim, VIEWED.as_bytes().to_vec()),
        (Format::ChampSim, instruction.repeat(3)),
        (table, b"1,10\n2,20\n1,10\n".to_vec()),
    ]
}

/// What a file is packed in, how its lines end, and what surrounds them is no part of the trace.
#[test]
fn how_a_file_is_written_changes_nothing() {
    for (format, file) in samples() {
        let wanted = read_as(&file, format).expect("it is whole");
        assert!(!wanted.is_empty());
        let half = file.len() / 2;
        let (first, second) = file.split_at(half);
        let mut same = vec![
            ("gzip", gzip(&file)),
            ("two members of gzip", [gzip(first), gzip(second)].concat()),
            ("zstd", zstd(&file)),
            (
                "frames of zstd",
                [
                    skipped(),
                    zstd(first),
                    skipped(),
                    zstd(b""),
                    zstd(second),
                    skipped(),
                ]
                .concat(),
            ),
            ("zstd in gzip", gzip(&zstd(&file))),
        ];
        if let Ok(text) = std::str::from_utf8(&file).map(str::to_owned)
            && matches!(format, Format::Lackey | Format::DrCacheSim | Format::Csv(_))
        {
            same.extend([
                ("line ends of DOS", text.replace('\n', "\r\n").into_bytes()),
                (
                    "spaces at the end",
                    text.replace('\n', " \t\n").into_bytes(),
                ),
                (
                    "many spaces",
                    text.replace('\n', &format!("{}\n", " ".repeat(200)))
                        .into_bytes(),
                ),
                ("a byte order mark", format!("\u{feff}{text}").into_bytes()),
                (
                    "no end of the last line",
                    text.trim_end().as_bytes().to_vec(),
                ),
                (
                    "leading zeros",
                    text.replace(",10", ",010")
                        .replace("@ 0x", "@ 0x0")
                        .into_bytes(),
                ),
                ("an empty line", format!("{text}\n").into_bytes()),
            ]);
        }
        for (what, bytes) in same {
            let read = read_as(&bytes, format);
            assert_eq!(read.expect(what), wanted, "{format:?}: {what}");
            if detect(&file[..]).is_ok() {
                assert_eq!(detect(&bytes[..]).expect(what), format, "{what}");
            }
        }
    }
}

#[test]
fn a_packed_file_that_is_damaged_is_refused() {
    let (format, file) = samples().into_iter().next().expect("a sample");
    for packed in [gzip(&file), zstd(&file)] {
        for end in [packed.len() - 1, packed.len() - 5, packed.len() / 2] {
            read_as(&packed[..end], format).expect_err("it is cut");
        }
        let noisy = [&packed[..], b"noise"].concat();
        read_as(&noisy, format).expect_err("something follows");
    }
    // The sum at the end is wrong, and the numbers would be read.
    let mut packed = zstd(&written(&many()[..1000]));
    *packed.last_mut().expect("a sum") ^= 1;
    let error = read_as(&packed, format).expect_err("another sum");
    assert!(error.to_string().contains("checksum"), "{error}");
}

/// Each format refuses files of another kind, and of packers that are not read here.
#[test]
fn files_of_another_kind_are_refused_by_name() {
    let packers: [(&[u8], &str); 6] = [
        (b"\xFD7zXZ\0 and so on", "xz -dk"),
        (b"BZh91AY&SY", "bzip2 -dk"),
        (b"\x04\x22\x4D\x18", "lz4 -d"),
        (b"\x02\x21\x4C\x18", "lz4 -d"),
        (b"PK\x03\x04", "unzip"),
        (b"7z\xBC\xAF\x27\x1C", "7z x"),
    ];
    for (format, _) in samples() {
        for (head, command) in packers {
            // A length that is a whole number of records.
            let file = [head, &[0; 192][head.len()..]].concat();
            let error = read_as(&file, format).expect_err(command).to_string();
            assert!(error.contains(command), "{error}");
        }
        for (other, file) in samples() {
            let is_same_kind = matches!(
                (format, other),
                (Format::Csv(_), Format::Lackey | Format::DrCacheSim)
            );
            if format != other && !is_same_kind {
                let file = file.repeat(192 / file.len().min(192) + 1);
                let whole = &file[..file.len() / 192 * 192];
                read_as(whole, format).expect_err("another kind");
            }
        }
    }
}
