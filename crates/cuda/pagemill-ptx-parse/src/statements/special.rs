//! The predefined registers of PTX.

/// Whether `name` (without `%`) is a special register.
pub(crate) fn is_special(name: &str) -> bool {
    NAMES.contains(&name)
        || is_numbered(name, "pm", "", 8)
        || is_numbered(name, "pm", "_64", 8)
        || is_numbered(name, "reserved_smem_offset_", "", 2)
        || { is_numbered(name, "envreg", "", 32) }
}

/// Whether `name` (without `%`) is a special register of four components.
pub(crate) fn has_components(name: &str) -> bool {
    VECTORS.contains(&name)
}

fn is_numbered(name: &str, prefix: &str, suffix: &str, count: u8) -> bool {
    let number = name
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_suffix(suffix));
    number
        .and_then(|digits| digits.parse::<u8>().ok())
        .is_some_and(|number| number < count)
}

const VECTORS: [&str; 8] = [
    "tid",
    "ntid",
    "ctaid",
    "nctaid",
    "clusterid",
    "nclusterid",
    "cluster_ctaid",
    "cluster_nctaid",
];

const NAMES: [&str; 34] = [
    "tid",
    "ntid",
    "ctaid",
    "nctaid",
    "clusterid",
    "nclusterid",
    "cluster_ctaid",
    "cluster_nctaid",
    "cluster_ctarank",
    "cluster_nctarank",
    "is_explicit_cluster",
    "laneid",
    "warpid",
    "nwarpid",
    "smid",
    "nsmid",
    "gridid",
    "lanemask_eq",
    "lanemask_le",
    "lanemask_lt",
    "lanemask_ge",
    "lanemask_gt",
    "clock",
    "clock_hi",
    "clock64",
    "globaltimer",
    "globaltimer_lo",
    "globaltimer_hi",
    "reserved_smem_offset_begin",
    "reserved_smem_offset_end",
    "reserved_smem_offset_cap",
    "total_smem_size",
    "aggr_smem_size",
    "dynamic_smem_size",
];
