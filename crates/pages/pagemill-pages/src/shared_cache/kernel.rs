//! Touches of sets that are kept in the order of use: the same for every computer, and fast where there is AVX-512.

/// Caches that are touched together.
pub const GROUP: usize = 8;

/// Most ways of a set.
pub const WAYS_MAX: usize = 32;

/// A set: the names of its lines, the most recently used first; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row {
    pub names: [u16; WAYS_MAX],
}

/// What is touched, one after the other: at most 65535.
#[derive(Clone, Copy, Debug)]
pub struct Touches<'a> {
    /// Of each set, at most [`WAYS_MAX`].
    pub ways: u8,
    /// Of the pages that are touched; not 0.
    pub names: &'a [u16],
    /// The same pages by number.
    pub pages: &'a [u32],
    /// The colors of each page for each group of caches.
    pub colors: &'a [[u16; GROUP]],
    /// Which group of caches is touched.
    pub group: usize,
    /// How many groups there are.
    pub groups: usize,
}

impl Touches<'_> {
    /// Names, and the sets that they belong to in each cache.
    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = (u16, &[u16; GROUP])> {
        let colors = |page: &u32| &self.colors[*page as usize * self.groups + self.group];
        self.names
            .iter()
            .copied()
            .zip(self.pages.iter().map(colors))
    }
}

/// How sets are touched.
#[derive(Clone, Copy, Debug)]
pub enum Kernel {
    /// One name after the other.
    Portable,
    /// A set in one register.
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
}

impl Kernel {
    /// The fastest of this computer.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = pulp::x86::V4::try_new() {
            return Self::Avx512(avx512);
        }
        Self::Portable
    }

    /// How many misses in queues take as long as `touches` touches of a group of ordered sets; measured (2026-11-21, AMD EPYC).
    pub fn misses_for(self, touches: u64) -> u64 {
        match self {
            Self::Portable => touches * 4,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => touches / 2,
        }
    }

    /// Touches the sets of a group of caches; the misses of each.
    pub fn touch(self, sets: &mut [Vec<Row>; GROUP], touches: &Touches<'_>) -> [u64; GROUP] {
        match self {
            Self::Portable => portable(sets, touches),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(simd) => simd.vectorize(avx512::Job {
                simd,
                sets,
                touches: *touches,
            }),
        }
    }
}

fn portable(sets: &mut [Vec<Row>; GROUP], touches: &Touches<'_>) -> [u64; GROUP] {
    let last = usize::from(touches.ways) - 1;
    let mut misses = [0; GROUP];
    for (name, colors) in touches.iter() {
        for ((rows, color), misses) in sets.iter_mut().zip(colors).zip(&mut misses) {
            let names = &mut rows[usize::from(*color)].names[..=last];
            let found = names.iter().position(|known| *known == name);
            *misses += u64::from(found.is_none());
            // On a miss all move and the oldest falls out. A hit moves those before it: the same step, up to another place.
            names.copy_within(..found.unwrap_or(last), 1);
            names[0] = name;
        }
    }
    misses
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::__m512i;

    use pulp::x86::V4;
    use pulp::{NullaryFnOnce, cast};

    use super::{GROUP, Row, Touches, WAYS_MAX};

    pub struct Job<'a> {
        pub simd: V4,
        pub sets: &'a mut [Vec<Row>; GROUP],
        pub touches: Touches<'a>,
    }

    impl NullaryFnOnce for Job<'_> {
        type Output = [u64; GROUP];

        #[inline(always)]
        fn call(self) -> Self::Output {
            let (words, all) = (self.simd.avx512bw, self.simd.avx512f);
            // Lane i gets what lane i - 1 has; lane 0 the first lane of another register.
            let one_on: __m512i = cast(std::array::from_fn::<u16, WAYS_MAX, _>(|lane| {
                lane.checked_sub(1).unwrap_or(WAYS_MAX) as u16
            }));
            let one: __m512i = cast([1_u16; WAYS_MAX]);
            let last = 1_u32 << (self.touches.ways - 1);
            let sets = self.sets.each_mut().map(Vec::as_mut_slice);
            let mut hits: [__m512i; GROUP] = [cast([0_u16; WAYS_MAX]); GROUP];
            for (name, colors) in self.touches.iter() {
                let name = all._mm512_set1_epi16(name as i16);
                for cache in 0..GROUP {
                    let row = &mut sets[cache][usize::from(colors[cache])];
                    let names: __m512i = cast(row.names);
                    let found = words._mm512_cmpeq_epi16_mask(names, name);
                    hits[cache] = words._mm512_mask_add_epi16(hits[cache], found, hits[cache], one);
                    // Lanes up to where it was, or all ways.
                    let up_to = found | last;
                    let up_to = up_to ^ up_to.wrapping_sub(1);
                    row.names =
                        cast(words._mm512_mask_permutex2var_epi16(names, up_to, one_on, name));
                }
            }
            hits.map(|hits| {
                let hits: [u16; WAYS_MAX] = cast(hits);
                let hits: u64 = hits.into_iter().map(u64::from).sum();
                self.touches.names.len() as u64 - hits
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn there_is_another_kernel_to_compare() {
        if let Kernel::Portable = Kernel::detect() {
            pagemill_testkit::skip("no AVX-512 here: the portable kernel is compared with itself");
        }
    }

    proptest! {
        #[test]
        fn kernels_agree(ways in 1_u8..=WAYS_MAX as u8, pages in prop::collection::vec(0_u32..90, 0..600)) {
            let names: Vec<u16> = pages.iter().map(|page| *page as u16 + 1).collect();
            // Numbers of colors 1 to 8 in the second of two groups.
            let colors = |page: u32| std::array::from_fn(|cache| (page % (cache as u32 + 1)) as u16);
            let colors: Vec<_> = (0..90).flat_map(|page| [[99; GROUP], colors(page)]).collect();
            let touches = Touches { ways, names: &names, pages: &pages, colors: &colors, group: 1, groups: 2 };
            let mut sets: [Vec<Row>; GROUP] = std::array::from_fn(|cache| vec![Row::default(); cache + 1]);
            let mut portable = sets.clone();
            prop_assert_eq!(Kernel::detect().touch(&mut sets, &touches), Kernel::Portable.touch(&mut portable, &touches));
            prop_assert_eq!(sets, portable);
        }
    }
}
