//! One word of each 4 KiB page, read once: what a batch of page faults holds when nothing else happens.

use pagemill_sim::{Arg, Host};

use crate::check::Check;
use crate::host::{download_results, input};
use crate::parameter::READ_RESULTS;
use crate::words::words;
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "page-touch";
const PAGE_BYTES: u64 = 4096;
/// Pages of which the first holds its number; those of the others are zero, so that the host need not write them.
const MARKED_PAGES: u64 = 512;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "a word of each 4 KiB page of an array, once: pages in order, or scattered",
    source: include_str!("../../../../workloads/page-touch/page-touch.cu"),
    ptx: include_str!("../../../../workloads/page-touch/page-touch.ptx"),
    parameters: &[
        Parameter::count("pages_log2", 16, 0, 26, "log2 of the pages of 4 KiB"),
        Parameter::flag("scattered", "1: threads in order read pages that are not"),
        Parameter::count("threads", 64, 32, 1024, "threads of a block, a page each")
            .in_multiples_of(32),
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    Ok(Box::new(PageTouch {
        pages_log2: values.get_u32("pages_log2"),
        scattered: values.flag("scattered"),
        threads: values.get_u32("threads"),
        read_results: values.flag("read_results"),
    }))
}

#[derive(Debug)]
struct PageTouch {
    pages_log2: u32,
    scattered: bool,
    threads: u32,
    read_results: bool,
}

impl PageTouch {
    fn pages(&self) -> u64 {
        1 << self.pages_log2
    }
}

impl Workload for PageTouch {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("page-touch.ptx", INFO.ptx)?;
        let array = input(host, "words", PAGE_BYTES * self.pages(), |bytes| {
            for page in (0..self.pages()).step_by(MARKED_PAGES as usize) {
                let start = (page * PAGE_BYTES) as usize;
                bytes[start..start + 4].copy_from_slice(&(page as u32).to_le_bytes());
            }
        })?;
        let wrong = input(host, "wrong", 4, |_| ())?;
        let args = [
            Arg::Buffer(array),
            Arg::U32(self.pages_log2),
            Arg::Buffer(wrong),
        ];
        let kernel = match self.scattered {
            true => "touch_scattered",
            false => "touch_in_order",
        };
        let blocks = self.pages().div_ceil(u64::from(self.threads)) as u32;
        host.launch(
            module,
            kernel,
            [blocks, 1, 1],
            [self.threads, 1, 1],
            0,
            &args,
        )?;
        download_results(host, self.read_results, &[wrong])?;
        let mut check = Check::bit_exact(NAME);
        let found = words::<u32>(host.gpu.host_bytes(wrong)).next();
        check.equal("wrong", 0, Some(0), found)?;
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        PAGE_BYTES * self.pages() + 4
    }
}
