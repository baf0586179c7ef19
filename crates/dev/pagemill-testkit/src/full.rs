/// Set by `cargo xtask test --full`: tests that repeat what is random do so at length.
const FULL: &str = "PAGEMILL_TEST_FULL";

/// How often a test repeats what is random: `few` times, or `many` in a full run.
pub fn few_or_many(few: u64, many: u64) -> u64 {
    if std::env::var_os(FULL).is_some() {
        many
    } else {
        few
    }
}
