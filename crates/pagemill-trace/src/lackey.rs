use std::io::BufRead;

use crate::{Access, Reference, Trace, TraceError};

/// References of a block.
const BLOCK: usize = 16 << 10;

/// No line of a trace is longer.
const LINE_BYTES_MAX: usize = 256;

/// The text that Valgrind's `--tool=lackey --trace-mem=yes` writes. Instruction fetches and Valgrind's own messages
/// (`==1234== ..`) are left out; a modification is a read and a write.
#[derive(Debug)]
pub struct Lackey<R: BufRead> {
    input: R,
    line: Vec<u8>,
    line_number: u64,
}

impl<R: BufRead> Lackey<R> {
    /// Starts at the first line.
    pub fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            line_number: 0,
        }
    }

    /// Reads the next line; `false` at the end.
    fn next_line(&mut self) -> Result<bool, TraceError> {
        self.line.clear();
        loop {
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
            if end.is_some() {
                self.line_number += 1;
                return Ok(true);
            }
        }
        self.line_number += 1;
        Ok(!self.line.is_empty())
    }

    fn bad_line(&self) -> TraceError {
        let text = String::from_utf8_lossy(&self.line);
        TraceError::Line {
            line: self.line_number,
            text: text
                .chars()
                .take(60)
                .collect::<String>()
                .trim_end()
                .to_owned(),
        }
    }
}

impl<R: BufRead> Trace for Lackey<R> {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), TraceError> {
        block.clear();
        while block.len() < BLOCK && self.next_line()? {
            match parse(&self.line) {
                Some(Line::Data {
                    address,
                    bytes,
                    accesses,
                }) => block.extend(accesses.iter().map(|access| Reference {
                    address,
                    bytes,
                    task: 0,
                    access: *access,
                })),
                Some(Line::Other) => {}
                None => {
                    block.clear();
                    return Err(self.bad_line());
                }
            }
        }
        Ok(())
    }
}

enum Line {
    Data {
        address: u64,
        bytes: u32,
        accesses: &'static [Access],
    },
    /// An instruction, or a message.
    Other,
}

fn parse(line: &[u8]) -> Option<Line> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() || line.starts_with(b"==") || line.starts_with(b"--") {
        return Some(Line::Other);
    }
    let (kind, rest) = line.split_at_checked(3)?;
    let accesses: &[Access] = match kind {
        b" L " => &[Access::Read],
        b" S " => &[Access::Write],
        b" M " => &[Access::Read, Access::Write],
        b"I  " => &[],
        _ => return None,
    };
    let comma = rest.iter().position(|byte| *byte == b',')?;
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let address = u64::from_str_radix(text(&rest[..comma])?, 16).ok()?;
    let bytes = text(&rest[comma + 1..])?.parse().ok()?;
    if accesses.is_empty() {
        return Some(Line::Other);
    }
    (bytes > 0).then_some(Line::Data {
        address,
        bytes,
        accesses,
    })
}

/// Whether a file that starts with `head` is such text.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let whole_lines = match head.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => &head[..end],
        None => head,
    };
    !whole_lines.is_empty()
        && whole_lines
            .split(|byte| *byte == b'\n')
            .all(|line| parse(line).is_some())
}
