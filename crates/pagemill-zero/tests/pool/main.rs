//! The pool daemon, with clients that behave and clients that do not.

mod behaved;
mod hostile;
mod running;
mod users;
