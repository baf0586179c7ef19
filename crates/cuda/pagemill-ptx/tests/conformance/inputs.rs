//! Inputs of element-wise kernels: all pairs of edge values, then seeded random ones.

/// One value of a, b and c for each thread.
pub struct Inputs {
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: Vec<u64>,
}

/// SplitMix64, seeded.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number in `0..limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.next() as u32).collect()
    }
}

const RANDOM_INPUTS: usize = 500;

impl Inputs {
    /// Every pair of `edges` as (a, b) with c going through them, then what `random` gives.
    pub fn new(edges: &[u64], mut random: impl FnMut(&mut Random) -> u64) -> Self {
        let mut inputs = Self {
            a: Vec::new(),
            b: Vec::new(),
            c: Vec::new(),
        };
        for (i, &a) in edges.iter().enumerate() {
            for (j, &b) in edges.iter().enumerate() {
                inputs.push(a, b, edges[(i * 7 + j * 3 + 1) % edges.len()]);
            }
        }
        let mut source = Random(1);
        for _ in 0..RANDOM_INPUTS {
            let (a, b, c) = (
                random(&mut source),
                random(&mut source),
                random(&mut source),
            );
            inputs.push(a, b, c);
        }
        inputs
    }

    fn push(&mut self, a: u64, b: u64, c: u64) {
        self.a.push(a);
        self.b.push(b);
        self.c.push(c);
    }

    pub fn len(&self) -> usize {
        self.a.len()
    }

    /// The same inputs without those that `keep` refuses.
    pub fn retain(self, keep: impl Fn(u64, u64, u64) -> bool) -> Self {
        let mut kept = Self {
            a: Vec::new(),
            b: Vec::new(),
            c: Vec::new(),
        };
        for i in 0..self.len() {
            let (a, b, c) = (self.a[i], self.b[i], self.c[i]);
            if keep(a, b, c) {
                kept.push(a, b, c);
            }
        }
        kept
    }

    /// Integers around the ends and signs of every width.
    pub fn integers() -> Self {
        let edges = [
            0,
            1,
            2,
            7,
            31,
            0x7F,
            0x80,
            0xFF,
            0x7FFF,
            0x8000,
            0xFFFF,
            0x80_0000,
            0x7FFF_FFFF,
            0x8000_0000,
            0xFFFF_FFFF,
            0x1_0000_0000,
            0x7FFF_FFFF_FFFF_FFFF,
            0x8000_0000_0000_0000,
            0xFFFF_FFFF_8000_0000,
            0xFFFF_FFFF_FFFF_8000,
            0xFFFF_FFFF_FFFF_FFFE,
            0xFFFF_FFFF_FFFF_FFFF,
        ];
        // Random lengths, so that small numbers are as common as large ones.
        Self::new(&edges, |random| {
            let shift = random.below(64);
            random.next() >> shift
        })
    }

    /// Single precision: zeros, subnormals, ends of the range, ties, infinities, NaNs; random exponents near 1 and far.
    pub fn floats32() -> Self {
        let positive: [u32; 14] = [
            0x0000_0000, // 0
            0x0000_0001, // least subnormal
            0x007F_FFFF, // greatest subnormal
            0x0080_0000, // least normal
            0x3F00_0000, // 0.5
            0x3F80_0000, // 1
            0x3F80_0001, // 1 + ulp
            0x3FC0_0000, // 1.5
            0x4020_0000, // 2.5
            0x4B80_0000, // 2^24
            0x4F00_0000, // 2^31
            0x7F7F_FFFF, // greatest
            0x7F80_0000, // infinity
            0x7FC0_0000, // NaN
        ];
        let edges: Vec<u64> = positive
            .iter()
            .flat_map(|&bits| [bits, bits | 1 << 31])
            .map(u64::from)
            .collect();
        Self::new(&edges, |random| {
            let bits = random.next() as u32;
            let near_one = bits & 0x807F_FFFF | (120 + (bits >> 23 & 15)) << 23;
            u64::from(if random.below(3) == 0 { bits } else { near_one })
        })
    }

    /// Double precision, like [`Self::floats32`].
    pub fn floats64() -> Self {
        let positive = [
            0.0,
            f64::from_bits(1),
            f64::from_bits(0x000F_FFFF_FFFF_FFFF),
            f64::MIN_POSITIVE,
            1e-40,
            0.5,
            1.0,
            1.0 + f64::EPSILON,
            2.5,
            65520.0,
            4294967295.5,
            9007199254740993.0,
            3.5e38,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        let edges: Vec<u64> = positive
            .iter()
            .flat_map(|&value: &f64| [value, -value])
            .map(f64::to_bits)
            .collect();
        Self::new(&edges, |random| {
            let bits = random.next();
            let near_one = bits & 0x800F_FFFF_FFFF_FFFF | (1000 + (bits >> 52 & 63)) << 52;
            if random.below(3) == 0 { bits } else { near_one }
        })
    }

    /// Half precision in both halves of the low word.
    pub fn floats16() -> Self {
        let positive: [u64; 12] = [
            0x0000, 0x0001, 0x03FF, 0x0400, 0x3800, 0x3C00, 0x3C01, 0x4100, 0x6800, 0x7BFF, 0x7C00,
            0x7E00,
        ];
        let edges: Vec<u64> = positive
            .iter()
            .flat_map(|&bits| [bits, bits | 0x8000])
            .collect();
        let pairs: Vec<u64> = edges
            .iter()
            .enumerate()
            .map(|(i, &bits)| bits | edges[(i * 5 + 2) % edges.len()] << 16)
            .collect();
        Self::new(&pairs, |random| random.next() & 0xFFFF_FFFF)
    }

    /// Single precision numbers that `sample` draws, each in a, b and c.
    pub fn sampled32(sample: impl Fn(&mut Random) -> f32) -> Self {
        Self::new(&[], |random| u64::from(sample(random).to_bits()))
    }
}
