use std::fmt::Write;

use pagemill_color::probe::{
    CachedMemory, Follows, Observation, Plan, ProbedCache, Verdict, agreed, judge, observe,
    probed_cache,
};
use pagemill_policy::coloring::{CacheGeometry, Palette};
use pagemill_report::{Column, ColumnKind, ResultSet, Row};
use pagemill_types::PageSize;
use serde_json::{Value, json};

use super::arguments::ProbeArguments;
use crate::failure::Failure;
use crate::output;
use crate::output::TextFormat;

/// Verdicts until two agree.
const RUNS_MAX: usize = 12;

pub fn probe(arguments: &ProbeArguments) -> Result<(), Failure> {
    output::check_out(arguments.out.as_deref())?;
    let failed = |error: pagemill_color::probe::MeasureError| Failure::Run(error.to_string());
    let level = arguments.level.get();
    let cache = probed_cache(level).map_err(failed)?;
    eprintln!("timing the cache of level {level}; other work on this machine makes it longer");
    let mut memory = CachedMemory::new(cache.geometry.bytes).map_err(failed)?;
    let plan = Plan {
        sample_pages: arguments.pages.get() as usize,
        sets_max: 32,
        ways: cache.geometry.ways,
    };
    let mut verdicts = Vec::new();
    let (observation, verdict) = loop {
        let observation = observe(&mut memory, &plan);
        verdicts.push(judge(&observation));
        let verdict = agreed(&verdicts);
        if verdict.is_some() || verdicts.len() == RUNS_MAX {
            break (observation, verdict);
        }
    };
    let has_hypervisor =
        std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains(" hypervisor"));
    let found = Found {
        level,
        cache,
        observation,
        verdict,
        has_hypervisor,
    };
    output::hand_over(
        arguments.out.as_deref(),
        &found.result_set(),
        || match arguments.format {
            TextFormat::Table => output::print_text(&found.text()),
            TextFormat::Json => output::print_json(&found.json()),
        },
    )
}

/// What is in the JSON of an answer, as columns of a result.
const COLUMNS: [(&str, ColumnKind, &str); 18] = [
    ("level", ColumnKind::Count, "level of the cache"),
    ("cache_bytes", ColumnKind::Bytes, "its size"),
    ("ways", ColumnKind::Count, "its ways"),
    ("shared_by", ColumnKind::Text, "the CPUs that share it"),
    (
        "expected_colors",
        ColumnKind::Count,
        "colors if address bits select its sets",
    ),
    (
        "hit_cycles",
        ColumnKind::Count,
        "to read a page from the cache",
    ),
    (
        "miss_cycles",
        ColumnKind::Count,
        "to read a page from elsewhere",
    ),
    (
        "sets",
        ColumnKind::Count,
        "sets of pages that push others out",
    ),
    ("set_pages", ColumnKind::Count, "pages of each"),
    ("sampled_pages", ColumnKind::Count, "pages that were tried"),
    (
        "assigned_pages",
        ColumnKind::Count,
        "part of them that one set pushes out",
    ),
    (
        "ambiguous_pages",
        ColumnKind::Count,
        "part of them that several sets push out",
    ),
    (
        "verdict",
        ColumnKind::Text,
        "colors, hashed, one-color, no-sets, no-signal or contradictory",
    ),
    ("colors", ColumnKind::Count, "colors that were found"),
    (
        "follows",
        ColumnKind::Text,
        "what tells the color of a page: frame-number, something-else, unknown",
    ),
    (
        "agreement",
        ColumnKind::Ratio,
        "share of the pages of a color that frame numbers tell",
    ),
    ("is_usable", ColumnKind::Text, "whether coloring works here"),
    (
        "is_virtual_machine",
        ColumnKind::Text,
        "whether frame numbers are a virtual machine's",
    ),
];

struct Found {
    level: u32,
    cache: ProbedCache,
    observation: Observation,
    verdict: Option<Verdict>,
    has_hypervisor: bool,
}

impl Found {
    /// What address bits would give.
    fn expected_colors(&self) -> Option<u16> {
        let palette = Palette::new(self.cache.geometry, PageSize::KIB_4);
        Some(palette.ok()?.colors())
    }

