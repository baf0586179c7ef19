//! Parts with a clock, and the machines built of them.
