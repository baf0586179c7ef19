use super::engine::{Engine, EngineError, Timing, bytes_of};

/// An engine that claims to have cleared and does nothing: what a leak test must catch. It is in no registry.
#[derive(Debug, Default)]
pub struct NoOp;

impl Engine for NoOp {
    fn name(&self) -> &'static str {
        "no-op"
    }

    fn zero(&mut self, pages: &mut [&mut [u8]]) -> Result<Timing, EngineError> {
        Ok(Timing::of_thread(bytes_of(pages), || {}))
    }
}
