//! The pool daemon, with clients that behave and clients that do not.

mod behaved;
mod cleaning;
mod gigantic;
mod hostile;
mod recipes;
mod running;
mod users;
