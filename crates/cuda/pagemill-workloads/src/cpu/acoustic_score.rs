//! Scoring of speech against an acoustic model, as in sphinx: for every frame of features, all Gaussians of all states of the
//! model, one after the other.

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "acoustic-score",
    summary: "scores frames of speech against all Gaussians of a model (like sphinx)",
    parameters: &[
        Parameter::count(
            "states",
            2560,
            1,
            1 << 20,
            "states of the model, 8 Gaussians of 208 bytes each",
        ),
        Parameter::count("frames", 30, 1, 1_000_000, "frames of speech"),
        Parameter::count(
            "active_percent",
            40,
            1,
            100,
            "states that are scored in a frame",
        ),
        SEED,
    ],
    start: |values| {
        let states = values.get_u32("states") as usize;
        let active = values.get_u32("active_percent");
        Box::new(ProgramStream::new(AcousticScore::new(
            states,
            values.get("frames"),
            active,
            values.get("seed"),
        )))
    },
};

const GAUSSIANS: usize = 8;
const DIMENSIONS: usize = 26;

/// Pairs of mean and inverse variance that lie on 16 bytes: what one vector instruction reads.
type Pairs = [[f32; 2]; 2];

#[derive(Debug)]
struct AcousticScore {
    /// DIMENSIONS / 2 elements for each Gaussian.
    model: Array<Pairs>,
    scores: Array<f32>,
    features: Array<[f32; DIMENSIONS]>,
    states: usize,
    frame: u64,
    frames: u64,
    active_percent: u32,
    random: Random,
}

impl AcousticScore {
    fn new(states: usize, frames: u64, active_percent: u32, seed: u64) -> Self {
        let random = Random::new(seed, 0);
        let mut layout = Layout::new();
        let pair = |number: u64| {
            [
                random.f32_in(2 * number, -1.0, 1.0),
                random.f32_in(2 * number + 1, 0.5, 2.0),
            ]
        };
        let pairs = |number: usize| [pair(2 * number as u64), pair(2 * number as u64 + 1)];
        Self {
            model: layout.array(
                (0..states * GAUSSIANS * DIMENSIONS / 2)
                    .map(pairs)
                    .collect(),
            ),
            scores: layout.array(vec![0.0; states]),
            features: layout.array(vec![[0.0; DIMENSIONS]]),
            states,
            frame: 0,
            frames,
            active_percent,
            random: Random::new(seed, 1),
        }
    }

    /// The best of the state's Gaussians.
    fn score(&self, state: usize, features: &[f32; DIMENSIONS], memory: &mut Recorder) -> f32 {
        let mut best = f32::NEG_INFINITY;
        for gaussian in state * GAUSSIANS..(state + 1) * GAUSSIANS {
            let mut score = 0.0;
            for half in 0..DIMENSIONS / 2 {
                let pairs = self.model.get(gaussian * (DIMENSIONS / 2) + half, memory);
                for (place, [mean, inverse]) in pairs.into_iter().enumerate() {
                    let far = features[2 * half + place] - mean;
                    score -= far * far * inverse;
                }
            }
            best = best.max(score);
        }
        best
    }

    /// Neighboring states belong to one sound: they are active together.
    fn is_active(&self, state: usize) -> bool {
        let sound = (state / 16) as u64 + self.frame * (1 << 20);
        self.random.below(sound, 100) < self.active_percent.into()
    }
}

impl CpuProgram for AcousticScore {
    fn items(&self) -> usize {
        if self.frame == self.frames {
            0
        } else {
            self.states
        }
    }

    fn item(&mut self, state: usize, memory: &mut Recorder) {
        if state == 0 {
            let first = self.frame << 8;
            let features = std::array::from_fn(|place| {
                self.random
                    .f32_in(first + place as u64 + (1 << 60), -1.0, 1.0)
            });
            self.features.set(0, features, memory);
        }
        if self.is_active(state) {
            let features = self.features.get(0, memory);
            let score = self.score(state, &features, memory);
            self.scores.set(state, score, memory);
        }
    }

    fn end_pass(&mut self) {
        self.frame += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_to_end;
    use super::*;

    #[test]
    fn the_state_that_features_come_from_scores_best() {
        let mut program = AcousticScore::new(40, 1, 100, 8);
        run_to_end(&mut program);
        assert!(program.scores.values().iter().all(|score| *score < 0.0));
        // Features that are the means of state 17's third Gaussian.
        let first = (17 * GAUSSIANS + 2) * DIMENSIONS / 2;
        let means =
            std::array::from_fn(|place| program.model.values()[first + place / 2][place % 2][0]);
        let mut memory = Recorder::default();
        let scores: Vec<f32> = (0..40)
            .map(|state| program.score(state, &means, &mut memory))
            .collect();
        assert_eq!(scores[17], 0.0);
        assert!(
            scores
                .iter()
                .enumerate()
                .all(|(state, score)| state == 17 || *score < 0.0)
        );
    }
}
