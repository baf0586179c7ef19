//! The decision, on machines that are only a model of a cache.

use super::*;

const WAYS: u32 = 4;
const LINES: u64 = 8;
const COLORS: u64 = 8;
/// Three times what the cache holds.
const PAGES: usize = (COLORS * WAYS as u64) as usize * 3;

/// Where the line of a frame goes.
type Index = fn(frame: u64, line: u64) -> u64;

struct Model {
    /// What the cache sees.
    frames: Vec<u64>,
    /// What the process sees.
    shown: Vec<Option<u64>>,
    index: Index,
    hit_cycles: u64,
    miss_cycles: u64,
    /// One answer in so many is wrong; 0 for none.
    wrong_every: u64,
    random: u64,
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

impl Model {
    fn new(index: Index) -> Self {
        Self::of_pages(index, PAGES)
    }

    fn of_pages(index: Index, pages: usize) -> Self {
        let mut random = 0x1234_5678_9abc_def1;
        let frames: Vec<u64> = (0..pages as u64)
            .map(|page| page * 64 + next(&mut random) % 64)
            .collect();
        Self {
            shown: frames.iter().copied().map(Some).collect(),
            frames,
            index,
            hit_cycles: 1000,
            miss_cycles: 1800,
            wrong_every: 0,
            random,
        }
    }

    /// A hypervisor lays the guest's frames somewhere else.
    fn scattered(mut self) -> Self {
        for frame in &mut self.shown {
            *frame = Some(next(&mut self.random) % 100_000);
        }
        self
    }
}

impl TimedMemory for Model {
    fn pages(&self) -> usize {
        self.frames.len()
    }

    fn reload(&mut self, victim: usize, others: &[usize]) -> u64 {
        // A set is a queue of at most WAYS lines, the oldest first.
        let mut sets: std::collections::BTreeMap<u64, Vec<(usize, u64)>> = Default::default();
        let mut present = 0;
        let order = std::iter::once(&victim).chain(others).chain(others);
        for page in order {
            for line in 0..LINES {
                let set = sets
                    .entry((self.index)(self.frames[*page], line))
                    .or_default();
                set.retain(|own| *own != (*page, line));
                set.push((*page, line));
                if set.len() > WAYS as usize {
                    set.remove(0);
                }
            }
        }
        for line in 0..LINES {
            let set = &sets[&(self.index)(self.frames[victim], line)];
            present += u64::from(set.contains(&(victim, line)));
        }
        let mut cycles = (present * self.hit_cycles + (LINES - present) * self.miss_cycles) / LINES;
        cycles += next(&mut self.random) % 20;
        if self.wrong_every > 0 && next(&mut self.random).is_multiple_of(self.wrong_every) {
            cycles = self.hit_cycles + self.miss_cycles - cycles;
        }
        cycles
    }

