//! Memory of the host.

use std::fs;
use std::path::Path;

/// Bytes that this process can still get without anything being pushed out: what the system has to spare, or its
/// control group if that is less. `None` where the system does not say.
pub fn available_bytes() -> Option<u64> {
    available_under(Path::new("/"))
}

fn available_under(root: &Path) -> Option<u64> {
    let text = |path: &str| fs::read_to_string(root.join(path)).ok();
    let number = |path: &str| text(path)?.trim().parse::<u64>().ok();
    let system = text("proc/meminfo").as_deref().and_then(mem_available);
    let group = [
        "memory.max memory.current",
        "memory/memory.limit_in_bytes memory/memory.usage_in_bytes",
    ]
    .into_iter()
    .filter_map(|names| names.split_once(' '))
    .find_map(|(limit, used)| {
        let limit = number(&format!("sys/fs/cgroup/{limit}"))?;
        let used = number(&format!("sys/fs/cgroup/{used}"))?;
        Some(limit.saturating_sub(used))
    });
    match (system, group) {
        (Some(system), Some(group)) => Some(system.min(group)),
        (system, group) => system.or(group),
    }
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests;
