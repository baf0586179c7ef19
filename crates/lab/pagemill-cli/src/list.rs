//! `pagemill list`: machines, workloads, policies and scenarios.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use pagemill_policy::coloring::quota::QUOTA_POLICIES;
use pagemill_policy::migration::{FullSlotRule, POLICIES};
use pagemill_policy::residency::{AHEADS, EVICTIONS, GROWTHS, STRATEGIES};
use pagemill_policy::translation::ORGANIZATIONS;
use pagemill_scenario::{
    MACHINES, NIC_WORKLOADS, PAGER_WORKLOADS, SCENARIOS, ZEROING_WORKLOADS, load, transfer_modes,
};
use pagemill_workloads::{CPU_PROGRAMS, Parameter, Unit, WORKLOADS};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{TextFormat, print_json, print_text};

#[derive(Args, Debug)]
pub struct ListArguments {
    /// What to list
    #[arg(value_enum)]
    pub what: Listing,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub format: TextFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    Machines,
    Workloads,
    Policies,
    Scenarios,
}

/// One thing that can be named.
struct Item {
    name: String,
    summary: String,
    /// What can be chosen about it: name, what is allowed or the default, and one line.
    keys: Vec<(String, String, String)>,
}

/// Lists what was asked for.
pub fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let (name, items) = match arguments.what {
        Listing::Machines => ("machines", machines()?),
        Listing::Workloads => ("workloads", workloads()),
        Listing::Policies => ("policies", policies()),
        Listing::Scenarios => ("scenarios", scenarios()?),
    };
    match arguments.format {
        TextFormat::Table => print_text(&table(&items)),
        TextFormat::Json => {
            print_json(&json!({ name: items.iter().map(item_json).collect::<Vec<_>>() }))
        }
    }
}

fn machines() -> Result<Vec<Item>, Failure> {
    let item = |machine: &pagemill_scenario::BuiltIn| {
        let head = machine.head()?;
        let about = head.about;
        Ok(Item {
            name: machine.name.to_owned(),
            summary: format!("{}: {}", head.kind, head.title),
            keys: about_key(about),
        })
    };
    MACHINES.iter().map(item).collect()
}

fn scenarios() -> Result<Vec<Item>, Failure> {
    let item = |built_in: &pagemill_scenario::BuiltIn| {
        let scenario = load(built_in.name, &[])?;
        let points = scenario.points.len();
        let summary = format!(
            "{} ({points} point{})",
            scenario.title,
            if points == 1 { "" } else { "s" }
        );
        Ok(Item {
            name: scenario.name,
            summary,
            keys: Vec::new(),
        })
    };
    SCENARIOS.iter().map(item).collect()
}

fn workloads() -> Vec<Item> {
    let key = |parameter: &Parameter| {
        let default = match parameter.unit {
            Unit::Bytes => format!("\"{} B\"", parameter.default),
            Unit::Flag => (parameter.default != 0).to_string(),
            Unit::Seed => "that of the scenario".to_owned(),
            Unit::Count => parameter.default.to_string(),
        };
        (parameter.name.to_owned(), default, parameter.doc.to_owned())
    };
    let item = |info: &pagemill_workloads::WorkloadInfo| Item {
        name: info.name.to_owned(),
        summary: info.summary.to_owned(),
        keys: info.parameters.iter().map(key).collect(),
    };
    let network = NIC_WORKLOADS.iter().map(|(name, summary)| Item {
        name: (*name).to_owned(),
        summary: format!("nic: {summary}"),
        keys: Vec::new(),
    });
    let zeroing = ZEROING_WORKLOADS.iter().map(|(name, summary)| Item {
        name: (*name).to_owned(),
        summary: format!("zeroing: {summary}"),
        keys: Vec::new(),
    });
    let pager = PAGER_WORKLOADS.iter().map(|(name, summary)| Item {
        name: (*name).to_owned(),
        summary: format!("pager: {summary}"),
        keys: Vec::new(),
    });
    let cpu = CPU_PROGRAMS.iter().map(|info| Item {
        name: info.name.to_owned(),
        summary: format!("coloring: {}", info.summary),
        keys: info.parameters.iter().map(key).collect(),
    });
    WORKLOADS
        .iter()
        .map(item)
        .chain(cpu)
        .chain(network)
        .chain(zeroing)
        .chain(pager)
        .collect()
}

