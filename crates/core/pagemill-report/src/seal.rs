//! A checksum inside of the file that it is of. Parquet's decoder panics at some damaged files, so they may not reach it.

/// What stands before the eight digits. They are zeroes for the checksum itself.
const MARK: &[u8] = b"pagemill-crc32=";
const DIGITS: usize = 8;

/// The text that the file has to hold, once, before it is sealed.
pub(crate) const BLANK: &str = "pagemill-crc32=00000000";

/// Writes the checksum of `file` into it.
pub(crate) fn close(file: &mut [u8]) {
    if let Some(place) = digits(file) {
        let sum = format!("{:08x}", crc32fast::hash(file));
        file[place..place + DIGITS].copy_from_slice(sum.as_bytes());
    }
}

/// Whether `file` is as it was sealed.
pub(crate) fn holds(file: &[u8]) -> bool {
    let Some(place) = digits(file) else {
        return false;
    };
    let mut sum = crc32fast::Hasher::new();
    sum.update(&file[..place]);
    sum.update(&[b'0'; DIGITS]);
    sum.update(&file[place + DIGITS..]);
    format!("{:08x}", sum.finalize()).as_bytes() == &file[place..place + DIGITS]
}

/// Where the digits are: behind the last mark.
fn digits(file: &[u8]) -> Option<usize> {
    let marked = file.windows(MARK.len() + DIGITS);
    let last = marked.rev().position(|window| window.starts_with(MARK))?;
    Some(file.len() - DIGITS - last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_byte_and_any_cut_is_seen() {
        let mut file = format!("head {BLANK} tail").into_bytes();
        assert!(!holds(&file));
        close(&mut file);
        assert!(holds(&file));
        for place in 0..file.len() {
            assert!(!holds(&file[..place]), "cut at {place}");
            let mut changed = file.clone();
            changed[place] ^= 1;
            assert!(!holds(&changed), "byte {place}");
        }
    }
}
