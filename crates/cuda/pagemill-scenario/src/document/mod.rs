//! TOML with origins: every key and value remembers where it was written, and a key that was not read is an error.

mod origin;
mod section;
mod tree;
mod write;

pub use origin::{Origin, SourceText};
pub use section::{Reader, Section};
pub use tree::{Key, Kind, Node, Table, parse_argument, parse_document};
pub use write::{write_document, write_value};
