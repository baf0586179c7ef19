//! The product of two matrices in tiles, as a library for linear algebra computes it.

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{fill, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "matrix-product";
const ELEMENT_BYTES: u64 = 4;
const TILE_ROWS: u64 = 128;
const TILE_COLUMNS: u64 = 64;
const DEPTH: u64 = 8;
const THREADS: u32 = 128;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "C = A B of matrices of floats, in tiles of 128 x 64",
    source: include_str!("../../../../workloads/matrix-product/matrix-product.cu"),
    ptx: include_str!("../../../../workloads/matrix-product/matrix-product.ptx"),
    parameters: &[
        Parameter::count("size", 512, TILE_ROWS, 1 << 15, "rows of the matrices")
            .in_multiples_of(TILE_ROWS),
        Parameter::count(
            "depth",
            0,
            0,
            1 << 15,
            "columns of A, and rows of B that are used; 0: size",
        )
        .in_multiples_of(DEPTH),
        Parameter::count("columns", 0, 0, 1 << 15, "columns of B and of C; 0: size")
            .in_multiples_of(TILE_COLUMNS),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    let size = values.get("size");
    let or_size = |name| match values.get(name) {
        0 => size,
        given => given,
    };
    let depth = or_size("depth");
    values.require(depth <= size, "depth", || format!("at most size = {size}"))?;
    Ok(Box::new(MatrixProduct {
        size,
        depth,
        columns: or_size("columns"),
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct MatrixProduct {
    size: u64,
    depth: u64,
    columns: u64,
    seed: u64,
    read_results: bool,
}

/// What the elements of a matrix are made of: that of a row and column is the sum of what each has.
struct Sums {
    rows: Vec<u64>,
    columns: Vec<u64>,
}

impl Sums {
    /// Element `index` of a matrix that lies by columns.
    fn element(&self, index: u64) -> f32 {
        let size = self.rows.len() as u64;
        let (row, column) = (index % size, index / size);
        (self.rows[row as usize] + self.columns[column as usize]) as f32
    }
}

impl MatrixProduct {
    /// Matrix `number`, of small integers, so that every sum of products is exact: at most 2^15 x 14 x 14.
    fn matrix(&self, number: u64, columns: u64) -> Sums {
        let small = |stream, count| {
            let random = Random::new(self.seed, stream);
            (0..count).map(|index| random.below(index, 8)).collect()
        };
        Sums {
            rows: small(2 * number, self.size),
            columns: small(2 * number + 1, columns),
        }
    }

    fn bytes(&self, columns: u64) -> u64 {
        ELEMENT_BYTES * self.size * columns
    }
}

/// The product, whose elements follow from four sums: with a(i, k) = r(i) + s(k) and b(k, j) = t(k) + u(j), c(i, j) is
/// r(i) sum t + depth r(i) u(j) + sum s t + u(j) sum s.
struct Product {
    a: Sums,
    b: Sums,
    sum_s: u64,
    sum_t: u64,
    sum_st: u64,
}

impl Product {
    /// Of `a`, and of as many rows of `b` as `a` has columns.
    fn of(a: Sums, b: Sums) -> Self {
        let used = &b.rows[..a.columns.len()];
        Self {
            sum_s: a.columns.iter().sum(),
            sum_t: used.iter().sum(),
            sum_st: a.columns.iter().zip(used).map(|(s, t)| s * t).sum(),
            a,
            b,
        }
    }

    fn element(&self, index: u64) -> f32 {
        let (size, depth) = (self.a.rows.len() as u64, self.a.columns.len() as u64);
        let (r, u) = (
            self.a.rows[(index % size) as usize],
            self.b.columns[(index / size) as usize],
        );
        (r * self.sum_t + depth * r * u + self.sum_st + u * self.sum_s) as f32
    }
}

impl Workload for MatrixProduct {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("matrix-product.ptx", INFO.ptx)?;
        let (a, b) = (self.matrix(0, self.depth), self.matrix(1, self.columns));
        let mut array = |name, columns, element: &dyn Fn(u64) -> f32| {
            input(host, name, self.bytes(columns), |bytes| {
                fill(bytes, element)
            })
        };
        let at_a = array("a", self.depth, &|index| a.element(index))?;
        let at_b = array("b", self.columns, &|index| b.element(index))?;
        let at_c = array("c", self.columns, &|_| 0.0)?;
        let args = [
            Arg::Buffer(at_a),
            Arg::Buffer(at_b),
            Arg::Buffer(at_c),
            Arg::U32(self.size as u32),
            Arg::U32(self.depth as u32),
        ];
        let tiles = |of: u64, tile: u64| (of / tile) as u32;
        let grid = [
            tiles(self.size, TILE_ROWS),
            tiles(self.columns, TILE_COLUMNS),
            1,
        ];
        host.launch(module, "matrix_product", grid, [THREADS, 1, 1], 0, &args)?;
        download_results(host, self.read_results, &[at_c])?;
        let product = Product::of(a, b);
        let mut check = Check::bit_exact(NAME);
        for (index, found) in (0..).zip(words::<f32>(host.gpu.host_bytes(at_c))) {
            let expected = product.element(index);
            check.equal("c", index, expected.to_bits(), found.to_bits())?;
        }
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        self.bytes(self.depth + 2 * self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_the_sum_of_products() {
        let (size, depth, columns) = (5, 4, 3);
        let program = MatrixProduct {
            size,
            depth,
            columns,
            seed: 3,
            read_results: false,
        };
        let (a, b) = (program.matrix(0, depth), program.matrix(1, columns));
        let sum = |index: u64| -> f32 {
            let (row, column) = (index % size, index / size);
            (0..depth)
                .map(|k| a.element(k * size + row) * b.element(column * size + k))
                .sum()
        };
        let sums: Vec<f32> = (0..size * columns).map(sum).collect();
        let product = Product::of(a, b);
        let found: Vec<f32> = (0..size * columns)
            .map(|index| product.element(index))
            .collect();
        assert_eq!(found, sums);
    }
}
