use super::engine::{Engine, EngineError, Probe, Timing, bytes_of};

/// An engine that is one function on the calling thread.
pub(super) struct CpuEngine {
    name: &'static str,
    clear: fn(&mut [u8]),
}

impl CpuEngine {
    /// An engine of a function that clears memory aligned to 4096 bytes, and that this processor can run.
    pub(super) fn boxed(name: &'static str, clear: fn(&mut [u8])) -> Box<dyn Engine> {
        Box::new(Self { name, clear })
    }
}

impl Engine for CpuEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn zero(&mut self, pages: &mut [&mut [u8]]) -> Result<Timing, EngineError> {
        let bytes = bytes_of(pages);
        Ok(Timing::of_thread(bytes, || {
            for page in pages {
                (self.clear)(page);
            }
        }))
    }
}

/// What [`Probe`] says of an instruction set.
pub(super) fn probe(is_there: bool, what: &str) -> Probe {
    if is_there {
        Probe::Ready(format!("this processor has {what}"))
    } else {
        Probe::Missing {
            found: format!("this processor has no {what}"),
            enable: "use --engine auto".to_owned(),
        }
    }
}
