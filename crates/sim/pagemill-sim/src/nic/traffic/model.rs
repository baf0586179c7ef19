//! Sizes of language models.

/// A transformer, by its published figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelSpec {
    /// Layers.
    pub layers: u32,
    /// Numbers of a token between layers.
    pub hidden: u64,
    /// Numbers of a token inside of a feed-forward network.
    pub feed_forward: u64,
    /// Matrices of a feed-forward network: 3 if it is gated, else 2.
    pub feed_forward_matrices: u64,
    /// Heads of the queries.
    pub heads: u64,
    /// Heads of keys and values.
    pub key_value_heads: u64,
    /// Different tokens.
    pub vocabulary: u64,
    /// Feed-forward networks of a layer; more than 1 are experts.
    pub experts: u32,
    /// Experts that each token goes to.
    pub top_k: u32,
    /// Bytes of a number.
    pub number_bytes: u64,
}

/// A model and where its figures are from.
#[derive(Clone, Copy, Debug)]
pub struct ModelEntry {
    /// Name in scenarios.
    pub name: &'static str,
    /// Where its figures are from.
    pub source: &'static str,
    /// The figures.
    pub spec: ModelSpec,
}

const LLAMA_2_70B: ModelSpec = ModelSpec {
    layers: 80,
    hidden: 8192,
    feed_forward: 28_672,
    feed_forward_matrices: 3,
    heads: 64,
    key_value_heads: 8,
    vocabulary: 32_000,
    experts: 1,
    top_k: 1,
    number_bytes: 2,
};

/// Every model that scenarios can name.
pub const MODELS: &[ModelEntry] = &[
    ModelEntry {
        name: "gpt-3-175b",
        source: "Brown et al.: Language models are few-shot learners, 2020, table 2.1",
        spec: ModelSpec {
            layers: 96,
            hidden: 12_288,
            feed_forward: 49_152,
            feed_forward_matrices: 2,
            heads: 96,
            key_value_heads: 96,
            vocabulary: 50_257,
            experts: 1,
            top_k: 1,
            number_bytes: 2,
        },
    },
    ModelEntry {
        name: "llama-2-70b",
        source: "Touvron et al.: Llama 2, 2023, and the published configuration of the model",
        spec: LLAMA_2_70B,
    },
    ModelEntry {
        name: "mixtral-8x7b",
        source: "Jiang et al.: Mixtral of experts, 2024, table 1",
        spec: ModelSpec {
            layers: 32,
            hidden: 4096,
            feed_forward: 14_336,
            feed_forward_matrices: 3,
            heads: 32,
            key_value_heads: 8,
            vocabulary: 32_000,
            experts: 8,
            top_k: 2,
            number_bytes: 2,
        },
    },
    ModelEntry {
        name: "moe-8x70b",
        source: "estimate: llama-2-70b with eight experts in each layer, two for each token",
        spec: ModelSpec {
            experts: 8,
            top_k: 2,
            ..LLAMA_2_70B
        },
    },
];

impl ModelSpec {
    /// Weights of the attention of a layer: queries and output are square, keys and values are narrower.
    pub fn attention_weights(&self) -> u64 {
        let key_value = self.hidden * self.key_value_heads / self.heads.max(1);
        2 * self.hidden * (self.hidden + key_value)
    }

    /// Weights of one feed-forward network.
    pub fn feed_forward_weights(&self) -> u64 {
        self.feed_forward_matrices * self.hidden * self.feed_forward
    }

    /// Weights of the table of tokens.
    pub fn vocabulary_weights(&self) -> u64 {
        self.vocabulary * self.hidden
    }

    /// All weights, with a table of tokens at the input and one at the output, without the few of norms and routers.
    pub fn weights(&self) -> u64 {
        let layer =
            self.attention_weights() + u64::from(self.experts) * self.feed_forward_weights();
        u64::from(self.layers) * layer + 2 * self.vocabulary_weights()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_give_the_published_numbers_of_weights() {
        // The Llama paper prints 70 B for 68.98e9 weights, Mixtral's 47 B for 46.7e9, GPT-3's 175.0e9 with one table of tokens.
        for (name, published) in [
            ("gpt-3-175b", 175.0e9),
            ("llama-2-70b", 68.98e9),
            ("mixtral-8x7b", 46.7e9),
        ] {
            let entry = MODELS.iter().find(|entry| entry.name == name).unwrap();
            let error = entry.spec.weights() as f64 / published - 1.0;
            assert!(error.abs() < 0.005, "{name}: {error}");
        }
    }
}
