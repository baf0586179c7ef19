//! Kernels of one instruction, and their inputs.

use pagemill_ptx::{DeviceMemory, Executor, Launch, Module, Output, run_functional};

/// How wide an operand's register is, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wide {
    W16,
    W32,
    W64,
}

impl Wide {
    pub fn of(bits: u32) -> Self {
        match bits {
            ..=16 => Self::W16,
            17..=32 => Self::W32,
            _ => Self::W64,
        }
    }

    pub fn register(self, number: usize) -> String {
        match self {
            Self::W16 => format!("%h{number}"),
            Self::W32 => format!("%r{number}"),
            Self::W64 => format!("%d{number}"),
        }
    }

    pub fn mask(self) -> u64 {
        match self {
            Self::W16 => 0xffff,
            Self::W32 => 0xffff_ffff,
            Self::W64 => u64::MAX,
        }
    }
}

/// A form whose results are the same where their bits are.
pub fn exact_form(
    text: String,
    result: Wide,
    sources: Vec<Wide>,
    model: impl Fn([u64; 3]) -> u64 + 'static,
) -> Form {
    Form {
        text,
        result,
        sources,
        model: Box::new(model),
        same: |a, b| a == b,
    }
}

/// One form of an instruction: its text, its operands, and what it gives.
pub struct Form {
    /// Without operands; or instructions that end with `;` and make register 4 of registers 1 to 3.
    pub text: String,
    pub result: Wide,
    pub sources: Vec<Wide>,
    pub model: Box<dyn Fn([u64; 3]) -> u64>,
    /// Whether two results are the same; bits, unless it says otherwise.
    pub same: fn(u64, u64) -> bool,
}

/// Inputs of a form unless the environment says otherwise.
const INPUTS: usize = 900;

pub fn inputs_per_form() -> usize {
    let wanted = std::env::var("PAGEMILL_DIFFERENTIAL_INPUTS").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(INPUTS)
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}

/// Runs every form on `inputs` triples, and gives the number of results compared.
///
/// # Panics
/// At the first result that differs from the model.
pub fn compare(forms: &[Form], sample: impl Fn(&mut Random) -> u64) -> usize {
    let count = inputs_per_form();
    let mut random = Random(17);
    let triples: Vec<[u64; 3]> = (0..count)
        .map(|_| std::array::from_fn(|_| sample(&mut random)))
        .collect();
    for chunk in forms.chunks(64) {
        let text: String = chunk.iter().enumerate().map(kernel).collect();
        let module = load(&text);
        for (number, form) in chunk.iter().enumerate() {
            let found = execute(&module, &format!("k{number}"), &triples);
            for (triple, found) in triples.iter().zip(found) {
                let wanted = (form.model)(*triple) & form.result.mask();
                let operands: Vec<String> =
                    triple.iter().map(|bits| format!("{bits:#x}")).collect();
                assert!(
                    (form.same)(found, wanted),
                    "{} of {}: {found:#x}, the model says {wanted:#x}",
                    form.text,
                    operands.join(", ")
                );
            }
        }
    }
    forms.len() * count
}

pub fn load(functions: &str) -> Module {
    let text = format!(".version 8.6\n.target sm_90\n.address_size 64\n{functions}");
    Module::load("differential.ptx", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// A kernel whose thread i reads three numbers at 32 i and writes its result behind them.
fn kernel((number, form): (usize, &Form)) -> String {
    let operands: Vec<String> = std::iter::once(form.result.register(4))
        .chain((1..).zip(&form.sources).map(|(at, wide)| wide.register(at)))
        .collect();
    let instructions = match form.text.ends_with(';') {
        true => form.text.clone(),
        false => format!("{} {};", form.text, operands.join(", ")),
    };
    let widen = match form.result {
        Wide::W16 => "cvt.u64.u16 %d4, %h4;",
        Wide::W32 => "cvt.u64.u32 %d4, %r4;",
        Wide::W64 => "",
    };
    let narrow: String = (1..4)
        .map(|at| format!("cvt.u32.u64 %r{at}, %d{at};\ncvt.u16.u64 %h{at}, %d{at};\n"))
        .collect();
    format!(
        ".visible .entry k{number}(.param .u64 p) {{\n.reg .b16 %h<5>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<4>;\n\
         ld.param.u64 %d5, [p];\nmov.u32 %r5, %tid.x;\nmov.u32 %r6, %ctaid.x;\nmad.lo.u32 %r5, %r6, 128, %r5;\n\
         mul.wide.u32 %d6, %r5, 32;\nadd.u64 %d5, %d5, %d6;\n\
         ld.global.u64 %d1, [%d5];\nld.global.u64 %d2, [%d5+8];\nld.global.u64 %d3, [%d5+16];\n{narrow}\
         {instructions}\n{widen}\nst.global.u64 [%d5+24], %d4;\nret;\n}}\n"
    )
}

fn execute(module: &Module, kernel: &str, triples: &[[u64; 3]]) -> Vec<u64> {
    let blocks = triples.len().div_ceil(128);
    let mut words: Vec<u64> = triples
        .iter()
        .flat_map(|[a, b, c]| [*a, *b, *c, 0])
        .collect();
    words.resize(blocks * 128 * 4, 0);
    launch(module, kernel, (blocks as u32, 128), &mut words);
    words
        .chunks(4)
        .map(|record| record[3])
        .take(triples.len())
        .collect()
}

/// Runs `kernel` with one pointer to `words`, which it may change: interpreted, and as machine code to the same bits.
pub fn launch(module: &Module, kernel: &str, (blocks, threads): (u32, u32), words: &mut [u64]) {
    let mut memory = DeviceMemory::new();
    let linked = module.link(&mut memory).expect("there are no variables");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let size = bytes.len() as u64;
    let at = memory.alloc("words", size, 256).expect("there is room");
    memory
        .bytes_mut(at, size)
        .expect("allocated")
        .copy_from_slice(&bytes);
    let kernel = module.kernel(kernel).expect("it is there");
    let shape = ([blocks, 1, 1], [threads, 1, 1]);
    let launch = Launch::new(
        module,
        &linked,
        kernel,
        shape.0,
        shape.1,
        0,
        &at.to_le_bytes(),
    )
    .expect("it can be launched")
    .with_executor(Executor::Interpreter);
    let mut compiled_memory = memory.clone();
    let compiled = launch.clone().with_executor(Executor::Compiled);
    for (launch, memory) in [(&launch, &mut memory), (&compiled, &mut compiled_memory)] {
        run_functional(launch, memory, &mut Output::default())
            .unwrap_or_else(|trap| panic!("{trap}"));
    }
    let bytes = memory.bytes(at, size).expect("allocated");
    let compiled_bytes = compiled_memory.bytes(at, size).expect("allocated");
    assert!(bytes == compiled_bytes, "compiled {}", kernel.name);
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    }
}
