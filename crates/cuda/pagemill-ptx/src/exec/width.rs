//! The widest vectors of this processor, and work that is compiled for them.

use std::sync::OnceLock;

/// Work whose loops become vectors.
pub(crate) trait Wide {
    /// Does it. It has to be `inline(always)`: its loops are compiled where it is called from.
    fn work(self);
}

/// Does `work` with the widest vectors of this processor.
#[inline(always)]
pub(crate) fn widest(work: impl Wide) {
    match level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` found on this processor every feature the function is compiled for.
        Level::Avx512 => unsafe { in_avx512(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: without AVX-512, `level` found the features that this one is compiled for.
        Level::Avx2 => unsafe { in_avx2(work) },
        Level::Baseline => work.work(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt,lzcnt,f16c"
)]
fn in_avx512(work: impl Wide) {
    work.work();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt,f16c")]
fn in_avx2(work: impl Wide) {
    work.work();
}

/// The instruction set that loops are compiled for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Level {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// What this processor has, found once per process.
pub(super) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(detect)
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Baseline
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    if !has_avx2() {
        return Level::Baseline;
    }
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    if avx512 { Level::Avx512 } else { Level::Avx2 }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("f16c")
}
