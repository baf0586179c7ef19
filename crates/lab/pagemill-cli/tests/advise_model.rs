//! `pagemill advise model`: tokens a second of models whose weights are holes in a file.

use std::fs::{self, File};
use std::path::Path;

use crate::common::run_in;
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// A GGUF as a table of tensors: half-precision matrices, with the length of a row first.
#[derive(Clone)]
struct Model {
    tensors: Vec<(String, Vec<u64>)>,
    facts: Vec<(&'static str, u64)>,
    /// The type of a GGUF in which numbers are written: 4 is u32, 10 is u64.
    fact_type: u32,
    is_big_endian: bool,
}

impl Model {
    /// Embeddings, perhaps an output, and layers of `layer_mib` each.
    fn of(layers: u64, layer_mib: u64, has_output: bool) -> Self {
        let rows_of = |mib: u64| vec![1024, mib * MIB / 2048];
        let mut tensors = vec![("token_embd.weight".to_owned(), rows_of(16))];
        tensors.extend(has_output.then(|| ("output.weight".to_owned(), rows_of(16))));
        let layers = 0..layers;
        tensors
            .extend(layers.map(|layer| (format!("blk.{layer}.ffn_up.weight"), rows_of(layer_mib))));
        Self {
            tensors,
            ..Self::tied()
        }
        .with(|model| model.facts.clear())
    }

