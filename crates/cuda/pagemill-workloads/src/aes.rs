//! AES-128 encryption of a picture: two streams through memory, all work in shared memory.

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

mod cipher;

const NAME: &str = "aes";
const THREADS_PER_BLOCK: u32 = 256;
const BYTES_PER_THREAD_BLOCK: u64 = THREADS_PER_BLOCK as u64 * 4;
/// A bitmap picture of 256 KiB of pixels behind its file header.
const PICTURE_BYTES: u64 = 256 * 1024 + 54;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "AES-128 encryption of a picture with tables in shared memory: dense streams, much arithmetic",
    source: include_str!("../../../../workloads/aes/aes.cu"),
    ptx: include_str!("../../../../workloads/aes/aes.ptx"),
    parameters: &[
        Parameter::bytes(
            "bytes",
            PICTURE_BYTES,
            1,
            1 << 33,
            "size of the picture; padded to 1 KiB on the GPU",
        ),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    let picture_bytes = values.get("bytes");
    Ok(Box::new(Aes {
        picture_bytes,
        thread_blocks: picture_bytes.div_ceil(BYTES_PER_THREAD_BLOCK) as u32,
        seed: values.get("seed"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct Aes {
    picture_bytes: u64,
    thread_blocks: u32,
    seed: u64,
    read_results: bool,
}

impl Aes {
    fn padded_bytes(&self) -> u64 {
        u64::from(self.thread_blocks) * BYTES_PER_THREAD_BLOCK
    }

    fn key(&self) -> [u8; 16] {
        let random = Random::new(self.seed, 0);
        std::array::from_fn(|i| random.bits(i as u64) as u8)
    }

    /// Block `index` of the picture, zeros behind its end.
    fn plain_block(&self, index: u64) -> [u8; 16] {
        let random = Random::new(self.seed, 1);
        let mut block = [0; 16];
        block[..8].copy_from_slice(&random.bits(2 * index).to_le_bytes());
        block[8..].copy_from_slice(&random.bits(2 * index + 1).to_le_bytes());
        let inside = self.picture_bytes.saturating_sub(index * 16).min(16);
        block[inside as usize..].fill(0);
        block
    }
}

impl Workload for Aes {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("aes.ptx", INFO.ptx)?;
        let cipher = cipher::Aes128::new(self.key());
        let plain = input(host, "plain", self.padded_bytes(), |bytes| {
            for (index, block) in (0..).zip(bytes.chunks_exact_mut(16)) {
                block.copy_from_slice(&self.plain_block(index));
            }
        })?;
        let round_keys = input(
            host,
            "round_keys",
            cipher::ROUND_KEY_BYTES as u64,
            |bytes| {
                bytes.copy_from_slice(cipher.round_keys().as_flattened());
            },
        )?;
        let output = host.alloc("cipher", self.padded_bytes())?;

        let args = [plain, round_keys, output].map(Arg::Buffer);
        host.launch(
            module,
            "aes128_encrypt",
            [self.thread_blocks, 1, 1],
            [THREADS_PER_BLOCK, 1, 1],
            0,
            &args,
        )?;
        download_results(host, self.read_results, &[output])?;

        let mut check = Check::bit_exact(NAME);
        for (index, found) in (0..).zip(host.gpu.host_bytes(output).chunks_exact(16)) {
            check.equal(
                "cipher block",
                index,
                &cipher.encrypt(self.plain_block(index))[..],
                found,
            )?;
        }
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        2 * self.padded_bytes() + cipher::ROUND_KEY_BYTES as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_depend_on_the_seed_alone_and_padding_is_zero() {
        let inputs = |seed| {
            let program = Aes {
                picture_bytes: 37,
                thread_blocks: 1,
                seed,
                read_results: false,
            };
            (
                program.key(),
                [0, 1, 2, 3].map(|index| program.plain_block(index)),
            )
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1).0, inputs(2).0);
        assert_ne!(inputs(1).1, inputs(2).1);
        assert_eq!(inputs(1).1[2][5..], [0; 11]);
        assert_eq!(inputs(1).1[3], [0; 16]);
    }
}
