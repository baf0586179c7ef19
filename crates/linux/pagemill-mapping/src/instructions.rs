//! Finds system calls on memory that code makes by an instruction of its own: they do not pass through any function of the C library.
//!
//! A number that stands in the code is followed from where it is loaded to the instruction, over instructions that are read for their
//! length and for what they do to the registers that hold it.

/// `syscall`.
const CALL: [u8; 2] = [0x0f, 0x05];

/// From where a number is loaded to the call, at most, in bytes.
const REACH: usize = 96;

/// Longest instruction, in bytes.
const LONGEST: usize = 15;

/// Calls that change what memory means, or after which the kernel refers to it by itself.
#[cfg(target_arch = "x86_64")]
const ON_MEMORY: &[(u32, &str)] = &[
    (libc::SYS_mmap as u32, "mmap"),
    (libc::SYS_mprotect as u32, "mprotect"),
    (libc::SYS_munmap as u32, "munmap"),
    (libc::SYS_mremap as u32, "mremap"),
    (libc::SYS_madvise as u32, "madvise"),
    (libc::SYS_shmat as u32, "shmat"),
    (libc::SYS_mlock as u32, "mlock"),
    (libc::SYS_mlockall as u32, "mlockall"),
    (libc::SYS_remap_file_pages as u32, "remap_file_pages"),
    (libc::SYS_mbind as u32, "mbind"),
    (libc::SYS_vmsplice as u32, "vmsplice"),
    (libc::SYS_mlock2 as u32, "mlock2"),
    (libc::SYS_pkey_mprotect as u32, "pkey_mprotect"),
    (libc::SYS_io_uring_setup as u32, "io_uring_setup"),
    (libc::SYS_process_madvise as u32, "process_madvise"),
    (libc::SYS_mseal as u32, "mseal"),
];
#[cfg(not(target_arch = "x86_64"))]
const ON_MEMORY: &[(u32, &str)] = &[];

/// A call that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Where the instruction is, in bytes from the start of the code.
    pub offset: usize,
    /// The call; none where the number comes from the function's caller.
    pub name: Option<&'static str>,
}

/// The first system call on memory, or of any number, in x86-64 code.
pub fn find(code: &[u8]) -> Option<Site> {
    let mut at = 0;
    while let Some(found) = code[at..].windows(2).position(|pair| pair == CALL) {
        let offset = at + found;
        let starts = (offset.saturating_sub(REACH)..offset).rev();
        let starts = starts.filter(|start| !is_inside(code, *start));
        let mut loads = starts.filter_map(|start| Some((start, Load::at(&code[start..offset])?)));
        let load = loads.find(|(start, load)| load.reaches(&code[*start..offset]));
        if let Some((_, load)) = load {
            let name = load.name;
            return Some(Site { offset, name });
        }
        at = offset + CALL.len();
    }
    None
}

/// Whether this is the rest of a `mov` whose prefix names other registers. Of a number that stands in the code both readings count: the
/// prefix may as well be the end of the instruction before.
fn is_inside(code: &[u8], start: usize) -> bool {
    code[start] == 0x89 && start > 0 && matches!(code[start - 1], 0x41..=0x47 | 0x49..=0x4f)
}

/// An instruction that loads the number of a call.
struct Load {
    register: u8,
    name: Option<&'static str>,
}

impl Load {
    fn at(code: &[u8]) -> Option<Self> {
        let constant = |register: u8, bytes: &[u8]| {
            let number = u32::from_le_bytes(bytes.try_into().ok()?);
            let &(_, name) = ON_MEMORY.iter().find(|(known, _)| *known == number)?;
            let name = Some(name);
            Some(Self { register, name })
        };
        match code {
            [op @ 0xb8..=0xbf, a, b, c, d, ..] => constant(op - 0xb8, &[*a, *b, *c, *d]),
            [0x41, op @ 0xb8..=0xbf, a, b, c, d, ..] => constant(op - 0xb0, &[*a, *b, *c, *d]),
            [0x48, 0xc7, op @ 0xc0..=0xc7, a, b, c, d, ..] => {
                constant(op - 0xc0, &[*a, *b, *c, *d])
            }
            // The first argument of a function, in its register or where code that is not optimized keeps it.
            [0x48, 0x89, 0xf8, ..]
            | [0x89, 0xf8, ..]
            | [0x48, 0x8b, 0x45, ..]
            | [0x48, 0x8b, 0x44, 0x24, ..] => Some(Self {
                register: 0,
                name: None,
            }),
            _ => None,
        }
    }

    /// Whether the number is in the register that the kernel reads once all of `code` has run, which starts with this load.
    fn reaches(&self, code: &[u8]) -> bool {
        let mut holders = 1_u16 << self.register;
        let Some(mut at) = length(code) else {
            return false;
        };
        while at < code.len() {
            let rest = &code[at..];
            let Some(bytes) = length(rest).filter(|bytes| !leaves(&rest[..*bytes])) else {
                return false;
            };
            holders = moved(holders, &rest[..bytes]);
            at += bytes;
        }
        at == code.len() && holders & 1 != 0
    }
}

/// Whether an instruction goes elsewhere: the next one in memory is not the next one to run.
fn leaves(instruction: &[u8]) -> bool {
    let code = without_prefixes(instruction).1;
    match code {
        [
            0xc2 | 0xc3 | 0xca | 0xcb | 0xcc | 0xcf | 0xe8 | 0xe9 | 0xeb | 0xf4,
            ..,
        ] => true,
        [0xff, modrm, ..] => (2..=5).contains(&(modrm >> 3 & 7)),
        [0x0f, 0x0b, ..] => true,
        _ => false,
    }
}

