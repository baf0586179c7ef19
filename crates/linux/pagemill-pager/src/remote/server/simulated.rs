//! The page server itself in a simulated world: clients that break off in the middle of requests and return too late, strangers with
//! wrong tokens, foreign sessions and nonsense, a store that fails, a clock that jumps. What must hold is stated without the server.

mod board;
mod client;
mod plan;
mod store;
mod stranger;
mod surroundings;

use std::sync::atomic::Ordering;
use std::time::Duration;

use pagemill_testkit::simulated;

use self::client::Client;
use self::plan::{Defect, NAMES, QUIET, QUOTA_UNITS};
use self::stranger::Stranger;
use self::surroundings::Surroundings;
use super::super::sessions::Refusal;
use super::Store;
use crate::UNIT_BYTES;

/// All clients leave.
const LEAVE: Duration = Duration::from_secs(32);
/// The run ends: all sessions have expired.
const END: Duration = Duration::from_secs(42);
const STEP_MS_MAX: u64 = 400;

const CLIENTS: usize = 3;
const STRANGERS: usize = 2;

struct World {
    around: Surroundings,
    clients: Vec<Client>,
    strangers: Vec<Stranger>,
}

impl World {
    fn new(seed: u64, defect: Option<Defect>) -> Self {
        let around = Surroundings::new(seed, defect);
        let clients = (0..CLIENTS).map(|number| Client::new(number % NAMES.len()));
        Self {
            around,
            clients: clients.collect(),
            strangers: Vec::new(),
        }
    }

    /// Lets time pass, clients act, and threads of the server run.
    fn step(&mut self) -> Result<(), String> {
        let around = &mut self.around;
        let most_ms = match around.is_faulty() && around.board.one_in(50) {
            true => 6_000,
            false => STEP_MS_MAX,
        };
        let passed_ms = around.board.below(most_ms);
        around.board.pass(Duration::from_millis(passed_ms));
        let is_faulty = around.is_faulty();
        around.store.is_faulty.store(is_faulty, Ordering::Relaxed);
        around.reap();
        let has_left = around.board.time() >= LEAVE;
        for client in &mut self.clients {
            match has_left {
                true => client.leave(around),
                false => client.act(around)?,
            }
        }
        self.let_strangers_act(has_left)?;
        self.run_threads()
    }

    fn let_strangers_act(&mut self, has_left: bool) -> Result<(), String> {
        let around = &mut self.around;
        if !has_left && self.strangers.len() < STRANGERS && around.board.one_in(6) {
            let stranger = Stranger::new(around, &self.clients);
            self.strangers.push(stranger);
        }
        for stranger in &mut self.strangers {
            stranger.act(around, has_left)?;
        }
        self.strangers.retain(|stranger| !stranger.has_left);
        Ok(())
    }

    fn run_threads(&mut self) -> Result<(), String> {
        let around = &mut self.around;
        for _ in 0..2 {
            for link in around.board.ready() {
                if around.board.one_in(4) {
                    continue;
                }
                around.board.run(link);
                around.wrong_now()?;
                for stranger in &mut self.strangers {
                    stranger.was_served(link, around)?;
                }
            }
        }
        Ok(())
    }

    /// Ends all threads. Says what stays behind.
    fn end(mut self) -> Result<(), String> {
        let around = &mut self.around;
        for link in 0..around.threads.len() {
            around.board.hang_up(link);
        }
        // All that is late arrives.
        around.board.pass(QUIET);
        while let Some(link) = around.board.ready().first() {
            around.board.run(*link);
        }
        for thread in around.threads.drain(..) {
            thread
                .join()
                .map_err(|_| "a thread of the server panicked")?;
        }
        Ok(())
    }

    /// What is wrong when all clients have left for longer than sessions last.
    fn wrong_at_the_end(&self) -> Result<(), String> {
        let around = &self.around;
        let sessions = around.shared.sessions.len();
        let units = around.store.usage().units;
        if sessions + units as usize > 0 {
            return Err(format!("{sessions} sessions and {units} units stay behind"));
        }
        for (tenant, quota) in QUOTA_UNITS.into_iter().enumerate() {
            let tenant = &around.shared.tenants[tenant].0;
            let line = around
                .shared
                .sessions
                .open([9; 16], tenant, &around.shared.store);
            let put = |slot| line.put(&[slot], &[1; UNIT_BYTES]);
            let fit = (0..quota).take_while(|slot| put(*slot).is_ok()).count() as u64;
            if fit < quota || !matches!(put(quota), Err(Refusal::Full)) {
                return Err(format!("a quota of {quota} units has room for {fit}"));
            }
        }
        Ok(())
    }
}

fn check(world: &mut World) -> Result<(), String> {
    while world.around.board.time() < END {
        world.step()?;
    }
    world.wrong_at_the_end()
}

fn wrong_in(seed: u64, defect: Option<Defect>) -> Option<String> {
    let mut world = World::new(seed, defect);
    let checked = check(&mut world);
    checked.and(world.end()).err()
}

#[test]
fn whatever_breaks_each_session_reads_what_it_kept_and_pays_for_that_alone() {
    simulated::holds_for_every_seed(|seed| wrong_in(seed, None));
}

fn is_found(defect: Defect) -> bool {
    simulated::is_found(|seed| wrong_in(seed, Some(defect)))
}

#[test]
fn a_store_that_keeps_what_was_freed_is_found() {
    assert!(is_found(Defect::KeepsFreedSlots));
}

#[test]
fn a_clock_that_stands_is_found() {
    assert!(is_found(Defect::ClockStands));
}

#[test]
fn numbers_that_are_not_random_are_found() {
    assert!(is_found(Defect::RepeatsRandomNumbers));
}

#[test]
fn a_server_that_waits_for_ever_is_found() {
    assert!(is_found(Defect::IsPatient));
}

#[test]
fn sessions_that_end_too_early_are_found() {
    assert!(is_found(Defect::GivesNoGrace));
}

#[test]
fn a_charge_for_what_expired_is_found() {
    assert!(is_found(Defect::ForgetsToRelease));
}

#[test]
fn a_token_of_two_tenants_is_found() {
    assert!(is_found(Defect::SharesAToken));
}

#[test]
fn requests_of_a_connection_that_is_not_cut_are_found() {
    assert!(is_found(Defect::CutsNothing));
}