fn policies() -> Vec<Item> {
    let item = |(name, summary): (&'static str, &'static str)| {
        let keys = POLICIES
            .find(name)
            .map_or(&[][..], |policy| policy.parameters);
        Item {
            name: name.to_owned(),
            summary: summary.to_owned(),
            keys: keys.iter().map(|key| transfer_key(key)).collect(),
        }
    };
    let of_kind = |kind: &str, name: &str, summary: &str| Item {
        name: name.to_owned(),
        summary: format!("{kind}: {summary}"),
        keys: Vec::new(),
    };
    let organizations = ORGANIZATIONS
        .iter()
        .map(|entry| of_kind("ATT cache", entry.name, entry.summary));
    let strategies = STRATEGIES
        .iter()
        .map(|entry| of_kind("residency strategy", entry.name, entry.summary));
    let growths = GROWTHS
        .iter()
        .map(|entry| of_kind("residency growth", entry.name, entry.summary));
    let evictions = EVICTIONS
        .iter()
        .map(|entry| of_kind("residency eviction", entry.name, entry.summary));
    let aheads = AHEADS
        .iter()
        .map(|entry| of_kind("residency prefetch", entry.name, entry.summary));
    let quotas = QUOTA_POLICIES
        .iter()
        .map(|entry| of_kind("quota of colors", entry.name, entry.summary));
    transfer_modes()
        .map(item)
        .chain(organizations)
        .chain(strategies)
        .chain(growths)
        .chain(evictions)
        .chain(aheads)
        .chain(quotas)
        .collect()
}

fn transfer_key(key: &str) -> (String, String, String) {
    let (default, doc) = match key {
        "unit" => (
            "\"1 KiB\"".to_owned(),
            "requests grow to multiples of this; divides the page".to_owned(),
        ),
        "gap_threshold" => (
            "\"0 B\"".to_owned(),
            "gaps of fewer bytes move with a request".to_owned(),
        ),
        "range_slots" => (
            "no limit".to_owned(),
            "most valid ranges of a page".to_owned(),
        ),
        "when_full" => {
            let rules =
                FullSlotRule::ALL.map(|rule| format!("{}: {}", rule.name(), rule.summary()));
            (
                format!("\"{}\"", FullSlotRule::default().name()),
                rules.join("; "),
            )
        }
        _ => (String::new(), String::new()),
    };
    (key.to_owned(), default, doc)
}

fn about_key(about: String) -> Vec<(String, String, String)> {
    if about.is_empty() {
        Vec::new()
    } else {
        vec![("about".to_owned(), String::new(), about)]
    }
}

fn table(items: &[Item]) -> String {
    let width = items
        .iter()
        .map(|item| item.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for item in items {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<width$}  {}", item.name, item.summary);
        for (key, value, doc) in &item.keys {
            let assignment = if value.is_empty() {
                String::new()
            } else {
                format!("{key} = {value}")
            };
            let _ = match assignment.as_str() {
                "" => writeln!(text, "{:<width$}    {doc}", ""),
                _ => writeln!(text, "{:<width$}    {assignment:<36}  {doc}", ""),
            };
        }
    }
    text
}

fn item_json(item: &Item) -> Value {
    let keys: Vec<Value> = item
        .keys
        .iter()
        .map(|(key, value, doc)| json!({ "name": key, "default": value, "doc": doc }))
        .collect();
    json!({ "name": item.name, "summary": item.summary, "keys": keys })
}
