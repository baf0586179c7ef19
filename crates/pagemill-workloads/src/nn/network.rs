//! The network in scalar code, every sum in the kernels' order, so values agree bit for bit.

use crate::elementary::power_of_two;

const KERNEL: usize = 5;
const STRIDE: usize = 2;

/// How a layer is connected to the one before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Every map sees squares of 5 x 5 values of every map before, two apart.
    Convolution {
        from_maps: usize,
        from_side: usize,
        maps: usize,
        side: usize,
    },
    /// Every neuron sees every value.
    Full { from: usize, neurons: usize },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    /// Name of the array of its values.
    pub(super) name: &'static str,
    pub(super) shape: Shape,
}

pub(super) const LAYERS: [Layer; 4] = [
    Layer {
        name: "layer1",
        shape: Shape::Convolution {
            from_maps: 1,
            from_side: 29,
            maps: 6,
            side: 13,
        },
    },
    Layer {
        name: "layer2",
        shape: Shape::Convolution {
            from_maps: 6,
            from_side: 13,
            maps: 50,
            side: 5,
        },
    },
    Layer {
        name: "layer3",
        shape: Shape::Full {
            from: 1250,
            neurons: 100,
        },
    },
    Layer {
        name: "layer4",
        shape: Shape::Full {
            from: 100,
            neurons: 10,
        },
    },
];

/// 1.7159 tanh(2 x / 3)
fn activation(x: f32) -> f32 {
    let e = power_of_two(1.9235934 * x);
    1.7159 * (1.0 - 2.0 / (e + 1.0))
}

impl Layer {
    pub(super) fn inputs(&self) -> usize {
        match self.shape {
            Shape::Convolution {
                from_maps,
                from_side,
                ..
            } => from_maps * from_side * from_side,
            Shape::Full { from, .. } => from,
        }
    }

    pub(super) fn outputs(&self) -> usize {
        match self.shape {
            Shape::Convolution { maps, side, .. } => maps * side * side,
            Shape::Full { neurons, .. } => neurons,
        }
    }

    /// Sets of weights: one a map, or one a neuron.
    pub(super) fn units(&self) -> usize {
        match self.shape {
            Shape::Convolution { maps, .. } => maps,
            Shape::Full { neurons, .. } => neurons,
        }
    }

    /// Values that a neuron sums up, without its bias.
    pub(super) fn fan_in(&self) -> usize {
        match self.shape {
            Shape::Convolution { from_maps, .. } => from_maps * KERNEL * KERNEL,
            Shape::Full { from, .. } => from,
        }
    }

    /// All weights; a unit's start with its bias.
    pub(super) fn weights(&self) -> usize {
        self.units() * (1 + self.fan_in())
    }

    pub(super) fn forward(&self, weights: &[f32], from: &[f32]) -> Vec<f32> {
        let units = weights.chunks_exact(1 + self.fan_in());
        match self.shape {
            Shape::Convolution {
                from_side, side, ..
            } => units
                .flat_map(|unit| {
                    (0..side * side).map(move |place| {
                        let corner = place / side * STRIDE * from_side + place % side * STRIDE;
                        activation(convolved(unit, &from[corner..], from_side))
                    })
                })
                .collect(),
            Shape::Full { .. } => units
                .map(|unit| {
                    let terms = unit[1..].iter().zip(from);
                    activation(terms.fold(unit[0], |sum, (weight, value)| sum + weight * value))
                })
                .collect(),
        }
    }
}

/// The weighted sum over the squares that start at the first value of `corner` and at the same place of the maps behind.
fn convolved(unit: &[f32], corner: &[f32], from_side: usize) -> f32 {
    let mut sum = unit[0];
    for (map, kernel) in unit[1..].chunks_exact(KERNEL * KERNEL).enumerate() {
        let square = &corner[map * from_side * from_side..];
        for (y, row) in kernel.chunks_exact(KERNEL).enumerate() {
            for (weight, value) in row.iter().zip(&square[y * from_side..]) {
                sum += weight * value;
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_fit_together() {
        for pair in LAYERS.windows(2) {
            assert_eq!(pair[0].outputs(), pair[1].inputs(), "{pair:?}");
        }
    }

    #[test]
    fn the_activation_is_a_scaled_hyperbolic_tangent() {
        for i in -100..=100 {
            let x = i as f32 * 0.1;
            let exact = 1.7159 * (2.0 / 3.0 * f64::from(x)).tanh();
            assert!((f64::from(activation(x)) - exact).abs() < 1e-6, "{x}");
        }
        assert_eq!(activation(1e30), 1.7159);
        assert_eq!(activation(-1e30), -1.7159);
    }

    #[test]
    fn a_kernel_with_one_weight_picks_every_second_pixel() {
        let layer = LAYERS[0];
        let mut weights = vec![0.0; layer.weights()];
        // Map 2 looks at row 3, column 1 of its square.
        weights[2 * 26 + 1 + 3 * KERNEL + 1] = 1.0;
        let image: Vec<f32> = (0..29 * 29).map(|pixel| pixel as f32 * 1e-3).collect();
        let values = layer.forward(&weights, &image);
        for (place, &value) in values.iter().enumerate() {
            let (map, y, x) = (place / 169, place % 169 / 13, place % 13);
            let expected = if map == 2 {
                activation(image[(2 * y + 3) * 29 + 2 * x + 1])
            } else {
                0.0
            };
            assert_eq!(value, expected, "map {map} at {x}, {y}");
        }
    }

    #[test]
    fn a_full_layer_is_a_matrix_with_bias() {
        let layer = LAYERS[3];
        let mut weights = vec![0.0; layer.weights()];
        weights[4 * 101] = 0.25;
        weights[4 * 101 + 1 + 99] = 2.0;
        let mut from = vec![0.0; 100];
        from[99] = 0.5;
        let values = layer.forward(&weights, &from);
        assert_eq!(values[4], activation(1.25));
        assert_eq!(values[5], activation(0.0));
    }
}
