//! A ray tracer: data-dependent control flow, a tiny scene read by all, an image written once.

mod reference;
mod scene;

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::words::words;
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};
use scene::{SPHERE_BYTES, Scene};

const NAME: &str = "ray";
const TILE: [u32; 3] = [16, 8, 1];
const PIXEL_BYTES: u64 = 16;
const MAXIMUM_PIXELS: u64 = 1 << 30;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "RAY: ray tracing of mirroring spheres on a plane, with shadows, one thread a pixel",
    source: include_str!("../../../../workloads/ray/ray.cu"),
    ptx: include_str!("../../../../workloads/ray/ray.ptx"),
    parameters: &[
        Parameter::count("width", 256, 1, 1 << 18, "pixels of a row"),
        Parameter::count("height", 256, 1, 1 << 18, "rows of the image"),
        Parameter::count("spheres", 12, 1, 1 << 16, "spheres of the scene"),
        Parameter::count(
            "bounces",
            5,
            0,
            64,
            "reflections that a ray is followed through",
        ),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    let [width, height] = ["width", "height"].map(|name| values.get_u32(name));
    values.require(
        u64::from(width) * u64::from(height) <= MAXIMUM_PIXELS,
        "height",
        || {
            let most = MAXIMUM_PIXELS / u64::from(width);
            format!("1 to {most} with rows of {width} pixels")
        },
    )?;
    Ok(Box::new(Ray {
        view: View { width, height },
        sphere_count: values.get_u32("spheres"),
        bounces: values.get_u32("bounces"),
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

/// The image, seen through a pinhole camera whose position the kernel knows.
#[derive(Clone, Copy, Debug)]
struct View {
    width: u32,
    height: u32,
}

impl View {
    /// Side of a pixel in the picture plane at distance 1: the shorter side of the image spans 0.9.
    fn pixel(&self) -> f32 {
        0.9 / self.width.min(self.height) as f32
    }

    fn image_bytes(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height) * PIXEL_BYTES
    }
}

#[derive(Debug)]
struct Ray {
    view: View,
    sphere_count: u32,
    bounces: u32,
    seed: u64,
    read_results: bool,
}

impl Ray {
    fn check(&self, scene: &Scene, image: &[u8]) -> Result<Checked, WorkloadError> {
        let mut check = Check::bit_exact(NAME);
        let mut found = (0..).zip(words::<f32>(image));
        for row in 0..self.view.height {
            for column in 0..self.view.width {
                let expected = reference::pixel(scene, self.view, self.bounces, column, row);
                for (expected, (index, found)) in expected.into_iter().zip(found.by_ref()) {
                    check.same_bits("image", index, expected, found)?;
                }
            }
        }
        Ok(check.finish())
    }
}

impl Workload for Ray {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("ray.ptx", INFO.ptx)?;
        let scene = Scene::generate(self.sphere_count, self.seed);
        let spheres = input(host, "spheres", scene.bytes(), |bytes| scene.write(bytes))?;
        let image = host.alloc("image", self.view.image_bytes())?;

        let View { width, height } = self.view;
        let args = [
            Arg::Buffer(spheres),
            Arg::Buffer(image),
            Arg::U32(self.sphere_count),
            Arg::U32(width),
            Arg::U32(height),
            Arg::U32(self.bounces),
            Arg::F32(self.view.pixel()),
        ];
        let blocks = [width.div_ceil(TILE[0]), height.div_ceil(TILE[1]), 1];
        host.launch(module, "ray_trace", blocks, TILE, 0, &args)?;
        download_results(host, self.read_results, &[image])?;
        self.check(&scene, host.gpu.host_bytes(image))
    }

    fn footprint_bytes(&self) -> u64 {
        u64::from(self.sphere_count) * SPHERE_BYTES + self.view.image_bytes()
    }
}

#[cfg(test)]
mod tests;