    /// Tied embeddings of 1 MiB, and two layers of 1 MiB.
    fn tied() -> Self {
        let mut tensors = vec![("token_embd.weight".to_owned(), vec![256, 2048])];
        for layer in 0..2 {
            tensors.push((format!("blk.{layer}.attn_output.weight"), vec![256, 1024]));
            tensors.push((format!("blk.{layer}.ffn_up.weight"), vec![256, 1024]));
        }
        let facts = vec![("llama.block_count", 2)];
        Self {
            tensors,
            facts,
            fact_type: 4,
            is_big_endian: false,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn with_tensor(self, name: &str, sides: &[u64]) -> Self {
        self.with(|model| model.tensors.push((name.to_owned(), sides.to_vec())))
    }

    fn with_fact(self, key: &'static str, value: u64) -> Self {
        self.with(|model| model.facts.push((key, value)))
    }

    fn renamed(self, from: &str, to: &str) -> Self {
        self.with(|model| {
            model
                .tensors
                .iter_mut()
                .for_each(|(name, _)| *name = name.replace(from, to))
        })
    }

    fn number(&self, number: u64, bytes: usize) -> Vec<u8> {
        let mut bytes = number.to_le_bytes()[..bytes].to_vec();
        if self.is_big_endian {
            bytes.reverse();
        }
        bytes
    }

    fn write(&self, path: &Path) {
        let text = |text: &str| [&self.number(text.len() as u64, 8)[..], text.as_bytes()].concat();
        let mut file = [b"GGUF", &self.number(3, 4)[..]].concat();
        file.extend(self.number(self.tensors.len() as u64, 8));
        file.extend(self.number(self.facts.len() as u64 + 1, 8));
        // An array of two strings.
        file.extend(
            [
                text("tokenizer.ggml.tokens"),
                self.number(9, 4),
                self.number(8, 4),
                self.number(2, 8),
            ]
            .concat(),
        );
        file.extend([text("a"), text("b")].concat());
        for (key, value) in &self.facts {
            let bytes = [1, 1, 2, 2, 4, 4, 4, 1, 8, 8, 8, 8][self.fact_type as usize];
            file.extend(
                [
                    text(key),
                    self.number(self.fact_type.into(), 4),
                    self.number(*value, bytes),
                ]
                .concat(),
            );
        }
        let mut offset = 0;
        for (name, sides) in &self.tensors {
            file.extend([text(name), self.number(sides.len() as u64, 4)].concat());
            sides
                .iter()
                .for_each(|side| file.extend(self.number(*side, 8)));
            file.extend([self.number(1, 4), self.number(offset, 8)].concat());
            offset += (2 * sides.iter().product::<u64>()).next_multiple_of(32);
        }
        let data = (file.len() as u64).next_multiple_of(32);
        fs::write(path, file).expect("a header");
        let holes = File::options().write(true).open(path).expect("the file");
        holes.set_len(data + offset).expect("weights");
    }

    /// The same as safetensors, of which the outermost side is first.
    fn write_safetensors(&self, path: &Path) {
        let (mut table, mut offset) = (serde_json::json!({}), 0);
        for (name, sides) in &self.tensors {
            let bytes = 2 * sides.iter().product::<u64>();
            let shape: Vec<u64> = sides.iter().rev().copied().collect();
            table[name] = serde_json::json!({ "dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + bytes] });
            offset += bytes;
        }
        let table = format!("{table}  ");
        fs::write(
            path,
            [&(table.len() as u64).to_le_bytes()[..], table.as_bytes()].concat(),
        )
        .expect("a header");
        let holes = File::options().write(true).open(path).expect("the file");
        holes
            .set_len(8 + table.len() as u64 + offset)
            .expect("weights");
    }

    /// Its parts, of one tensor each, called as those of split models.
    fn write_parts(&self, folder: &Path, stem: &str, says_so: bool) {
        let count = self.tensors.len();
        for (number, tensor) in self.tensors.iter().enumerate() {
            let mut part = self.clone();
            part.tensors = vec![tensor.clone()];
            if says_so {
                part.facts.extend([
                    ("split.no", number as u64),
                    ("split.count", count as u64),
                    ("split.tensors.count", count as u64),
                ]);
            }
            let name = format!("{stem}-{:05}-of-{count:05}", number + 1);
            part.write(&folder.join(format!("{name}.gguf")));
            part.write_safetensors(&folder.join(format!("{name}.safetensors")));
        }
    }
}

fn rows(folder: &Path, model: &str) -> Vec<Value> {
    rows_on("a100-pcie4-x86", folder, model)
}

fn rows_on(machine: &str, folder: &Path, model: &str) -> Vec<Value> {
    let arguments = [
        "advise",
        "model",
        model,
        "--machine",
        machine,
        "--format",
        "json",
    ];
    let text = run_in(folder, &arguments).result();
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    answer["rows"].as_array().expect("rows").clone()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} in {row}"))
}

fn of<'a>(rows: &'a [Value], way: &str) -> &'a Value {
    rows.iter()
        .find(|row| row["way"] == way)
        .unwrap_or_else(|| panic!("{way}"))
}

#[test]
fn a_model_that_fits_is_read_from_gpu_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    Model::of(4, 64, true).write(&folder.path().join("small.gguf"));
    let rows = rows(folder.path(), "small.gguf");
    assert_eq!(rows.len(), 5);
    let demand = of(&rows, "on demand");
    // All but 8191 of the 8192 rows of embeddings.
    assert_eq!(demand["token_bytes"], 4 * 64 * MIB + 16 * MIB + 2048);
    assert_eq!(demand["moved_bytes"], 0);
    // No more than the memory's 1539 GB/s, and most of them; the link has 25 GB/s.
    let rate = |row: &Value| number(row, "tokens_per_second") * number(row, "token_bytes");
    assert!((500e9..1539e9).contains(&rate(demand)), "{demand}");
    assert!(rate(of(&rows, "zero-copy")) < 32e9);
}

/// Access counters move what the first tokens read over the link; while a block moves, those who read it wait.
#[test]
fn a_model_that_fits_is_judged_when_counters_have_moved_it() {
    let folder = tempfile::tempdir().expect("a folder");
    Model::of(4, 64, true).write(&folder.path().join("small.gguf"));
    let rows = rows_on("gh200", folder.path(), "small.gguf");
    let rate = |way| number(of(&rows, way), "tokens_per_second");
    let share = rate("on demand") / rate("layers split");
    assert!((0.9..1.1).contains(&share), "{share}");
    assert_eq!(of(&rows, "on demand")["moved_bytes"], 0);
}

#[test]
fn a_model_that_does_not_fit_is_bounded_by_the_link() {
    let folder = tempfile::tempdir().expect("a folder");
    Model::of(120, 512, true).write(&folder.path().join("large.gguf"));
    let rows = rows(folder.path(), "large.gguf");
    for row in &rows {
        let factor = number(row, "oversubscription_factor");
        assert!((1.4..1.7).contains(&factor), "{row}");
        assert!(number(row, "moved_bytes") > 0.0, "{row}");
        assert!(number(row, "tokens_per_second_error") >= 0.0);
    }
    let speed = |way| number(of(&rows, way), "tokens_per_second");
    // What stays on the GPU is not moved: a loop through pages in order evicts what it needs next.
    assert!(speed("layers split") > speed("zero-copy"));
    assert!(speed("zero-copy") > speed("on demand"));
    // A third of the weights is read in place.
    let share = number(of(&rows, "layers split"), "moved_bytes")
        / number(of(&rows, "layers split"), "token_bytes");
    assert!((0.2..0.6).contains(&share), "{share}");
}

#[test]
fn both_formats_say_the_same_and_tied_embeddings_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    Model::of(2, 64, false).write(&folder.path().join("one.gguf"));
    Model::of(2, 64, false)
        .renamed("token_embd", "model.embed_tokens")
        .write_safetensors(&folder.path().join("one.safetensors"));
    let (first, second) = (
        rows(folder.path(), "one.gguf"),
        rows(folder.path(), "one.safetensors"),
    );
    assert_eq!(first, second);
    assert_eq!(first[0]["token_bytes"], 2 * 64 * MIB + 16 * MIB);
}

