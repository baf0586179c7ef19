//! Non-temporal stores: they go past the caches, and need not read the line they write.

use super::cpu::{CpuEngine, probe};
use super::engine::{EngineEntry, Probe};

/// 64 bytes a store.
pub(super) const AVX512: EngineEntry = EngineEntry {
    name: "avx512",
    summary: "non-temporal stores of 64 bytes",
    probe: || probe(has::avx512(), "AVX-512"),
    open: || match probe(has::avx512(), "AVX-512").missing("avx512") {
        Some(error) => Err(error),
        None => Ok(CpuEngine::boxed("avx512", stores::avx512)),
    },
};

/// 32 bytes a store.
pub(super) const AVX2: EngineEntry = EngineEntry {
    name: "avx2",
    summary: "non-temporal stores of 32 bytes",
    probe: || probe(has::avx2(), "AVX2"),
    open: || match probe(has::avx2(), "AVX2").missing("avx2") {
        Some(error) => Err(error),
        None => Ok(CpuEngine::boxed("avx2", stores::avx2)),
    },
};

/// 16 bytes a store: every x86-64 processor.
pub(super) const SSE2: EngineEntry = EngineEntry {
    name: "sse2",
    summary: "non-temporal stores of 16 bytes",
    probe: || -> Probe { probe(has::sse2(), "SSE2") },
    open: || match probe(has::sse2(), "SSE2").missing("sse2") {
        Some(error) => Err(error),
        None => Ok(CpuEngine::boxed("sse2", stores::sse2)),
    },
};

#[cfg(target_arch = "x86_64")]
mod has {
    pub fn avx512() -> bool {
        is_x86_feature_detected!("avx512f")
    }

    pub fn avx2() -> bool {
        is_x86_feature_detected!("avx2")
    }

    pub fn sse2() -> bool {
        is_x86_feature_detected!("sse2")
    }
}

#[cfg(target_arch = "x86_64")]
mod stores {
    use std::arch::x86_64::{
        __m128i, __m256i, __m512i, _mm_setzero_si128, _mm_sfence, _mm_stream_si128,
        _mm256_setzero_si256, _mm256_stream_si256, _mm512_setzero_si512, _mm512_stream_si512,
    };

    /// Clears what does not fill a line of 64 bytes, at either end, and gives the lines between to `stream`.
    fn lines(page: &mut [u8], stream: impl FnOnce(&mut [[u8; 64]])) {
        // SAFETY: an array of bytes holds any bytes.
        let (head, lines, tail) = unsafe { page.align_to_mut::<[u8; 64]>() };
        let unaligned = lines.as_ptr().addr() % 64;
        if unaligned == 0 {
            head.fill(0);
            stream(lines);
            tail.fill(0);
        } else {
            page.fill(0);
        }
    }

    pub fn avx512(page: &mut [u8]) {
        // SAFETY: only opened where the processor has AVX-512.
        lines(page, |lines| unsafe { avx512_lines(lines) });
    }

    pub fn avx2(page: &mut [u8]) {
        // SAFETY: only opened where the processor has AVX2.
        lines(page, |lines| unsafe { avx2_lines(lines) });
    }

    pub fn sse2(page: &mut [u8]) {
        // SAFETY: every x86-64 processor has SSE2.
        lines(page, |lines| unsafe { sse2_lines(lines) });
    }

    // SAFETY: the caller has checked for AVX-512; lines start at multiples of 64 bytes.
    #[target_feature(enable = "avx512f")]
    unsafe fn avx512_lines(lines: &mut [[u8; 64]]) {
        for line in lines {
            // SAFETY: a line is 64 bytes, aligned to 64.
            unsafe {
                _mm512_stream_si512(line.as_mut_ptr().cast::<__m512i>(), _mm512_setzero_si512())
            };
        }
        _mm_sfence();
    }

    // SAFETY: the caller has checked for AVX2; lines start at multiples of 64 bytes.
    #[target_feature(enable = "avx2")]
    unsafe fn avx2_lines(lines: &mut [[u8; 64]]) {
        for line in lines {
            let start = line.as_mut_ptr().cast::<__m256i>();
            // SAFETY: a line is two aligned halves of 32 bytes.
            unsafe {
                _mm256_stream_si256(start, _mm256_setzero_si256());
                _mm256_stream_si256(start.add(1), _mm256_setzero_si256());
            }
        }
        _mm_sfence();
    }

    // SAFETY: lines start at multiples of 64 bytes.
    #[target_feature(enable = "sse2")]
    unsafe fn sse2_lines(lines: &mut [[u8; 64]]) {
        for line in lines {
            let start = line.as_mut_ptr().cast::<__m128i>();
            // SAFETY: a line is four aligned quarters of 16 bytes.
            unsafe {
                for quarter in 0..4 {
                    _mm_stream_si128(start.add(quarter), _mm_setzero_si128());
                }
            }
        }
        _mm_sfence();
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod has {
    pub fn avx512() -> bool {
        false
    }

    pub fn avx2() -> bool {
        false
    }

    pub fn sse2() -> bool {
        false
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod stores {
    pub fn avx512(page: &mut [u8]) {
        page.fill(0);
    }

    pub fn avx2(page: &mut [u8]) {
        page.fill(0);
    }

    pub fn sse2(page: &mut [u8]) {
        page.fill(0);
    }
}
