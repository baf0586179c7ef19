//! What a run is made of: its times, its tenants, what is wrong on purpose.

use std::time::Duration;

use crate::remote::auth::Token;

/// How long a session lasts without a connection.
pub const GRACE: Duration = Duration::from_secs(3);
/// Faults come until then.
pub const QUIET: Duration = Duration::from_secs(20);

pub const QUOTA_UNITS: [u64; 2] = [9, 14];
pub const NAMES: [&str; 2] = ["one", "two"];

/// What is wrong with the world or the server on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The store keeps what was freed.
    KeepsFreedSlots,
    /// The server's clock stands still.
    ClockStands,
    /// Random numbers are not random.
    RepeatsRandomNumbers,
    /// Reads and writes wait for ever.
    IsPatient,
    /// Sessions end as soon as they have no connection.
    GivesNoGrace,
    /// A tenant pays for what expired.
    ForgetsToRelease,
    /// Both tenants have the same token.
    SharesAToken,
    /// Clients do not cut connections that broke.
    CutsNothing,
}

pub fn token(tenant: usize) -> Token {
    Token::new(&format!("the secret of tenant {tenant}")).expect("it is long enough")
}