#[test]
fn what_is_no_model_is_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |name: &str, bytes: &[u8], why: &str| {
        fs::write(folder.path().join(name), bytes).expect("a file");
        let error = run_in(
            folder.path(),
            &["advise", "model", name, "--machine", "a100-pcie4-x86"],
        )
        .error(2);
        assert!(error.contains(why) && error.contains(name), "{error}");
    };
    Model::of(2, 64, true).write(&folder.path().join("whole"));
    let whole = fs::read(folder.path().join("whole")).expect("the file");
    refused(
        "text",
        b"a text that is no model at all",
        "neither a GGUF nor",
    );
    refused("empty", b"", "ends within the table");
    refused("cut", &whole[..100], "ends within the table");
    refused("short", &whole[..4096], "fetch it again");
    refused(
        "old",
        &[b"GGUF", &1u32.to_le_bytes()[..], &[0; 16]].concat(),
        "version 1",
    );
    refused(
        "many",
        &[b"GGUF", &3u32.to_le_bytes()[..], &[255; 16]].concat(),
        "are announced",
    );
    refused(
        "none",
        &[b"GGUF", &3u32.to_le_bytes()[..], &[0; 16]].concat(),
        "no weights",
    );
    refused(
        "json",
        &[&2u64.to_le_bytes()[..], b"[]"].concat(),
        "its table of tensors is wrong",
    );
    let experts = br#"{"a.experts.0.w":{"dtype":"F16","shape":[1,4],"data_offsets":[0,8]}}"#;
    refused(
        "experts",
        &[&(experts.len() as u64).to_le_bytes()[..], experts, &[0; 8]].concat(),
        "mixture of experts",
    );
    let ends = br#"{"a":{"dtype":"F16","shape":[1,4],"data_offsets":[8,0]}}"#;
    refused(
        "ends",
        &[&(ends.len() as u64).to_le_bytes()[..], ends].concat(),
        "ends before it begins",
    );
    let error = run_in(folder.path(), &["advise", "model", "whole"]).error(2);
    assert!(error.contains("--machine"), "{error}");
    let error = run_in(
        folder.path(),
        &["advise", "model", "whole", "--machine", "gtx480"],
    )
    .error(2);
    assert!(error.contains("gtx480"), "{error}");
}

fn token_bytes(folder: &Path, model: &str) -> u64 {
    rows(folder, model)[0]["token_bytes"]
        .as_u64()
        .expect("a number")
}

