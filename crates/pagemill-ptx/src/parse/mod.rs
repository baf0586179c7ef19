//! PTX text to [`crate::ast`].
