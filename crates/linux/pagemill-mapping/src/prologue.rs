//! The first instructions of a function, written for another place, so that a jump can take theirs.

/// Bytes of a jump.
pub const JUMP_BYTES: usize = 5;

/// The instructions of `code`, which is at `from`, that a jump there would overwrite, as they are at `to`, and how many bytes of `code`
/// they are. None where that cannot be said: they are not to be written over.
pub fn moved(code: &[u8], from: usize, to: usize) -> Option<(Vec<u8>, usize)> {
    let mut out = Vec::new();
    let mut read = 0;
    while read < JUMP_BYTES {
        let rest = &code[read..];
        let Layout { bytes, operand } = layout(rest)?;
        let instruction = &rest[..bytes];
        read += bytes;
        // What the last four bytes of an instruction point at, from where its copy ends.
        let aim = |offset: isize, end: usize| {
            let target = (from + read).wrapping_add_signed(offset);
            i32::try_from(target.wrapping_sub(end) as isize).ok()
        };
        match *instruction {
            [op @ 0x70..=0x7f, near] => {
                let offset = aim(near as i8 as isize, to + out.len() + 6)?;
                out.extend([0x0f, op + 0x10]);
                out.extend(offset.to_le_bytes());
            }
            [0xe8 | 0xe9, ..] | [0x0f, 0x80..=0x8f, ..] => {
                copy_aimed(&mut out, instruction, bytes - 4, to, aim)?;
            }
            _ if is_branch(instruction) => return None,
            _ => match operand.filter(|at| instruction[*at] & 0xc7 == 5) {
                Some(at) => copy_aimed(&mut out, instruction, at + 1, to, aim)?,
                None => out.extend(instruction),
            },
        }
    }
    Some((out, read))
}

/// Whether an instruction returns, or goes to a place that its own bytes name.
fn is_branch(instruction: &[u8]) -> bool {
    matches!(
        without_prefixes(instruction).1,
        [0x70..=0x7f | 0xc2 | 0xc3 | 0xcc | 0xe0..=0xe3 | 0xe8 | 0xe9 | 0xeb, ..]
            | [0x0f, 0x80..=0x8f, ..]
    )
}

/// An instruction whose four bytes at `at` are an offset from its end.
fn copy_aimed(
    out: &mut Vec<u8>,
    instruction: &[u8],
    at: usize,
    to: usize,
    aim: impl Fn(isize, usize) -> Option<i32>,
) -> Option<()> {
    let offset = i32::from_le_bytes(instruction.get(at..at + 4)?.try_into().ok()?);
    let aimed = aim(offset as isize, to + out.len() + instruction.len())?;
    out.extend(&instruction[..at]);
    out.extend(aimed.to_le_bytes());
    out.extend(&instruction[at + 4..]);
    Some(())
}

/// Bytes of an instruction, and where in it the ModRM byte is.
struct Layout {
    bytes: usize,
    operand: Option<usize>,
}

/// The REX prefix, or 0, and what is behind all prefixes.
fn without_prefixes(code: &[u8]) -> (u8, &[u8]) {
    let is_legacy = |byte: &u8| {
        matches!(
            byte,
            0x66 | 0x67 | 0xf0 | 0xf2 | 0xf3 | 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65
        )
    };
    let legacy = code.iter().take_while(|byte| is_legacy(byte)).count();
    match &code[legacy..] {
        [rex @ 0x40..=0x4f, rest @ ..] => (*rex, rest),
        rest => (0, rest),
    }
}

/// The instruction that `code` starts with; none where it is none of those that functions usually start with.
fn layout(code: &[u8]) -> Option<Layout> {
    let (rex, rest) = without_prefixes(code);
    let prefixes = code.len() - rest.len();
    let (opcode, has_operand, constant) = match *rest {
        [0x0f, 0x05, ..] => (2, false, 0),
        [0x0f, 0x80..=0x8f, ..] => (2, false, 4),
        // Moves, `endbr64`, `cmov`, `set`, products and extensions.
        [0x0f, 0x10..=0x1f | 0x28 | 0x29 | 0x40..=0x4f, ..]
        | [0x0f, 0x6e | 0x6f | 0x7e | 0x7f | 0x90..=0x9f, ..]
        | [0x0f, 0xaf | 0xb6 | 0xb7 | 0xbe | 0xbf, ..] => (2, true, 0),
        [op @ 0x00..=0x3f, ..] if op & 7 < 4 && op != 0x0f => (1, true, 0),
        [op @ 0x00..=0x3f, ..] if op & 7 == 4 => (1, false, 1),
        [0x50..=0x5f | 0x90 | 0xc3 | 0xc9 | 0xcc, ..] => (1, false, 0),
        [0x63 | 0x84..=0x8b | 0x8d | 0xd1 | 0xd3 | 0xff, ..] => (1, true, 0),
        [0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6, ..] => (1, true, 1),
        [0x69 | 0x81 | 0xc7, ..] if code[0] != 0x66 => (1, true, 4),
        [0xf6 | 0xf7, modrm, ..] if modrm & 0x30 != 0 => (1, true, 0),
        // `test` is the one of its group that has a constant.
        [0xf6, ..] => (1, true, 1),
        [0xf7, ..] if code[0] != 0x66 => (1, true, 4),
        [
            0x6a | 0x70..=0x7f | 0xa8 | 0xb0..=0xb7 | 0xe0..=0xe3 | 0xeb,
            ..,
        ] => (1, false, 1),
        [0xb8..=0xbf, ..] if rex & 8 != 0 => (1, false, 8),
        [0x68 | 0xb8..=0xbf | 0xe8 | 0xe9, ..] if code[0] != 0x66 => (1, false, 4),
        _ => return None,
    };
    let operand = has_operand.then_some(prefixes + opcode);
    let operand_bytes = match has_operand {
        true => operand_bytes(&rest[opcode..])?,
        false => 0,
    };
    let bytes = prefixes + opcode + operand_bytes + constant;
    (bytes <= code.len()).then_some(Layout { bytes, operand })
}

/// Bytes of a ModRM byte and what belongs to it.
fn operand_bytes(code: &[u8]) -> Option<usize> {
    let modrm = *code.first()?;
    let (mode, register) = (modrm >> 6, modrm & 7);
    let scaled = usize::from(mode != 3 && register == 4);
    let base = if scaled == 1 {
        code.get(1)? & 7
    } else {
        register
    };
    let offset = match mode {
        0 if base == 5 => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(1 + scaled + offset)
}

#[cfg(test)]
mod tests;
