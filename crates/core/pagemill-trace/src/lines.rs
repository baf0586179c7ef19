use std::io::BufRead;

use crate::{Reference, TraceError};

/// References of a block.
const BLOCK: usize = 16 << 10;

/// No line with a reference is longer; the rest of a longer one is not looked at.
const LINE_BYTES_MAX: usize = 1024;

/// Input of text, line by line.
#[derive(Debug)]
pub(crate) struct Lines<R: BufRead> {
    input: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            number: 0,
        }
    }

    /// The next line without its end; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        self.line.clear();
        let mut is_whole = false;
        while !is_whole {
            let available = self.input.fill_buf()?;
            if available.is_empty() {
                break;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(available.len(), |end| end + 1);
            let room = LINE_BYTES_MAX - self.line.len().min(LINE_BYTES_MAX);
            self.line
                .extend(&available[..end.unwrap_or(used).min(room)]);
            self.input.consume(used);
            is_whole = end.is_some();
        }
        self.number += 1;
        Ok((is_whole || !self.line.is_empty()).then_some(&self.line))
    }

    /// The references of the next lines, about [`BLOCK`] of them; none at the end. `parse` adds those of a line, and says
    /// whether the line is one of the format; `needed` says what such a line looks like.
    pub(crate) fn references(
        &mut self,
        block: &mut Vec<Reference>,
        needed: &'static str,
        parse: impl Fn(&[u8], &mut Vec<Reference>) -> bool,
    ) -> Result<(), TraceError> {
        block.clear();
        while block.len() < BLOCK {
            let Some(line) = self.next()? else {
                break;
            };
            let (is_cut, before) = (line.len() == LINE_BYTES_MAX, block.len());
            let is_known = parse(line.trim_ascii_end(), block);
            if !is_known || (is_cut && block.len() > before) {
                block.clear();
                return Err(self.bad_line(needed));
            }
        }
        Ok(())
    }

    /// The last line is no reference; `needed` says what one looks like.
    pub(crate) fn bad_line(&self, needed: &'static str) -> TraceError {
        let text = String::from_utf8_lossy(&self.line);
        let text: String = text.chars().take(60).collect();
        TraceError::Line {
            line: self.number,
            text: text.trim_end().to_owned(),
            needed,
        }
    }
}

/// A number in digits of this base alone: without sign, space or prefix.
pub(crate) fn number(digits: &[u8], base: u32) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok()?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    u64::from_str_radix(digits, base).ok().filter(|_| is_plain)
}

/// A size that a reference can have: from 1 byte to 4 GiB.
pub(crate) fn size(digits: &[u8]) -> Option<u32> {
    let bytes = number(digits, 10)?;
    u32::try_from(bytes).ok().filter(|bytes| *bytes > 0)
}

/// Whether all whole lines of `head`, the beginning of a file, are such that `is_known` knows them.
pub(crate) fn all_lines(head: &[u8], is_known: impl Fn(&[u8]) -> bool) -> bool {
    let whole_lines = match head.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => &head[..end],
        None => head,
    };
    !whole_lines.is_empty()
        && whole_lines
            .split(|byte| *byte == b'\n')
            .all(|line| is_known(line.trim_ascii_end()))
}
