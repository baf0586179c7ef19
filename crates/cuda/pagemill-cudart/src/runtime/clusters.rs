//! Clusters of blocks: which sizes a launch may have, and how many of them are resident at once.

use super::images::{FunctionKey, Kernels};
use super::launches::Launch;
use crate::error::{CudaError, Fault};

/// Blocks of a cluster that every GPU with clusters holds, and that a kernel may ask for if it says that it is not portable.
const PORTABLE_BLOCKS: u64 = 8;
const MOST_BLOCKS: u64 = 16;

fn blocks(cluster: [u32; 3]) -> u64 {
    let extents = cluster.iter().map(|&extent| u64::from(extent));
    extents.fold(1, u64::saturating_mul)
}

impl Kernels<'_> {
    /// Allows or forbids clusters of more than 8 blocks.
    ///
    /// # Errors
    /// If there is no such kernel.
    pub fn allow_large_clusters(&mut self, key: FunctionKey, allows: bool) -> Result<(), Fault> {
        let kernel = self.kernel(key)?;
        match allows {
            true => self.modules.large_clusters.insert(kernel),
            false => self.modules.large_clusters.remove(&kernel),
        };
        Ok(())
    }

    /// Checks the clusters of a launch.
    pub(super) fn check_cluster(&mut self, key: FunctionKey, launch: &Launch) -> Result<(), Fault> {
        let attributes = self.function_attributes(key)?;
        let needs = attributes.cluster;
        let refused = |message: String| Err(Fault::new(CudaError::INVALID_CLUSTER_SIZE, message));
        let Some(cluster) = launch.cluster.or(needs.required) else {
            return match needs.is_explicit {
                true => refused("the kernel wants the size of its clusters from the launch".into()),
                false => Ok(()),
            };
        };
        let wanted = blocks(cluster);
        if wanted == 1 {
            return Ok(());
        }
        if !self.device.has_clusters() {
            let capability = self.device.compute_capability();
            let message = format!(
                "clusters need compute capability 9.0, this GPU has {}.{}; choose another --machine, such as gh200",
                capability / 10,
                capability % 10
            );
            return Err(Fault::new(CudaError::NOT_SUPPORTED, message));
        }
        if wanted > PORTABLE_BLOCKS && !attributes.allows_large_clusters {
            return refused(format!(
                "a cluster of {wanted} blocks needs cudaFuncAttributeNonPortableClusterSizeAllowed; others have at most 8"
            ));
        }
        if self.active_clusters(key, launch)? == 0 {
            return refused(format!(
                "the SMs of this GPU do not hold {wanted} blocks of this kernel at once"
            ));
        }
        Ok(())
    }

    /// How many clusters of a launch are resident at once.
    ///
    /// # Errors
    /// If there is no such kernel, or a cluster or a block has no size.
    pub fn active_clusters(&mut self, key: FunctionKey, launch: &Launch) -> Result<u32, Fault> {
        let required = self.function_attributes(key)?.cluster.required;
        let cluster = launch.cluster.or(required).unwrap_or([1; 3]);
        let wanted = blocks(cluster);
        if wanted == 0 || wanted > MOST_BLOCKS {
            let message = format!("a cluster has 1 to {MOST_BLOCKS} blocks, not {wanted}");
            return Err(Fault::new(CudaError::INVALID_CLUSTER_SIZE, message));
        }
        if !self.device.has_clusters() {
            return Err(Fault::silent(CudaError::NOT_SUPPORTED));
        }
        Ok((self.resident_blocks(key, launch)? / wanted) as u32)
    }

    /// The most blocks that a cluster of a launch can have.
    ///
    /// # Errors
    /// If there is no such kernel, or a block has no threads.
    pub fn largest_cluster(&mut self, key: FunctionKey, launch: &Launch) -> Result<u32, Fault> {
        if !self.device.has_clusters() {
            return Err(Fault::silent(CudaError::NOT_SUPPORTED));
        }
        let most = match self.function_attributes(key)?.allows_large_clusters {
            true => MOST_BLOCKS,
            false => PORTABLE_BLOCKS,
        };
        let resident = self.resident_blocks(key, launch)?;
        // Sizes are powers of two.
        Ok(most
            .min(resident)
            .checked_ilog2()
            .map_or(0, |log2| 1 << log2))
    }

    /// Blocks of a launch that all SMs hold together.
    fn resident_blocks(&mut self, key: FunctionKey, launch: &Launch) -> Result<u64, Fault> {
        let threads = launch
            .block
            .iter()
            .fold(1u32, |all, &one| all.saturating_mul(one));
        let per_sm = self.blocks_per_sm(key, threads, launch.shared_bytes)?;
        Ok(u64::from(per_sm) * u64::from(self.device.setting.machine.sm.count))
    }
}
