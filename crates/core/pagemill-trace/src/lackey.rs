use std::io::BufRead;

use crate::lines::{Lines, all_lines, number, size};
use crate::{Access, Reference, Trace, TraceError};

/// What a line looks like, for messages.
const NEEDED: &str = "a line of Valgrind's lackey, as ` L 1ffeffe7e0,8`";

/// The text that Valgrind's `--tool=lackey --trace-mem=yes` writes. Instruction fetches and Valgrind's own messages
/// (`==1234== ..`) are left out; a modification is a read and a write.
#[derive(Debug)]
pub struct Lackey<R: BufRead> {
    lines: Lines<R>,
}

impl<R: BufRead> Lackey<R> {
    /// Starts at the first line.
    pub fn new(input: R) -> Self {
        Self {
            lines: Lines::new(input),
        }
    }
}

impl<R: BufRead> Trace for Lackey<R> {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), TraceError> {
        self.lines
            .references(block, NEEDED, |line, block| match parse(line) {
                Some(Line::Data {
                    address,
                    bytes,
                    accesses,
                }) => {
                    block.extend(accesses.iter().map(|access| Reference {
                        address,
                        bytes,
                        task: 0,
                        access: *access,
                    }));
                    true
                }
                Some(Line::Other) => true,
                None => false,
            })
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
    let (address, bytes) = (number(&rest[..comma], 16)?, size(&rest[comma + 1..])?);
    if accesses.is_empty() {
        return Some(Line::Other);
    }
    Some(Line::Data {
        address,
        bytes,
        accesses,
    })
}

/// Whether a file that starts with `head` is such text.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    all_lines(head, |line| parse(line).is_some())
}
