//! Words for a shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// One word, whatever is in it.
pub fn quoted(word: &OsStr) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            byte => text.push(*byte),
        }
    }
    text.push(b'\'');
    text
}

/// `word` as a person types it: quoted only if it has to be.
pub fn typed(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => String::from_utf8_lossy(&quoted(OsStr::new(word))).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_reads_every_word_as_it_is() {
        for word in ["a", "", "a b", "it's", "$x `y` \\ \"z\"", "two\nlines", "'"] {
            for one in [quoted(OsStr::new(word)), typed(word).into_bytes()] {
                let script = [b"printf %s ", &one[..]].concat();
                let output = Command::new("sh")
                    .arg("-c")
                    .arg(OsStr::from_bytes(&script))
                    .output()
                    .expect("there is a shell");
                assert_eq!(output.stdout, word.as_bytes(), "{word:?}");
            }
        }
    }
}
