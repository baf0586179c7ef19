use pagemill_pages::shared_cache::{Reference, ReferenceStream, StreamError};

use super::{CpuProgram, Recorder};

/// The references of a program, made while they are asked for.
pub struct ProgramStream<P> {
    program: P,
    next_item: usize,
    memory: Recorder,
}

/// A block holds the references of whole items, until they are this many.
const BLOCK: usize = 4096;

impl<P: CpuProgram> ProgramStream<P> {
    /// Starts at the first item.
    pub fn new(program: P) -> Self {
        Self {
            program,
            next_item: 0,
            memory: Recorder::default(),
        }
    }
}

impl<P: CpuProgram> ReferenceStream for ProgramStream<P> {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), StreamError> {
        block.clear();
        std::mem::swap(block, &mut self.memory.references);
        while self.memory.references.len() < BLOCK {
            let items = self.program.items();
            if items == 0 {
                break;
            }
            while self.next_item < items && self.memory.references.len() < BLOCK {
                self.program.item(self.next_item, &mut self.memory);
                self.next_item += 1;
            }
            if self.next_item == items {
                self.next_item = 0;
                self.program.end_pass();
            }
        }
        std::mem::swap(block, &mut self.memory.references);
        Ok(())
    }
}
