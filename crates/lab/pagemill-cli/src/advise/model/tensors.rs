//! The table of a model's tensors, and what of them a token reads.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    pub name: String,
    /// Where they begin behind the table of their file, and how many bytes they have.
    pub start: u64,
    pub bytes: u64,
    /// Sides, the outermost first: a matrix has rows and columns, an embedding a row for each token of the vocabulary.
    pub shape: Vec<u64>,
}

/// All weights of a model, or of one file of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensors {
    pub all: Vec<Tensor>,
    /// What the file says of itself in whole numbers, by key; of a list, its largest number.
    pub facts: BTreeMap<String, u64>,
    /// Where the last weight ends in the file.
    pub end_bytes: u64,
}

/// Tables that have a row for each token and may be the output, too.
#[rustfmt::skip]
const EMBEDDINGS: [&str; 8] =
    ["token_embd", "embed_tokens", "wte", "word_embeddings", "tok_embeddings", "embed_in", "embeddings", "embedding"];
/// Tables of which a token reads a row, and that are never the output.
#[rustfmt::skip]
const ROWS: [&str; 8] = [
    "per_layer_token_embd", "embed_tokens_per_layer", "position_embd", "token_types", "wpe", "embed_positions", "position_embeddings",
    "token_type_embeddings",
];
/// Matrices that turn a result into a token. In a layer, these are names of something else.
const OUTPUTS: [&str; 5] = ["output", "lm_head", "embed_out", "output_layer", "head"];
/// Parts that read an image, a sound or the question once, and no token.
#[rustfmt::skip]
const NOT_OF_TOKENS: [&str; 13] = [
    "vision_tower", "vision_model", "vision_encoder", "visual", "audio_tower", "audio_encoder", "multi_modal_projector", "mm_projector",
    "embed_vision", "embed_audio", "mm", "v", "enc",
];
/// Matrices of a layer of GGUF, of which old files have one for each expert, with its number behind.
const FEED_FORWARD: [&str; 3] = ["ffn_gate", "ffn_up", "ffn_down"];

impl Tensor {
    /// The parts of the name before the number of the layer, if it has one, and those from it on.
    fn parts(&self) -> (Vec<&str>, Vec<&str>) {
        let mut before: Vec<&str> = self.name.split('.').collect();
        let number = before.iter().position(|part| is_number(part));
        let behind = before.split_off(number.unwrap_or(before.len()));
        (before, behind)
    }

    fn has(&self, names: &[&str]) -> bool {
        self.parts().0.iter().any(|part| names.contains(part))
    }

    fn is_output(&self) -> bool {
        let (parts, layer) = self.parts();
        layer.is_empty()
            && self.shape.len() > 1
            && matches!(parts[..], [.., name, _] if OUTPUTS.contains(&name))
    }

    /// Bytes of one row.
    fn row_bytes(&self) -> u64 {
        let rows = if self.shape.len() > 1 {
            self.shape[0]
        } else {
            1
        };
        self.bytes / rows.max(1)
    }

    /// Whether only a mixture of experts has such a tensor.
    fn is_of_experts(&self) -> bool {
        let parts: Vec<&str> = self.name.split('.').collect();
        let has_number_behind = parts
            .windows(2)
            .any(|pair| FEED_FORWARD.contains(&pair[0]) && is_number(pair[1]));
        let is_marked = parts.iter().any(|part| {
            *part == "router" || part.starts_with("ffn_gate_inp") || words(part).any(is_expert_word)
        });
        // One matrix for each expert, stacked.
        let is_feed_forward =
            words(&self.name).any(|word| ["ffn", "mlp", "forward"].contains(&word));
        let sides = self.shape.iter().filter(|side| **side > 1).count();
        has_number_behind
            || is_marked
            || (is_feed_forward && sides > 2 && !self.has(&NOT_OF_TOKENS))
    }
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|letter: char| !letter.is_alphanumeric())
}

fn is_expert_word(word: &str) -> bool {
    let word = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    word.contains("expert")
        || word.ends_with("exps")
        || word.ends_with("moe")
        || ["shexp", "switch"].contains(&word)
}

