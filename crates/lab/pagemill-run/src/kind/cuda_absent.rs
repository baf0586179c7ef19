//! `kind = "cuda"` where there are no processes: in a browser.

use pagemill_report::{Row, Summary};
use pagemill_scenario::{CudaPoint, Point};

use super::View;
use crate::pool::PointError;
use crate::{Outcome, RunOptions};

/// No row has this look.
pub const VIEW: View = super::gpu::VIEW;

/// Refuses.
pub fn run(_: &Point, _: &CudaPoint, _: &RunOptions) -> Result<Outcome, PointError> {
    let message = "a browser starts no programs: run this scenario with `pagemill run`";
    Err(PointError::Refused(message.to_owned()))
}

/// Adds nothing.
pub fn summarize(_: &[Row], _: &mut Summary) {}
