//! Page maps.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use pagemill_map::{MAGIC, Map};

/// A page map, or `pages.json` with several. The first byte chooses: a file, what a file holds once it is unpacked, or JSON.
pub fn map(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    match first % 4 {
        0 => same_again(rest),
        1 | 2 => {
            // Stored, not compressed: fast, and the same to the reader.
            let mut packed = DeflateEncoder::new(MAGIC.to_vec(), Compression::none());
            packed.write_all(rest).expect("memory takes it");
            same_again(&packed.finish().expect("memory takes it"));
        }
        _ => {
            let maps = pagemill_report::pages::read(&String::from_utf8_lossy(rest));
            for map in maps.unwrap_or_default() {
                same_again(&map.data);
            }
        }
    }
}

/// What is read can be written, and read as the same.
fn same_again(bytes: &[u8]) {
    match Map::decode(bytes) {
        Ok(map) => assert_eq!(Map::decode(&map.encode()), Ok(map)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
