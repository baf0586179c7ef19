use super::{MOUNT, Tree};
use crate::{OsError, Result};

/// What resctrl says of the cache that it divides: the last level that has an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheInfo {
    /// The level, 3 or 2.
    pub level: u32,
    /// Resources of a schema: one, or one for code and one for data.
    pub resources: Vec<String>,
    /// Ways that a mask has.
    pub ways: u32,
    /// Ways that it has at least.
    pub ways_min: u32,
    /// Ways that devices use, too; 0 for none.
    pub shared_ways: u64,
    /// Groups that there can be, the default one included.
    pub classes: u32,
    /// The caches of that level.
    pub domains: Vec<u32>,
}

/// Resources with their level, the best first: what Linux calls them, without and with code apart from data.
const RESOURCES: [(u32, &[&str]); 4] = [
    (3, &["L3"]),
    (3, &["L3CODE", "L3DATA"]),
    (2, &["L2"]),
    (2, &["L2CODE", "L2DATA"]),
];

impl CacheInfo {
    /// Reads it.
    ///
    /// # Errors
    /// The file system is not there, or divides no cache.
    pub fn read(tree: &dyn Tree) -> Result<Self> {
        let schemata = tree.read("schemata").map_err(|error| {
            OsError::new("read the default schemata of resctrl", error).with_hint(format!(
                "where the processor can divide its cache: sudo mount -t resctrl resctrl {MOUNT}"
            ))
        })?;
        for (level, names) in RESOURCES {
            let Some(domains) = parse_domains(&schemata, names[0]) else {
                continue;
            };
            let text = |file: &str| {
                let path = format!("info/{}/{file}", names[0]);
                let read = tree.read(&path);
                read.map(|text| text.trim().to_owned())
                    .map_err(|error| OsError::new(format!("read {path} of resctrl"), error))
            };
            let number = |file: &str, radix| {
                let found = text(file)?;
                u64::from_str_radix(&found, radix).map_err(|_| nonsense(names[0], file, &found))
            };
            let mask = number("cbm_mask", 16)?;
            return Ok(Self {
                level,
                resources: names.iter().map(|name| (*name).to_owned()).collect(),
                ways: u64::BITS - mask.leading_zeros(),
                ways_min: number("min_cbm_bits", 10)?.clamp(1, 64) as u32,
                // Older kernels do not have it.
                shared_ways: number("shareable_bits", 16).unwrap_or(0),
                classes: number("num_closids", 10)?.min(u64::from(u32::MAX)) as u32,
                domains,
            });
        }
        let error = std::io::Error::from(std::io::ErrorKind::Unsupported);
        Err(OsError::new("divide a cache by resctrl", error).with_hint(
            "its schemata has neither L3 nor L2: this processor divides memory bandwidth only",
        ))
    }
}

fn nonsense(resource: &str, file: &str, found: &str) -> OsError {
    let error = std::io::Error::from(std::io::ErrorKind::InvalidData);
    OsError::new(
        format!("read info/{resource}/{file} of resctrl: `{found}`"),
        error,
    )
}

/// The domains of `resource` in the text of a schemata file, as `L3:0=fffff;1=fffff`; `None` if it has no such line.
pub fn parse_domains(schemata: &str, resource: &str) -> Option<Vec<u32>> {
    let line = schemata.lines().find_map(|line| {
        let (name, domains) = line.trim().split_once(':')?;
        (name.trim() == resource).then_some(domains)
    })?;
    let domains = line
        .split(';')
        .map(|domain| domain.split_once('=')?.0.trim().parse().ok());
    domains.collect()
}
