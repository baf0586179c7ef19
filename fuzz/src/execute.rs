//! Kernels that run, interpreted and as machine code, to the same bits: of PTX text as it is, and of instructions put together from the
//! table of what is supported.

use std::fmt::Write;

use pagemill_ptx::{
    DeviceMemory, Executor, Kernel, Launch, Module, Output, run_functional, supported_opcodes,
};

/// Instructions that a warp may execute.
const STEPS_MAX: u64 = 2000;
const BUFFER_BYTES: u64 = 4096;
/// Instructions of a program that is put together.
const INSTRUCTIONS_MAX: usize = 24;
/// How often a line that is refused is left out.
const TRIES: usize = 16;

/// The first byte chooses between text and a program that is put together, and the shape of the launch.
pub fn execute(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else {
        return;
    };
    // A block whose last warp is not full, of one thread, and of more dimensions.
    let block = [[40, 1, 1], [1, 1, 1], [8, 3, 2], [32, 1, 1]][usize::from(first >> 1 & 3)];
    let module = match first % 2 {
        0 => Module::load_partly("fuzz", &String::from_utf8_lossy(rest)).ok(),
        _ => assemble(rest),
    };
    for kernel in module.iter().flat_map(Module::kernels).take(4) {
        let module = module.as_ref().expect("it has a kernel");
        let run = |executor| run(module, kernel, block, executor);
        let interpreted = run(Executor::Interpreter);
        assert_eq!(run(Executor::Compiled), interpreted, "another result");
    }
}

/// The buffer's final content and the counts of the run; none if it cannot be launched.
fn run(
    module: &Module,
    kernel: &Kernel,
    block: [u32; 3],
    executor: Executor,
) -> Option<(Vec<u8>, String)> {
    let mut memory = DeviceMemory::new();
    let linked = module.link(&mut memory).ok()?;
    let buffer = memory.alloc("buffer", BUFFER_BYTES, 256).ok()?;
    for (number, byte) in (0_u8..=255).cycle().zip(
        memory
            .bytes_mut(buffer, BUFFER_BYTES)
            .expect("just allocated"),
    ) {
        *byte = number.wrapping_mul(37);
    }
    let bytes = kernel.params.iter().map(|one| one.offset + one.bytes);
    let mut arguments = vec![0; bytes.max().unwrap_or(0) as usize];
    for parameter in kernel.params.iter().filter(|one| one.bytes == 8) {
        arguments[parameter.offset as usize..][..8].copy_from_slice(&buffer.to_le_bytes());
    }
    let launch = Launch::new(module, &linked, kernel, [2, 1, 1], block, 64, &arguments).ok()?;
    let launch = launch.with_instruction_limit(STEPS_MAX);
    let launch = launch.with_executor(executor);
    let result = run_functional(&launch, &mut memory, &mut Output::default());
    let end = match result {
        Ok(totals) => format!("{totals:?}"),
        Err(trap) => trap.to_string(),
    };
    assert!(!end.is_empty());
    let bytes = memory.bytes(buffer, BUFFER_BYTES).expect("allocated");
    Some((bytes.to_vec(), end))
}

/// Bytes that are taken one by one; zeros at the end.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.next()) % limit
    }

    fn one_of<'b>(&mut self, all: &[&'b str]) -> &'b str {
        all[self.below(all.len())]
    }
}

/// A kernel of instructions that the loader takes: what it refuses is left out.
fn assemble(bytes: &[u8]) -> Option<Module> {
    let mut source = Source(bytes);
    let mut lines: Vec<String> = Vec::new();
    while !source.0.is_empty() && lines.len() < INSTRUCTIONS_MAX {
        lines.push(instruction(&mut source));
    }
    drop_refused(&mut lines);
    for _ in 0..TRIES {
        let text = format!("{TARGET}{}", kernel("k", &lines));
        let refused = match Module::load("fuzz", &text) {
            Ok(module) => return Some(module),
            Err(error) => error.line as usize,
        };
        let head = DECLARATIONS.lines().count() + VALUES.lines().count();
        let first = TARGET.lines().count() + head + 2;
        let index = refused.checked_sub(first)? / 2;
        if index >= lines.len() {
            return None;
        }
        lines.remove(index);
    }
    None
}

/// Tries each line in a kernel of its own, all in one module: most of what is refused is found at once.
fn drop_refused(lines: &mut Vec<String>) {
    let name = |number: usize| format!("k{number}");
    let mut text = TARGET.to_owned();
    for (number, line) in lines.iter().enumerate() {
        text.push_str(&kernel_of_one(&name(number), line));
    }
    // None where a line is no PTX at all.
    if let Ok(module) = Module::load_partly("fuzz", &text) {
        let mut number = 0..;
        lines.retain(|_| {
            let number = number.next().expect("it has no end");
            module.kernel(&name(number)).is_some()
        });
    }
}

const TARGET: &str = ".version 8.8\n.target sm_90a\n.address_size 64\n";

const DECLARATIONS: &str =
    ".reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b128 %q<2>; .reg .pred %p<4>;
.shared .align 16 .b8 shared[256]; .local .align 16 .b8 local[64];
";

