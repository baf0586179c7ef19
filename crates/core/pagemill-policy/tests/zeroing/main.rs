//! Zeroing, with every interleaving of a few pages, users and engines.

mod ledger;
mod model;
mod world;
