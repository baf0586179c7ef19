//! The interface and its messages as their users call them.

mod causes;
mod errors;
mod network;
mod patterns;
mod translation;