/// How a file is written changes nothing; what is in it does.
#[test]
fn a_token_reads_what_the_tensors_are_however_they_are_written() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    let whole = 3 * MIB;
    let untied = 2 * MIB + MIB + 512;
    let tied = Model::tied;
    let has_output = || tied().with_tensor("output.weight", &[256, 2048]);
    #[rustfmt::skip]
    let models = [
        ("as it is", tied(), whole),
        ("other names in the layers", tied().renamed("attn_output", "attn.output"), whole),
        ("a name that ends as that of an output", tied().renamed("attn_output", "my_lm_head"), whole),
        ("another order", tied().with(|model| model.tensors.reverse()), whole),
        ("big endian", tied().with(|model| model.is_big_endian = true), whole),
        ("numbers of 64 bits", tied().with(|model| model.fact_type = 10), whole),
        ("numbers of 8 bits with a sign", tied().with(|model| model.fact_type = 1), whole),
        ("no experts", tied().with_fact("llama.expert_count", 0).with_fact("llama.expert_used_count", 2), whole),
        ("an output", has_output(), untied),
        ("an output of other names", has_output().renamed("token_embd", "model.embed_tokens").renamed("output.w", "lm_head.w"), untied),
        ("a bias of the output", tied().with_tensor("output.bias", &[2048]), whole + 4096),
        ("one more number", tied().with_tensor("blk.1.ffn_down.bias", &[1]), whole + 2),
        ("embeddings of each layer", tied().with_tensor("per_layer_token_embd.weight", &[256, 2048]), whole + 512),
        ("a part that reads images", tied().with_tensor("v.blk.0.ffn_up.weight", &[256, 2048]), whole),
    ];
    for (what, model, wanted) in models {
        model.write(&folder.join("m.gguf"));
        assert_eq!(token_bytes(folder, "m.gguf"), wanted, "{what}, GGUF");
        model.write_safetensors(&folder.join("m.safetensors"));
        assert_eq!(
            token_bytes(folder, "m.safetensors"),
            wanted,
            "{what}, safetensors"
        );
    }
    tied().write_parts(folder, "split", true);
    for name in [
        "split-00001-of-00005.gguf",
        "split-00004-of-00005.gguf",
        "split-00002-of-00005.safetensors",
    ] {
        assert_eq!(token_bytes(folder, name), whole, "{name}");
    }
    let map = (1..=5).map(|part| {
        (
            part.to_string(),
            format!("split-{part:05}-of-00005.safetensors").into(),
        )
    });
    let index =
        serde_json::json!({ "metadata": {}, "weight_map": map.collect::<serde_json::Map<_, _>>() });
    fs::write(
        folder.join("model.safetensors.index.json"),
        index.to_string(),
    )
    .expect("an index");
    assert_eq!(token_bytes(folder, "model.safetensors.index.json"), whole);
}

fn refusal(folder: &Path, name: &str) -> String {
    run_in(folder, &["advise", "model", name, "--machine", "rtx5090"]).error(2)
}