/// What the registers have at the start.
const VALUES: &str = "ld.param.u64 %rd0, [to]; mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid; mov.u64 %rd1, shared; mov.u64 %rd2, local;
setp.lt.u32 %p0, %r0, 13; setp.eq.u32 %p1, %r1, 3; and.b32 %r2, %r0, 31; mov.b32 %r3, 0x7fc00001; mov.b32 %r4, -1;
";

/// Two lines for each instruction: its label and itself.
fn kernel(name: &str, lines: &[String]) -> String {
    let mut text = format!(".visible .entry {name}(.param .u64 to) {{\n{DECLARATIONS}{VALUES}");
    for (number, line) in lines.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "L{number}:\n{line}");
    }
    // Labels of lines that are gone are at the end.
    for number in lines.len()..INSTRUCTIONS_MAX {
        let _ = writeln!(text, "L{number}:");
    }
    text.push_str("ret;\n}\n");
    text
}

/// The same of one instruction, to see whether it is taken: with no values, and the labels that it may name.
fn kernel_of_one(name: &str, line: &str) -> String {
    let mut text = format!(".visible .entry {name}(.param .u64 to) {{\n{DECLARATIONS}{line}\n");
    let labels = line.split([' ', ',', ';']).filter(|word| {
        let number = word.strip_prefix('L').map(str::parse::<usize>);
        number.is_some_and(|number| number.is_ok())
    });
    let mut labels: Vec<&str> = labels.collect();
    labels.sort_unstable();
    labels.dedup();
    for label in labels {
        let _ = writeln!(text, "{label}:");
    }
    text.push_str("ret;\n}\n");
    text
}

fn instruction(source: &mut Source<'_>) -> String {
    let opcodes = supported_opcodes();
    let opcode = &opcodes[source.below(opcodes.len())];
    let mut line = match source.next() {
        0..=20 => "@%p0 ".to_owned(),
        21..=40 => "@!%p1 ".to_owned(),
        41..=50 => "@%p2 ".to_owned(),
        _ => String::new(),
    };
    line.push_str(opcode.name);
    // Suffixes in the order of the table, each taken or not: most are some form of the instruction.
    let forms: Vec<&str> = opcode.forms.split(" | ").collect();
    for part in parts(source.one_of(&forms)) {
        match part {
            Part::Word(word) => {
                line.push('.');
                line.push_str(word);
            }
            Part::OneOf(words, is_optional) => {
                if !is_optional || source.next().is_multiple_of(2) {
                    line.push('.');
                    line.push_str(source.one_of(&words));
                }
            }
        }
    }
    let operands = source.below(6);
    for number in 0..operands {
        line.push_str(if number == 0 { " " } else { ", " });
        line.push_str(&operand(source));
    }
    line.push(';');
    line
}

/// A suffix of a form, or several of which one is taken.
enum Part<'a> {
    Word(&'a str),
    OneOf(Vec<&'a str>, bool),
}

/// Reads a form of the table: `[optional]`, `{one of these}`, words; what follows a colon is prose.
fn parts(form: &str) -> Vec<Part<'_>> {
    let form = form.split(':').next().unwrap_or_default();
    let mut parts = Vec::new();
    let mut rest = form;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '{' => '}',
            '[' => ']',
            ' ' | '.' => {
                rest = &rest[1..];
                continue;
            }
            _ => {
                let end = rest.find([' ', '{', '[']).unwrap_or(rest.len());
                parts.push(Part::Word(rest[..end].trim_end_matches('.')));
                rest = &rest[end..];
                continue;
            }
        };
        let (inside, after) = rest[1..].split_once(end).unwrap_or((&rest[1..], ""));
        let words: Vec<&str> = inside.split_whitespace().flat_map(meanings).collect();
        if !words.is_empty() {
            parts.push(Part::OneOf(words, first == '['));
        }
        rest = after;
    }
    parts
}

/// What a word of the table stands for.
fn meanings(word: &str) -> Vec<&str> {
    match word {
        "sem" => vec!["relaxed", "volatile", "acquire", "weak"],
        "scope" => vec!["gpu", "cta", "sys"],
        "cop" => vec!["ca", "cg", "cs", "wb"],
        "BoolOp" => vec!["and", "or", "xor"],
        "CmpOp" => vec!["eq", "ne", "lt", "ge", "ltu", "nan", "hi", "ls"],
        word => vec![word],
    }
}

fn operand(source: &mut Source<'_>) -> String {
    let kind = source.next();
    let number = source.next();
    let small = number % 8;
    match kind % 16 {
        0..=3 => format!("%r{small}"),
        4 | 5 => format!("%rd{small}"),
        6 => format!("%h{small}"),
        7 => format!("%p{}", number % 4),
        8 => format!("%p{}|%p{}", number % 4, number / 4 % 4),
        9 => number.to_string(),
        10 => [
            "-1",
            "0x80000000",
            "0f7F800000",
            "0f00000001",
            "0d7FF0000000000000",
            "0xffffffff",
            "31",
            "%laneid",
            "%clock",
            "%ntid.x",
        ][usize::from(number) % 10]
            .to_owned(),
        // Memory that is there, at its end, and somewhere.
        11 => format!("[%rd0+{}]", u32::from(number) * 17),
        12 => format!("[shared+{number}]"),
        13 => format!("[%rd{small}]"),
        14 => format!("{{%r{small},%r{}}}", number / 8 % 8),
        _ => format!("L{}", usize::from(number) % INSTRUCTIONS_MAX),
    }
}
