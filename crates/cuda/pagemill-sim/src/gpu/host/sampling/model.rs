//! The time of launches that were not timed, from those that were: least squares over the work of a launch.

/// What a launch did, as far as runs without time know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Instructions that warps executed.
    pub(crate) warp_instructions: u64,
    /// Bytes that came to the GPU, or were allocated there, while it ran.
    pub(crate) moved_bytes: u64,
}

/// One timed launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) work: Work,
    /// In picoseconds.
    pub(crate) time: f64,
}

/// Terms of the model: one, instructions, moved bytes.
const TERMS: usize = 3;

/// A term is left out if less than this share of its squares is not explained by the terms before it.
const DEPENDENT: f64 = 1e-9;

/// Samples for each term, and as many that remain to judge the fit by.
const SAMPLES_PER_TERM: usize = 2;

/// Time as a linear function of work, and how far single launches are from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    /// What the terms are measured in, so that all are about one.
    scale: [f64; TERMS],
    /// Zero for terms that are left out.
    coefficients: [f64; TERMS],
    /// Inverse of the matrix of the terms' products; zero for terms that are left out.
    inverse: [[f64; TERMS]; TERMS],
    /// Variance of single launches, in squares of picoseconds.
    variance: f64,
    /// Samples beyond the terms.
    freedom: usize,
}

impl Model {
    /// Fits `samples`; `None` without any.
    pub(crate) fn fit(samples: &[Sample]) -> Option<Self> {
        let first = samples.first()?;
        let largest =
            |of: fn(&Sample) -> u64| samples.iter().map(of).max().unwrap_or(0).max(1) as f64;
        // Instructions squared beside a constant of one would leave a double no digits to invert with.
        let scale = [
            1.0,
            largest(|sample| sample.work.warp_instructions),
            largest(|sample| sample.work.moved_bytes),
        ];
        let varies = |of: fn(&Work) -> u64| {
            samples
                .iter()
                .any(|sample| of(&sample.work) != of(&first.work))
        };
        let by_work = varies(|work| work.warp_instructions);
        let by_bytes = varies(|work| work.moved_bytes);
        let enough = |terms: usize| samples.len() >= SAMPLES_PER_TERM * terms;
        // With too few samples for two terms, time is in proportion to work.
        let wanted = [
            !by_work || enough(2),
            by_work,
            by_bytes && enough(1 + usize::from(by_work) + 1),
        ];
        let mut normal = Normal::default();
        for sample in samples {
            normal.add(&terms(&sample.work, &scale), sample.time);
        }
        let (inverse, used) = normal.invert(wanted);
        let mut model = Self {
            scale,
            coefficients: product(&inverse, &normal.by_time),
            inverse,
            variance: 0.0,
            freedom: samples.len().saturating_sub(used),
        };
        let squares = samples.iter().map(|sample| {
            let residual = sample.time - model.time(&sample.work);
            residual * residual
        });
        model.variance = squares.sum::<f64>() / model.freedom.max(1) as f64;
        Some(model)
    }

    /// Estimated time of a launch in picoseconds; not negative.
    pub(crate) fn time(&self, work: &Work) -> f64 {
        dot(&terms(work, &self.scale), &self.coefficients).max(0.0)
    }

    /// Half width in picoseconds of the interval that holds, at a confidence of 95 %, the summed time of launches that did
    /// `works`: their own spread, and that of the model. Infinite if there are no samples to judge the fit by.
    pub(crate) fn half_width<'a>(&self, works: impl Iterator<Item = &'a Work>) -> f64 {
        let mut sum = [0.0; TERMS];
        let mut launches = 0.0;
        for work in works {
            launches += 1.0;
            let terms = terms(work, &self.scale);
            sum = std::array::from_fn(|term| sum[term] + terms[term]);
        }
        if launches == 0.0 {
            return 0.0;
        }
        if self.freedom == 0 {
            return f64::INFINITY;
        }
        let of_model = dot(&sum, &product(&self.inverse, &sum)).max(0.0);
        // Each launch spreads by itself; the error of the fit is the same for all, and so grows
        // with their sum (prediction interval).
        student_95(self.freedom) * (self.variance * (launches + of_model)).sqrt()
    }
}

fn terms(work: &Work, scale: &[f64; TERMS]) -> [f64; TERMS] {
    [
        1.0,
        work.warp_instructions as f64 / scale[1],
        work.moved_bytes as f64 / scale[2],
    ]
}

fn dot(left: &[f64; TERMS], right: &[f64; TERMS]) -> f64 {
    left.iter()
        .zip(right)
        .map(|(left, right)| left * right)
        .sum()
}

fn product(matrix: &[[f64; TERMS]; TERMS], vector: &[f64; TERMS]) -> [f64; TERMS] {
    std::array::from_fn(|row| dot(&matrix[row], vector))
}

/// The normal equations.
#[derive(Default)]
struct Normal {
    matrix: [[f64; TERMS]; TERMS],
    by_time: [f64; TERMS],
}

impl Normal {
    fn add(&mut self, terms: &[f64; TERMS], time: f64) {
        for row in 0..TERMS {
            for column in 0..TERMS {
                self.matrix[row][column] += terms[row] * terms[column];
            }
            self.by_time[row] += terms[row] * time;
        }
    }

    /// Inverts the part of the `wanted` terms that do not depend on each other, by Gauss and Jordan; returns how many
    /// those are.
    fn invert(&self, wanted: [bool; TERMS]) -> ([[f64; TERMS]; TERMS], usize) {
        let mut left = self.matrix;
        let mut right = [[0.0; TERMS]; TERMS];
        let mut used = [false; TERMS];
        for term in 0..TERMS {
            let pivot = left[term][term];
            // Bytes in step with instructions cannot be told apart from them: the earlier term stands for both.
            if !wanted[term] || pivot <= DEPENDENT * self.matrix[term][term] {
                continue;
            }
            used[term] = true;
            right[term][term] = 1.0;
            let (own_left, own_right) = (left[term], right[term]);
            for row in (0..TERMS).filter(|&row| row != term) {
                let factor = left[row][term] / pivot;
                for column in 0..TERMS {
                    left[row][column] -= factor * own_left[column];
                    right[row][column] -= factor * own_right[column];
                }
            }
            left[term] = own_left.map(|value| value / pivot);
            right[term] = own_right.map(|value| value / pivot);
        }
        let keep = |row: usize, column: usize| used[row] && used[column];
        let inverse = std::array::from_fn(|row| {
            std::array::from_fn(|column| {
                if keep(row, column) {
                    right[row][column]
                } else {
                    0.0
                }
            })
        });
        (inverse, used.iter().filter(|&&used| used).count())
    }
}

/// Quantile of Student's distribution that 2.5 % lie above, by degrees of freedom. Beyond the table an upper bound that
/// nears that of the normal distribution.
fn student_95(freedom: usize) -> f64 {
    const TABLE: [f64; 15] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131,
    ];
    match freedom {
        0 => f64::INFINITY,
        1..=15 => TABLE[freedom - 1],
        _ => 1.960 + 2.6 / freedom as f64,
    }
}

#[cfg(test)]
mod tests;