#[test]
fn mixtures_of_experts_are_known_by_names_numbers_and_sides() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    let named = |name: &str| Model::tied().with_tensor(name, &[256, 2]);
    for name in [
        "blk.0.ffn_down_exps.weight",
        "blk.0.ffn_up_chexps.weight",
        "blk.0.ffn_gate_up_exps.bias",
        "blk.0.ffn_gate_inp.weight",
        "blk.0.ffn_down.0.weight",
        "blk.0.ffn_down_shexp.weight",
        "model.layers.0.mlp.experts.3.up_proj.weight",
        "model.layers.0.mlp.switch_mlp.up_proj.weight",
        "model.layers.0.block_sparse_moe.gate.weight",
        "model.layers.0.mlp.router.weight",
        "model.layers.0.mlp.shared_expert.up_proj.weight",
    ] {
        named(name).write(&folder.join("m.gguf"));
        named(name).write_safetensors(&folder.join("m.safetensors"));
        for file in ["m.gguf", "m.safetensors"] {
            let error = refusal(folder, file);
            assert!(
                error.contains("mixture of experts") && error.contains(name),
                "{error}"
            );
        }
    }
    Model::tied()
        .with_tensor("blk.0.ffn_stack.weight", &[16, 16, 8])
        .write(&folder.join("m.gguf"));
    assert!(refusal(folder, "m.gguf").contains("ffn_stack"));
    for fact_type in [0, 1, 2, 3, 4, 5, 10, 11] {
        let model = Model::tied().with_fact("any.expert_count", 8);
        model
            .with(|model| model.fact_type = fact_type)
            .write(&folder.join("m.gguf"));
        let error = refusal(folder, "m.gguf");
        assert!(error.contains("any.expert_count = 8"), "{error}");
    }
    Model::tied().write_safetensors(&folder.join("m.safetensors"));
    for (config, is_dense) in [
        (r#"{"num_local_experts": 8}"#, false),
        (r#"{"text_config": {"n_routed_experts": 64}}"#, false),
        (
            r#"{"num_local_experts": 0, "num_experts_per_tok": 2, "num_experts": null}"#,
            true,
        ),
    ] {
        fs::write(folder.join("config.json"), config).expect("written");
        let finished = run_in(
            folder,
            &["advise", "model", "m.safetensors", "--machine", "rtx5090"],
        );
        assert_eq!(
            finished.code,
            Some(if is_dense { 0 } else { 2 }),
            "{config}: {}",
            finished.stderr
        );
    }
}

#[test]
fn parts_and_damaged_tables_are_refused_by_name() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    let (name, file) = ("m.gguf", folder.join("m.gguf"));
    let split = |key| Model::tied().with_fact(key, 3);
    for (model, why) in [
        (split("split.count"), "MODEL-00001-of-00003"),
        (split("split.tensors.count"), "split.tensors.count = 3"),
        (
            Model::tied().with(|model| model.facts[0].1 = 3),
            "llama.block_count = 3",
        ),
        (
            Model::tied().renamed("token_embd", "blk.0.embd"),
            "table of embeddings",
        ),
        (
            Model::tied().with_tensor("blk.1.ffn_up.weight", &[256]),
            "is there twice",
        ),
        (
            Model::tied().with_fact("llama.block_count", 2),
            "is there twice",
        ),
        (
            Model::tied().with_fact("general.alignment", 24),
            "no power of two",
        ),
    ] {
        model.write(&file);
        let error = refusal(folder, name);
        assert!(error.contains(why) && error.contains(name), "{error}");
    }
    Model::tied().write_parts(folder, "split", false);
    fs::remove_file(folder.join("split-00002-of-00005.gguf")).expect("it was there");
    let error = refusal(folder, "split-00001-of-00005.gguf");
    assert!(
        error.contains("part 2 of 5 is missing") && error.contains("split-00002"),
        "{error}"
    );
    let tables = [
        (
            r#"{"wte.weight":{"dtype":"F16","shape":[2,2],"data_offsets":[0,7]}}"#,
            "cannot have 7 bytes",
        ),
        (
            r#"{"wte.weight":{"dtype":"Q9","shape":[2,2],"data_offsets":[0,8]}}"#,
            "unknown type \"Q9\"",
        ),
        (
            r#"{"wte.weight":{"dtype":"F16","shape":[4],"data_offsets":[8,16]}}"#,
            "end at byte 16",
        ),
        (
            r#"{"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}}"#,
            "is there twice",
        ),
        (
            r#"{"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},"b":{"dtype":"F16","shape":[4],"data_offsets":[4,12]},"c":{"dtype":"F16","shape":[2],"data_offsets":[12,16]}}"#,
            "overlap",
        ),
        (
            r#"{"wte.weight":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}}"#,
            "8 bytes follow",
        ),
        (
            r#"{"a":{"dtype":"F16","shape":[4294967296,4294967296,2],"data_offsets":[0,0]}}"#,
            "cannot have 0 bytes",
        ),
    ];
    for (table, why) in tables {
        let file = [
            &(table.len() as u64).to_le_bytes()[..],
            table.as_bytes(),
            &[0; 16],
        ]
        .concat();
        fs::write(folder.join("m.safetensors"), file).expect("written");
        let error = refusal(folder, "m.safetensors");
        assert!(error.contains(why), "{error}");
    }
}
