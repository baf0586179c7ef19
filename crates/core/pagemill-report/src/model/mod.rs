//! What a run produced, before any writer gives it a form.

mod column;
pub mod metric;
mod result_set;
mod row;
mod summary;
mod value;

pub use column::{Column, ColumnKind, ColumnRole};
pub use result_set::{DescriptionEntry, DescriptionSection, Finding, ResultSet, ResultSetError};
pub use row::Row;
pub use summary::{Claim, Fact, Summary};
pub use value::Value;
