//! A child has its own copy of private memory. LentMemory memory becomes plain before a fork, and the kernel copies it as ever. Where it
//! cannot become plain, the child gets a copy that was made before.

use crate::call::Kind;
use crate::plain;
use crate::range_table::RangeTable;
use crate::source::Source;

/// Makes everything plain that can be, before a fork.
///
/// # Errors
/// There is no memory.
pub fn prepare<S: Source>(table: &mut RangeTable<S>) -> Result<(), i32> {
    if table.source.is_native(Kind::Fork) {
        return Ok(());
    }
    match table.make_plain(table.extents_by(true)) {
        // Copied later.
        Err(plain::WRITERS_RUN) => Ok(()),
        made => made,
    }
}

/// Right before a fork: makes memory plain, or a copy for the child.
///
/// # Errors
/// There is no memory.
pub fn make_copies<S: Source>(table: &mut RangeTable<S>) -> Result<(), i32> {
    if table.source.is_native(Kind::Fork) {
        return Ok(());
    }
    for extent in table.extents_by(true) {
        if table.make_plain(vec![extent.clone()]).is_ok() {
            continue;
        }
        match plain::copy_of(&extent) {
            Ok(copy) => table.copies.push((copy, extent)),
            Err(error) => {
                discard_copies(table);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Right after a fork. The child's copies take the places that it has holes at.
pub fn finish<S: Source>(table: &mut RangeTable<S>, is_child: bool) {
    if !is_child {
        discard_copies(table);
        return;
    }
    for (copy, extent) in std::mem::take(&mut table.copies) {
        // Nothing is there, so there is nothing to refuse.
        let _ = plain::put_in_place(copy, extent);
    }
    table.enter_child();
}

fn discard_copies<S: Source>(table: &mut RangeTable<S>) {
    for (copy, extent) in table.copies.drain(..) {
        plain::discard_copy(copy, extent.len());
    }
}
