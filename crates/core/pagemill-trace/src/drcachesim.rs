use std::io::BufRead;

use crate::lines::{Lines, all_lines, number, size};
use crate::{Access, Reference, Trace, TraceError};

/// What a line looks like, for messages.
const NEEDED: &str = "a line of DynamoRIO's view tool, as `12 9: 4711 read 8 byte(s) @ 0x00007fdf64e2adc8 by PC 0x404a7e`";

/// The text that the view tool of DynamoRIO's drcachesim writes (`-simulator_type view`, or `-tool view`): data that is read
/// and written, whichever thread does it. Instruction fetches, markers and the heading are left out.
#[derive(Debug)]
pub struct DrCacheSim<R: BufRead> {
    lines: Lines<R>,
}

impl<R: BufRead> DrCacheSim<R> {
    /// Starts at the first line.
    pub fn new(input: R) -> Self {
        Self {
            lines: Lines::new(input),
        }
    }
}

impl<R: BufRead> Trace for DrCacheSim<R> {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), TraceError> {
        self.lines
            .references(block, NEEDED, |line, block| match parse(line) {
                Some(Line::Data(reference)) => {
                    block.push(reference);
                    true
                }
                Some(Line::Other) => true,
                None => false,
            })
    }
}

enum Line {
    Data(Reference),
    /// An instruction, a marker or a heading.
    Other,
}

fn parse(line: &[u8]) -> Option<Line> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_ascii_whitespace();
    let is_number = |word: &str| number(word.as_bytes(), 10).is_some();
    let Some(first) = words.next() else {
        return Some(Line::Other);
    };
    if !is_number(first) {
        let is_heading = ["Output", "<--", "---", "View", "====", "Total"]
            .iter()
            .any(|start| first.starts_with(start));
        return is_heading.then_some(Line::Other);
    }
    // Record, instruction, thread; then what happened.
    let instruction = words.next()?.strip_suffix(':')?;
    if instruction.is_empty() {
        // A count at the end, as `47 : total instructions`.
        return Some(Line::Other);
    }
    let _thread = words.next().filter(|_| is_number(instruction))?;
    let access = match words.next()? {
        "read" => Access::Read,
        "write" => Access::Write,
        _ => return Some(Line::Other),
    };
    let bytes = size(words.next()?.as_bytes())?;
    let (Some("byte(s)"), Some("@")) = (words.next(), words.next()) else {
        return None;
    };
    let address = number(words.next()?.strip_prefix("0x")?.as_bytes(), 16)?;
    Some(Line::Data(Reference {
        address,
        bytes,
        task: 0,
        access,
    }))
}

/// Whether a file that starts with `head` is such text.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    let has_record = head.windows(11).any(|bytes| bytes == b" byte(s) @ ");
    let has_marker = head.windows(8).any(|bytes| bytes == b"<marker:");
    (has_record || has_marker) && all_lines(head, |line| parse(line).is_some())
}
