//! Weights without training data: three layers of random features, and a last layer that compares with what those
//! layers make of clean digits. It recognizes digits, so that a program that computes nonsense shows.

use super::digits::{SHIFT, clean_image};
use super::network::{LAYERS, Layer};
use crate::random::Random;

const FIRST_STREAM: u64 = 16;
/// The last layer's sums are differences of squared distances; this keeps them where the activation is not flat.
const CONTRAST: f32 = 0.05;

/// The weights of every layer.
#[derive(Debug)]
pub(super) struct Weights(pub(super) [Vec<f32>; LAYERS.len()]);

impl Weights {
    pub(super) fn generate(seed: u64) -> Self {
        let [first, second, third, last] = &LAYERS;
        let random = [
            random_features(first, seed, 0),
            random_features(second, seed, 1),
            random_features(third, seed, 2),
        ];
        let centers = std::array::from_fn(|digit| mean_features(&random, digit));
        let compare = comparison(&centers);
        debug_assert_eq!(compare.len(), last.weights());
        let [first, second, third] = random;
        Self([first, second, third, compare])
    }
}

/// Uniform weights that keep the spread of the values from layer to layer.
fn random_features(layer: &Layer, seed: u64, index: u64) -> Vec<f32> {
    let random = Random::new(seed, FIRST_STREAM + index);
    let bound = (3.0 / layer.fan_in() as f32).sqrt();
    (0..layer.weights() as u64)
        .map(|weight| random.f32_in(weight, -bound, bound))
        .collect()
}

/// What the first three layers make of a clean digit, averaged over all its places.
fn mean_features(weights: &[Vec<f32>; 3], digit: usize) -> Vec<f32> {
    let places = 0..=2 * SHIFT;
    let mut sum = vec![0.0; LAYERS[2].outputs()];
    let mut count = 0.0;
    for right in places.clone() {
        for down in places.clone() {
            let image = clean_image(digit, right, down);
            let features = weights
                .iter()
                .zip(&LAYERS)
                .fold(image, |values, (weights, layer)| {
                    layer.forward(weights, &values)
                });
            sum.iter_mut()
                .zip(features)
                .for_each(|(sum, feature)| *sum += feature);
            count += 1.0;
        }
    }
    sum.into_iter().map(|feature| feature / count).collect()
}

/// A layer whose largest output belongs to the nearest center. For center h and the mean m of all centers it computes
/// (h - m) x - (h h - m m) / 2, which is the same for all centers up to the squared distance to h.
fn comparison(centers: &[Vec<f32>; 10]) -> Vec<f32> {
    let size = centers[0].len();
    let mean: Vec<f32> = (0..size)
        .map(|i| centers.iter().map(|center| center[i]).sum::<f32>() / 10.0)
        .collect();
    let square = |v: &[f32]| v.iter().map(|value| value * value).sum::<f32>();
    centers
        .iter()
        .flat_map(|center| {
            let bias = -0.5 * (square(center) - square(&mean));
            let weights = center.iter().zip(&mean).map(|(h, m)| h - m);
            std::iter::once(bias).chain(weights)
        })
        .map(|weight| CONTRAST * weight)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::digits::{image, label};

    #[test]
    fn digits_are_recognized() {
        for seed in 1..4 {
            let weights = Weights::generate(seed);
            let right = (0..100)
                .filter(|&index| {
                    let values = weights
                        .0
                        .iter()
                        .zip(&LAYERS)
                        .fold(image(seed, index), |values, (weights, layer)| {
                            layer.forward(weights, &values)
                        });
                    let best = (0..10).max_by(|&a, &b| values[a].total_cmp(&values[b]));
                    best == Some(label(seed, index))
                })
                .count();
            assert!(right >= 90, "seed {seed}: {right} of 100 digits recognized");
        }
    }
}