    fn frame(&self, page: usize) -> Option<u64> {
        self.shown[page]
    }
}

fn modulo(frame: u64, line: u64) -> u64 {
    frame % COLORS * LINES + line
}

/// Two slices, selected by the parity of high bits of the frame number.
fn sliced(frame: u64, line: u64) -> u64 {
    let slice = (frame & 0b1101_1011_1000).count_ones() as u64 % 2;
    slice << 32 | modulo(frame, line)
}

/// Lines of a page permuted by the frame: colors all the same.
fn permuted(frame: u64, line: u64) -> u64 {
    modulo(frame, line ^ ((frame / 8) % 4))
}

/// Every line for itself. An exclusive or of address bits would not do: it keeps the lines of a page together, and so colors.
fn hashed(frame: u64, line: u64) -> u64 {
    let product = (frame * LINES + line + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (product ^ product >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40 & (COLORS * LINES - 1)
}

/// As the command does it: until two verdicts agree.
fn verdict(mut model: Model) -> Verdict {
    let plan = Plan {
        sample_pages: 60,
        sets_max: 40,
        ways: WAYS,
    };
    let mut verdicts = Vec::new();
    for _ in 0..8 {
        verdicts.push(judge(&observe(&mut model, &plan)));
        if let Some(verdict) = agreed(&verdicts) {
            return verdict;
        }
    }
    verdicts[verdicts.len() - 1]
}

fn colors(colors: u64, follows: Follows) -> Verdict {
    Verdict::Colors { colors, follows }
}

#[test]
fn plain_colors_are_found_and_follow_frame_numbers() {
    assert_eq!(
        verdict(Model::new(modulo)),
        colors(COLORS, Follows::FrameNumber)
    );
    assert_eq!(
        verdict(Model::new(permuted)),
        colors(COLORS, Follows::FrameNumber)
    );
    assert!(verdict(Model::new(modulo)).is_usable());
}

#[test]
fn a_hypervisor_that_scatters_pages_is_found_out() {
    let found = verdict(Model::new(modulo).scattered());
    let Verdict::Colors {
        colors: COLORS,
        follows: Follows::SomethingElse { agreement },
    } = found
    else {
        panic!("{found:?}");
    };
    assert!(agreement < 0.4, "{agreement}");
    assert!(!found.is_usable());
}

#[test]
fn slices_double_the_colors_and_hide_them_from_frame_numbers() {
    let found = verdict(Model::of_pages(sliced, 2 * PAGES));
    let Verdict::Colors {
        colors: 14..=18,
        follows: Follows::SomethingElse { .. },
    } = found
    else {
        panic!("{found:?}");
    };
}

#[test]
fn lines_that_are_hashed_one_by_one_are_no_colors() {
    let found = verdict(Model::new(hashed));
    let Verdict::Hashed { set_pages } = found else {
        panic!("{found:?}");
    };
    assert!(set_pages > 10, "{set_pages}");
}

#[test]
fn without_frame_numbers_nothing_is_said_of_them() {
    let mut model = Model::new(modulo);
    model.shown.fill(None);
    assert_eq!(verdict(model), colors(COLORS, Follows::Unknown));
}

#[test]
fn noise_changes_nothing() {
    for wrong_every in [50, 20] {
        let mut model = Model::new(modulo);
        model.wrong_every = wrong_every;
        assert_eq!(
            verdict(model),
            colors(COLORS, Follows::FrameNumber),
            "1 of {wrong_every}"
        );
    }
}

#[test]
fn a_cache_that_cannot_be_timed_is_not_judged() {
    let mut model = Model::new(modulo);
    model.miss_cycles = model.hit_cycles + 30;
    assert_eq!(verdict(model), Verdict::NoSignal);
}

#[test]
fn a_cache_whose_ways_are_a_page_long_has_one_color() {
    let mut model = Model::new(|_, line| line);
    model.frames.truncate(3 * WAYS as usize);
    assert_eq!(verdict(model), Verdict::OneColor);
}

#[test]
fn a_cache_that_nothing_fills_gives_no_sets() {
    let mut observation = Observation {
        hit_cycles: 1000,
        miss_cycles: 2000,
        is_clear: true,
        set_pages: 0,
        sets: 0,
        large_sets: 0,
        sampled: 60,
        assigned: Vec::new(),
        ambiguous: 0,
    };
    assert_eq!(judge(&observation), Verdict::NoSets);
    // A single large set may be a mistake.
    observation.large_sets = 1;
    observation.set_pages = 50;
    assert_eq!(judge(&observation), Verdict::NoSets);
}

#[test]
fn verdicts_that_contradict_each_other_are_none() {
    let with = |count| colors(count, Follows::FrameNumber);
    assert_eq!(agreed(&[with(16)]), None);
    assert_eq!(agreed(&[with(16), with(15)]), Some(with(15)));
    assert_eq!(agreed(&[with(16), with(32)]), None);
    assert_eq!(agreed(&[with(16), colors(16, Follows::Unknown)]), None);
    assert_eq!(agreed(&[with(16), Verdict::OneColor]), None);
    let hashed = |set_pages| Verdict::Hashed { set_pages };
    assert_eq!(
        agreed(&[with(16), hashed(90), hashed(70)]),
        Some(hashed(70))
    );
    assert_eq!(agreed(&[Verdict::NoSignal, Verdict::NoSignal]), None);
    let between = [with(16), Verdict::NoSets, with(16), Verdict::NoSignal];
    assert_eq!(agreed(&between), Some(with(16)));
}
