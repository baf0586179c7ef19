//! Simulated time in files: a number of picoseconds.

use pagemill_types::Picos;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<S: Serializer>(time: &Picos, serializer: S) -> Result<S::Ok, S::Error> {
    time.0.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Picos, D::Error> {
    u64::deserialize(deserializer).map(Picos)
}
