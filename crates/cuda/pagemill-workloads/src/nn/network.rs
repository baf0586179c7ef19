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
mod tests;