/// Which registers hold the number after an instruction.
fn moved(holders: u16, instruction: &[u8]) -> u16 {
    let (rex, code) = without_prefixes(instruction);
    let register = |modrm: u8| (modrm >> 3 & 7) | (rex & 4) << 1;
    let other = |modrm: u8| (modrm & 7) | (rex & 1) << 3;
    let is_direct = |modrm: u8| modrm >> 6 == 3;
    let copy = |to: u8, from: u8| match holders >> from & 1 {
        0 => holders & !(1 << to),
        _ => holders | 1 << to,
    };
    match code {
        [0x89, modrm, ..] if is_direct(*modrm) => copy(other(*modrm), register(*modrm)),
        [0x8b, modrm, ..] if is_direct(*modrm) => copy(register(*modrm), other(*modrm)),
        [0x8b | 0x8d | 0x63 | 0x03 | 0x23 | 0x2b | 0x33, modrm, ..] => {
            holders & !(1 << register(*modrm))
        }
        [0x01 | 0x21 | 0x29 | 0x31 | 0xc7, modrm, ..] if is_direct(*modrm) => {
            holders & !(1 << other(*modrm))
        }
        [op @ (0xb8..=0xbf | 0x58..=0x5f), ..] => holders & !(1 << ((op & 7) | (rex & 1) << 3)),
        // The call before.
        [0x0f, 0x05, ..] => holders & !1,
        _ => holders,
    }
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

/// Bytes of the instruction that `code` starts with; none where there is no such instruction.
fn length(code: &[u8]) -> Option<usize> {
    let (rex, rest) = without_prefixes(code);
    let prefixes = code.len() - rest.len();
    let is_narrow = code[..prefixes].contains(&0x66);
    let (opcode, form) = match rest {
        [0xc5, _, op, ..] => (3, vector(1, *op)),
        [0xc4, maps, _, op, ..] => (4, vector(maps & 0x1f, *op)),
        [0x62, maps, _, _, op, ..] => (5, vector(maps & 7, *op)),
        [0x0f, 0x38, _, ..] => (3, (true, 0)),
        [0x0f, 0x3a, _, ..] => (3, (true, 1)),
        [0x0f, op, ..] => (2, of_two_bytes(*op)),
        [op, next, ..] => (1, of_one_byte(*op, *next, is_narrow, rex & 8 != 0)?),
        [op] => (1, of_one_byte(*op, 0, is_narrow, rex & 8 != 0)?),
        [] => return None,
    };
    let (has_operand, constant) = form;
    let operand = match has_operand {
        true => operand(&rest[opcode..])?,
        false => 0,
    };
    let all = prefixes + opcode + operand + constant;
    (all <= LONGEST && all <= code.len()).then_some(all)
}

/// What is behind an opcode: whether an operand is, and the bytes of the constant at its end.
type Form = (bool, usize);

/// Bytes of a ModRM byte and what belongs to it.
fn operand(code: &[u8]) -> Option<usize> {
    let modrm = *code.first()?;
    let (mode, register) = (modrm >> 6, modrm & 7);
    if mode == 3 {
        return Some(1);
    }
    let mut bytes = 1;
    let mut base = register;
    if register == 4 {
        base = code.get(1)? & 7;
        bytes += 1;
    }
    Some(match mode {
        0 if base == 5 => bytes + 4,
        0 => bytes,
        1 => bytes + 1,
        _ => bytes + 4,
    })
}

fn vector(map: u8, op: u8) -> Form {
    match (map, op) {
        (1, 0x77) => (false, 0),
        (1, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6) | (3, _) => (true, 1),
        _ => (true, 0),
    }
}

fn of_two_bytes(op: u8) -> Form {
    match op {
        0x80..=0x8f => (false, 4),
        0x05..=0x09 | 0x0b | 0x0e | 0x30..=0x37 | 0x77 | 0xa0..=0xa2 | 0xa8..=0xaa => (false, 0),
        0xc8..=0xcf => (false, 0),
        0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => (true, 1),
        _ => (true, 0),
    }
}

fn of_one_byte(op: u8, next: u8, is_narrow: bool, is_wide: bool) -> Option<Form> {
    let word = if is_narrow { 2 } else { 4 };
    // `test` is the only one of its group with a constant.
    let tests = next >> 3 & 6 == 0;
    Some(match op {
        0x00..=0x3f => match op & 7 {
            0..=3 => (true, 0),
            4 => (false, 1),
            5 => (false, word),
            _ => return None,
        },
        0x63 | 0x84..=0x8f | 0xd0..=0xd3 | 0xd8..=0xdf | 0xfe | 0xff => (true, 0),
        0x69 | 0x81 | 0xc7 => (true, word),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => (true, 1),
        0xf6 => (true, usize::from(tests)),
        0xf7 => (true, if tests { word } else { 0 }),
        0xb8..=0xbf if is_wide => (false, 8),
        0x68 | 0xa9 | 0xb8..=0xbf => (false, word),
        0xe8 | 0xe9 => (false, 4),
        0xa0..=0xa3 => (false, 8),
        0x6a | 0x70..=0x7f | 0xa8 | 0xb0..=0xb7 | 0xcd | 0xe0..=0xe7 | 0xeb => (false, 1),
        0xc2 | 0xca => (false, 2),
        0xc8 => (false, 3),
        0x60..=0x62 | 0x64..=0x67 | 0x82 | 0x9a | 0xc4 | 0xc5 | 0xce | 0xd4..=0xd6 | 0xea => {
            return None;
        }
        _ => (false, 0),
    })
}

#[cfg(test)]
mod tests;