    fn text(&self) -> String {
        let CacheGeometry { bytes, ways, .. } = self.cache.geometry;
        let expected = match self.expected_colors() {
            Some(colors) => format!("{colors} colors, if address bits select its sets"),
            None => "no colors by its shape".to_owned(),
        };
        let mut text = format!(
            "cache of level {}: {} KiB, {ways} ways, shared by CPUs {}: {expected}\n",
            self.level,
            bytes >> 10,
            self.cache.shared_by
        );
        let observation = &self.observation;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "measured: a page is read in {} cycles from the cache, {} else; {} sets of {} pages push out {} of {} pages, and {} more than once",
            observation.hit_cycles,
            observation.miss_cycles,
            observation.sets,
            observation.set_pages,
            observation.assigned.len() + observation.ambiguous,
            observation.sampled,
            observation.ambiguous,
        );
        let _ = writeln!(text, "{}", self.sentence());
        if self.has_hypervisor && !self.is_usable() {
            let _ = writeln!(
                text,
                "This is a virtual machine: its frame numbers are not those of the memory, and its caches may have other users."
            );
        }
        text
    }

    fn is_usable(&self) -> bool {
        self.verdict.is_some_and(Verdict::is_usable)
    }

    fn sentence(&self) -> String {
        let Some(verdict) = self.verdict else {
            return format!(
                "Nothing can be said: of {RUNS_MAX} runs no two in a row agree. Try again when the machine is quiet."
            );
        };
        match verdict {
            Verdict::NoSignal => "Nothing can be said: cached and other pages are read equally fast. Try again when the machine is quiet.".to_owned(),
            Verdict::NoSets => "Nothing can be said: no set of pages pushes others out reliably. Try again when the machine is quiet.".to_owned(),
            Verdict::Hashed { set_pages } => format!(
                "Pages have NO colors in this cache: it takes {set_pages} pages to push one out, as lines are spread one by one. Coloring has no effect."
            ),
            Verdict::OneColor => {
                "Pages have NO colors in this cache: each pushes out every other. Coloring has no effect.".to_owned()
            }
            Verdict::Colors { colors, follows } => match follows {
                Follows::FrameNumber => format!(
                    "Pages have {colors} colors, and frame numbers tell them. Coloring works: `pagemill color run`."
                ),
                Follows::Unknown => format!(
                    "Pages have about {colors} colors; whether frame numbers tell them is not known, as this user cannot see frame numbers. Run as root."
                ),
                Follows::SomethingElse { agreement } => format!(
                    "Pages have about {colors} colors, but frame numbers do NOT tell them: {:.0} % of the pages with one color agree, and chance gives {:.0} %. \
                     Coloring by frame numbers, as the module does, has no effect here.",
                    agreement * 100.0,
                    100.0 / colors as f64
                ),
            },
        }
    }

    /// The same as one row.
    fn result_set(&self) -> ResultSet {
        let json = self.json();
        let row = COLUMNS
            .iter()
            .fold(Row::new(), |row, (name, kind, _)| match &json[*name] {
                Value::Null => row,
                Value::String(text) => row.metric(*name, text.as_str()),
                Value::Number(number) if *kind == ColumnKind::Ratio => {
                    row.metric(*name, number.as_f64().unwrap_or(0.0))
                }
                Value::Number(number) => {
                    row.metric(*name, number.as_f64().unwrap_or(0.0).round() as u64)
                }
                other => row.metric(*name, other.to_string()),
            });
        ResultSet {
            scenario: "doctor-color".to_owned(),
            title: format!("Colors of the cache of level {}", self.level),
            about: self.sentence(),
            pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
            measured: true,
            columns: COLUMNS
                .map(|(name, kind, doc)| Column::metric(name, kind, doc))
                .to_vec(),
            rows: vec![row],
            ..ResultSet::default()
        }
    }

    fn json(&self) -> Value {
        let (name, colors) = match self.verdict {
            None => ("contradictory", None),
            Some(Verdict::NoSignal) => ("no-signal", None),
            Some(Verdict::NoSets) => ("no-sets", None),
            Some(Verdict::Hashed { .. }) => ("hashed", None),
            Some(Verdict::OneColor) => ("one-color", Some(1)),
            Some(Verdict::Colors { colors, .. }) => ("colors", Some(colors)),
        };
        let (follows, agreement) = match self.verdict {
            Some(Verdict::Colors {
                follows: Follows::FrameNumber,
                ..
            }) => (Some("frame-number"), None),
            Some(Verdict::Colors {
                follows: Follows::SomethingElse { agreement },
                ..
            }) => (Some("something-else"), Some(agreement)),
            Some(Verdict::Colors { .. }) => (Some("unknown"), None),
            _ => (None, None),
        };
        json!({
            "level": self.level,
            "cache_bytes": self.cache.geometry.bytes,
            "ways": self.cache.geometry.ways,
            "shared_by": self.cache.shared_by,
            "expected_colors": self.expected_colors(),
            "hit_cycles": self.observation.hit_cycles,
            "miss_cycles": self.observation.miss_cycles,
            "sets": self.observation.sets,
            "set_pages": self.observation.set_pages,
            "sampled_pages": self.observation.sampled,
            "assigned_pages": self.observation.assigned.len(),
            "ambiguous_pages": self.observation.ambiguous,
            "verdict": name,
            "colors": colors,
            "follows": follows,
            "agreement": agreement,
            "is_usable": self.is_usable(),
            "is_virtual_machine": self.has_hypervisor,
        })
    }
}
