use pagemill_policy::coloring::{MissCurve, Palette};

use super::color_sweep::{ColorSweep, SweepError, SweepSpec};
use super::machine::SharedCacheMachine;
use super::reference::ReferenceStream;
use super::run::SharedCacheError;
use crate::parts::cache::Cache;

/// The miss curve of a task in the shared cache of `machine`: of the references that miss its core's own cache, exact for
/// every number of colors. The task runs alone, without time.
///
/// # Errors
/// The machine cannot be, has more colors than can be swept at once, or the references end in an error.
pub fn profile(
    machine: &SharedCacheMachine,
    mut stream: Box<dyn ReferenceStream>,
) -> Result<MissCurve, SharedCacheError> {
    machine.check()?;
    let palette = machine.palette()?;
    let mut sweep = sweep(palette)?;
    let mut l1 = Cache::new(&machine.l1);
    let line_bytes = machine.l1.line_bytes;
    let mut block = Vec::new();
    loop {
        stream.next_block(&mut block)?;
        if block.is_empty() {
            break;
        }
        for reference in &block {
            // Every set of this cache is selected within a page: virtual lines are as good as physical ones.
            let line = reference.address.0 / u64::from(line_bytes);
            if !l1.touch_at_once(line) {
                sweep
                    .touch(reference.address.0, 1)
                    .map_err(|_| SharedCacheError::TooManyPages)?;
            }
        }
    }
    sweep.curve().ok_or_else(|| no_curve(palette))
}

fn sweep(palette: Palette) -> Result<ColorSweep, SharedCacheError> {
    let spec = SweepSpec {
        palette,
        colors: (1..=palette.colors()).collect(),
        sample_every: 1,
    };
    ColorSweep::new(&spec).map_err(|error| match error {
        SweepError::Count(_) => no_curve(palette),
        _ => SharedCacheError::TooManyPages,
    })
}

fn no_curve(palette: Palette) -> SharedCacheError {
    SharedCacheError::NoCurve {
        colors: palette.colors(),
    }
}