/// Whether a key counts the experts of a layer, as `llama.expert_count` and `num_local_experts`.
fn counts_experts(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or(key);
    let has = |wanted: &[&str]| words(last).any(|word| wanted.contains(&word));
    last.contains("expert")
        && has(&["count", "num", "n"])
        && !has(&["per", "used", "shared", "tok"])
}

impl Tensors {
    /// Bytes of all weights.
    pub fn bytes(&self) -> u64 {
        self.sum(|tensor| tensor.bytes)
    }

    /// Bytes that a token reads: every weight once, but of embeddings one row, unless they are the output too.
    pub fn token_bytes(&self) -> u64 {
        let has_output = self
            .all
            .iter()
            .any(|tensor| self.is_read(tensor) && tensor.is_output());
        self.sum(|tensor| {
            if !self.is_read(tensor) {
                0
            } else if tensor.has(&ROWS) || (has_output && tensor.has(&EMBEDDINGS)) {
                tensor.row_bytes()
            } else {
                tensor.bytes
            }
        })
    }

    fn is_read(&self, tensor: &Tensor) -> bool {
        !tensor.has(&NOT_OF_TOKENS)
    }

    fn sum(&self, of: impl Fn(&Tensor) -> u64) -> u64 {
        self.all
            .iter()
            .fold(0, |sum, tensor| sum.saturating_add(of(tensor)))
    }

    /// Adds another file of the same model.
    pub fn add(&mut self, part: Self) {
        self.all.extend(part.all);
        self.facts.extend(part.facts);
    }

    /// Refuses weights that overlap in their file.
    pub fn check_places(&self) -> io::Result<()> {
        let mut sorted: Vec<&Tensor> = self.all.iter().filter(|tensor| tensor.bytes > 0).collect();
        sorted.sort_by_key(|tensor| tensor.start);
        match sorted
            .windows(2)
            .find(|pair| pair[1].start - pair[0].start < pair[0].bytes)
        {
            Some(pair) => Err(bad(format!(
                "tensors {:?} and {:?} overlap",
                pair[0].name, pair[1].name
            ))),
            None => Ok(()),
        }
    }

    /// Refuses what is no whole dense language model.
    pub fn check(&self) -> io::Result<()> {
        let experts = self
            .facts
            .iter()
            .find(|(key, number)| **number > 0 && counts_experts(key));
        let experts = experts.map(|(key, number)| format!("{key} = {number}"));
        let tensor = || self.all.iter().find(|tensor| tensor.is_of_experts());
        if let Some(marker) =
            experts.or_else(|| tensor().map(|tensor| format!("tensor {:?}", tensor.name)))
        {
            return Err(bad(format!(
                "a mixture of experts ({marker}), of which each token reads others: dense models only"
            )));
        }
        if self.token_bytes() == 0 {
            return Err(bad("it has no weights that a token reads".to_owned()));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = self.all.iter().find(|tensor| !names.insert(&tensor.name)) {
            return Err(bad(format!("tensor {:?} is there twice", twice.name)));
        }
        if !self
            .all
            .iter()
            .any(|tensor| self.is_read(tensor) && tensor.has(&EMBEDDINGS))
        {
            return Err(bad(format!(
                "no tensor has a known name of a table of embeddings ({}): it is a part of a model, or of a kind that is not known",
                EMBEDDINGS.join(", ")
            )));
        }
        self.check_layers()
    }

    /// Refuses a GGUF that has fewer layers than it says.
    fn check_layers(&self) -> io::Result<()> {
        let announced = self
            .facts
            .iter()
            .find(|(key, _)| key.ends_with(".block_count"));
        let layer = |tensor: &Tensor| match tensor.parts() {
            (before, behind) if before.last() == Some(&"blk") => {
                behind.first().map(|number| (*number).to_owned())
            }
            _ => None,
        };
        let layers: BTreeSet<String> = self.all.iter().filter_map(layer).collect();
        match announced {
            Some((key, count)) if !layers.is_empty() && (layers.len() as u64) < *count => {
                Err(bad(format!(
                    "it has {} layers, but {key} = {count}: it is a part of a model",
                    layers.len()
                )))
            }
            _ => Ok(()),
        }
    }
}

/// What is wrong with a file.
pub fn bad(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
