//! Motion search of a video coder, as in h264ref: every block of a frame is looked for near its place in the frames before.

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "motion-search",
    summary: "motion search in several video frames: mostly near the same place (like h264ref)",
    parameters: &[
        Parameter::count("width", 704, 64, 8192, "of a frame, in pixels").in_multiples_of(16),
        Parameter::count("height", 576, 64, 8192, "of a frame, in pixels").in_multiples_of(16),
        Parameter::count("references", 4, 1, 16, "frames that are searched"),
        Parameter::count("frames", 3, 1, 1_000_000, "frames that are coded"),
        SEED,
    ],
    start: |values| {
        let size = (
            values.get_u32("width") as usize,
            values.get_u32("height") as usize,
        );
        let references = values.get_u32("references") as usize;
        Box::new(ProgramStream::new(MotionSearch::new(
            size,
            references,
            values.get("frames"),
            values.get("seed"),
        )))
    },
};

/// Pixels along the side of a block.
const BLOCK: usize = 16;

/// Pixels that one vector instruction reads.
const VECTOR: usize = 16;

/// Steps of the search, each half as far as the one before.
const STEPS: [i32; 3] = [4, 2, 1];

/// Where pixels of a shared scene are: the camera moves by this from frame to frame.
const CAMERA: (i32, i32) = (3, 1);

#[derive(Debug)]
struct MotionSearch {
    width: usize,
    height: usize,
    /// The frame that is coded goes into the place of the oldest of them.
    frames: Vec<Array<u8>>,
    vectors: Array<(i32, i32)>,
    number: u64,
    frames_left: u64,
    random: Random,
}

impl MotionSearch {
    fn new((width, height): (usize, usize), references: usize, frames: u64, seed: u64) -> Self {
        let mut layout = Layout::new();
        let mut search = Self {
            width,
            height,
            frames: (0..=references)
                .map(|_| layout.array(vec![0; width * height]))
                .collect(),
            vectors: layout.array(vec![(0, 0); width / BLOCK * (height / BLOCK) * references]),
            number: 0,
            frames_left: frames,
            random: Random::new(seed, 0),
        };
        let mut unrecorded = Recorder::default();
        for _ in 0..references {
            (0..height).for_each(|row| search.draw_row(row, &mut unrecorded));
            unrecorded.references.clear();
            search.number += 1;
        }
        search
    }

    fn current(&self) -> usize {
        (self.number % self.frames.len() as u64) as usize
    }

    /// A row of the scene as the camera sees it now, a vector at a time: smooth, with some noise.
    fn draw_row(&mut self, row: usize, memory: &mut Recorder) {
        let number = self.number as i64;
        let y = row as i64 + number * i64::from(CAMERA.1);
        let current = self.current();
        for x in 0..self.width {
            let at = x as i64 + number * i64::from(CAMERA.0);
            let coarse = self.random.below(((at >> 3) * 4096 + (y >> 3)) as u64, 200);
            let pixel = (coarse + (at as u64 & 7) * 3 + (y as u64 & 7)) as u8;
            let index = row * self.width + x;
            if x % VECTOR == 0 {
                self.frames[current].set(index, pixel, memory);
            } else {
                self.frames[current].set_beside(index, pixel);
            }
        }
    }

    /// How far the block at `(x, y)` is from that at `(from_x, from_y)` of another frame: a vector of each row.
    fn difference(
        &self,
        reference: usize,
        (x, y): (usize, usize),
        (from_x, from_y): (usize, usize),
        memory: &mut Recorder,
    ) -> u32 {
        let current = &self.frames[self.current()];
        let reference = &self.frames[reference];
        let mut sum = 0;
        for row in 0..BLOCK {
            let here = (y + row) * self.width + x;
            let there = (from_y + row) * self.width + from_x;
            let ours = current.slice(here, BLOCK, memory);
            let theirs = reference.slice(there, BLOCK, memory);
            sum += ours
                .iter()
                .zip(theirs)
                .map(|(ours, theirs)| u32::from(ours.abs_diff(*theirs)))
                .sum::<u32>();
        }
        sum
    }

    /// Searches `reference` around the block's own place, in smaller and smaller steps.
    fn search(&self, reference: usize, block: (usize, usize), memory: &mut Recorder) -> (i32, i32) {
        let place = |(x, y): (i32, i32)| {
            let clamp = |at: usize, by: i32, most: usize| {
                (at as i32 + by).clamp(0, (most - BLOCK) as i32) as usize
            };
            (
                clamp(block.0, x, self.width),
                clamp(block.1, y, self.height),
            )
        };
        let mut best = (0, 0);
        let mut least = self.difference(reference, block, place(best), memory);
        for step in STEPS {
            for (x, y) in [(-1, 0), (1, 0), (0, -1), (0, 1)] {
                let tried = (best.0 + x * step, best.1 + y * step);
                let difference = self.difference(reference, block, place(tried), memory);
                if difference < least {
                    (least, best) = (difference, tried);
                }
            }
        }
        best
    }
}

impl CpuProgram for MotionSearch {
    fn items(&self) -> usize {
        if self.frames_left == 0 {
            0
        } else {
            self.width / BLOCK * (self.height / BLOCK)
        }
    }

    fn item(&mut self, index: usize, memory: &mut Recorder) {
        if index == 0 {
            (0..self.height).for_each(|row| self.draw_row(row, memory));
        }
        let across = self.width / BLOCK;
        let block = (index % across * BLOCK, index / across * BLOCK);
        let current = self.current();
        let references = self.frames.len() - 1;
        for age in 1..=references {
            let reference = (current + self.frames.len() - age) % self.frames.len();
            let vector = self.search(reference, block, memory);
            self.vectors
                .set(index * references + age - 1, vector, memory);
        }
    }

    fn end_pass(&mut self) {
        self.number += 1;
        self.frames_left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_to_end;
    use super::*;

    #[test]
    fn the_camera_is_found() {
        let mut program = MotionSearch::new((128, 96), 2, 2, 1);
        run_to_end(&mut program);
        let newest = program.vectors.values().iter().step_by(2);
        let found = newest.clone().filter(|vector| **vector == CAMERA).count();
        assert!(2 * found > newest.count(), "{found}");
    }
}
