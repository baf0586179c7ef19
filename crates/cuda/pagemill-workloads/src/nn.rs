//! A convolutional digit recognizer: four launches, small dense inputs, weights read by all digits.

mod digits;
mod network;
mod weights;

use pagemill_sim::{Arg, Buffer, Host, ModuleId};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::words::{fill, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};
use digits::{IMAGE_PIXELS, image};
use network::{LAYERS, Layer, Shape};
use weights::Weights;

const NAME: &str = "nn";
/// A grid has at most 65,535 blocks in y; larger inputs take several rounds of launches.
const DIGITS_PER_LAUNCH: u32 = 32_768;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "NN: forward pass of a convolutional digit recognizer, one thread a neuron, four launches",
    source: include_str!("../../../../workloads/nn/nn.cu"),
    ptx: include_str!("../../../../workloads/nn/nn.ptx"),
    parameters: &[
        Parameter::count("digits", 28, 1, 1 << 20, "images to recognize"),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    Ok(Box::new(Nn {
        digits: values.get_u32("digits"),
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct Nn {
    digits: u32,
    seed: u64,
    read_results: bool,
}

struct Buffers {
    weights: [Buffer; LAYERS.len()],
    /// The images and what every layer makes of them.
    values: [Buffer; LAYERS.len() + 1],
}

impl Nn {
    fn value_bytes(&self, values_per_digit: usize) -> u64 {
        u64::from(self.digits) * values_per_digit as u64 * 4
    }

    fn write_images(&self, bytes: &mut [u8]) {
        for (digit, bytes) in (0..).zip(bytes.chunks_exact_mut(IMAGE_PIXELS * 4)) {
            let image = image(self.seed, digit);
            fill(bytes, |pixel| image[pixel as usize]);
        }
    }

    fn allocate(&self, host: &mut Host, weights: &Weights) -> Result<Buffers, WorkloadError> {
        let mut weight_buffer = |layer: usize, name| {
            let values = &weights.0[layer];
            input(host, name, values.len() as u64 * 4, |bytes| {
                fill(bytes, |index| values[index as usize]);
            })
        };
        let weights = [
            weight_buffer(0, "weights1")?,
            weight_buffer(1, "weights2")?,
            weight_buffer(2, "weights3")?,
            weight_buffer(3, "weights4")?,
        ];
        let images = input(host, "images", self.value_bytes(IMAGE_PIXELS), |bytes| {
            self.write_images(bytes);
        })?;
        let mut layer_buffer =
            |layer: usize, name| host.alloc(name, self.value_bytes(LAYERS[layer].outputs()));
        let values = [
            images,
            layer_buffer(0, "layer1")?,
            layer_buffer(1, "layer2")?,
            layer_buffer(2, "layer3")?,
            layer_buffer(3, "layer4")?,
        ];
        Ok(Buffers { weights, values })
    }

    fn check(
        &self,
        host: &Host,
        buffers: &Buffers,
        weights: &Weights,
    ) -> Result<Checked, WorkloadError> {
        let mut check = Check::bit_exact(NAME);
        for digit in 0..u64::from(self.digits) {
            let mut expected = image(self.seed, digit);
            for (index, layer) in LAYERS.iter().enumerate() {
                expected = layer.forward(&weights.0[index], &expected);
                let bytes = host.gpu.host_bytes(buffers.values[index + 1]);
                let first = digit * layer.outputs() as u64;
                let found = words::<f32>(&bytes[first as usize * 4..]);
                for (place, (&expected, found)) in (first..).zip(expected.iter().zip(found)) {
                    check.same_bits(layer.name, place, expected, found)?;
                }
            }
        }
        Ok(check.finish())
    }
}

/// The part of a buffer that starts with the values of `first_digit`.
fn from_digit(buffer: Buffer, first_digit: u32, values_per_digit: usize) -> Arg {
    Arg::U64(buffer.address.0 + u64::from(first_digit) * values_per_digit as u64 * 4)
}

/// Runs one layer on `digits` digits from `first_digit` on.
fn launch_layer(
    host: &mut Host,
    module: ModuleId,
    buffers: &Buffers,
    index: usize,
    first_digit: u32,
    digits: u32,
) -> Result<(), WorkloadError> {
    let layer: &Layer = &LAYERS[index];
    let mut args = vec![
        Arg::Buffer(buffers.weights[index]),
        from_digit(buffers.values[index], first_digit, layer.inputs()),
        from_digit(buffers.values[index + 1], first_digit, layer.outputs()),
    ];
    let (kernel, blocks, side) = match layer.shape {
        Shape::Convolution {
            from_maps,
            from_side,
            maps,
            side,
        } => {
            args.extend([from_maps, from_side].map(|size| Arg::U32(size as u32)));
            ("nn_convolve", maps, side)
        }
        Shape::Full { from, neurons } => {
            args.push(Arg::U32(from as u32));
            ("nn_connect", neurons, 1)
        }
    };
    let grid = [blocks as u32, digits, 1];
    let block = [side as u32, side as u32, 1];
    host.launch(module, kernel, grid, block, 0, &args)?;
    Ok(())
}

impl Workload for Nn {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("nn.ptx", INFO.ptx)?;
        let weights = Weights::generate(self.seed);
        let buffers = self.allocate(host, &weights)?;
        for first_digit in (0..self.digits).step_by(DIGITS_PER_LAUNCH as usize) {
            let digits = DIGITS_PER_LAUNCH.min(self.digits - first_digit);
            for layer in 0..LAYERS.len() {
                launch_layer(host, module, &buffers, layer, first_digit, digits)?;
            }
        }
        download_results(host, self.read_results, &buffers.values[LAYERS.len()..])?;
        self.check(host, &buffers, &weights)
    }

    fn footprint_bytes(&self) -> u64 {
        let weights: usize = LAYERS.iter().map(Layer::weights).sum();
        let outputs: usize = LAYERS.iter().map(Layer::outputs).sum();
        weights as u64 * 4 + self.value_bytes(IMAGE_PIXELS + outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_size_of_the_literature() {
        let weights: usize = LAYERS.iter().map(Layer::weights).sum();
        assert_eq!(weights, 156 + 7_550 + 125_100 + 1_010);
        let workload = INFO
            .build(&Values::defaults(NAME, INFO.parameters))
            .expect("defaults are allowed");
        let values = 29 * 29 + 6 * 13 * 13 + 50 * 5 * 5 + 100 + 10;
        assert_eq!(workload.footprint_bytes(), 4 * (133_816 + 28 * values));
    }

    #[test]
    fn no_digits_are_refused() {
        let error = Values::defaults(NAME, INFO.parameters)
            .set("digits", 0)
            .expect_err("no digits");
        assert_eq!(
            error.to_string(),
            "nn: digits = 0 is not allowed, 1 to 1048576 is"
        );
    }
}
