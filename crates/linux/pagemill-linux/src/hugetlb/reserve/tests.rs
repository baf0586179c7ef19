//! Processes that are killed at every step, on a stock that is a number.

use std::collections::BTreeSet;
use std::io;

use super::super::Stock;
use super::ledger::{Ledger, Machine, Want, give_back, give_back_dead, take};
use crate::{OsError, Result};

#[derive(Clone)]
struct Fake {
    total: usize,
    /// Pages of the total that programs have.
    used: usize,
    /// More than these the kernel does not find.
    most: usize,
    ledger: Ledger,
    alive: BTreeSet<String>,
    /// Steps until the process is killed.
    fuel: usize,
    /// Whether the kill comes in the middle of a change of the total.
    halfway: bool,
}

impl Fake {
    fn new(total: usize, used: usize) -> Self {
        Self {
            total,
            used,
            most: 1000,
            ledger: Ledger::default(),
            alive: BTreeSet::new(),
            fuel: usize::MAX,
            halfway: false,
        }
    }

    fn step(&mut self) -> Result<()> {
        if self.fuel == 0 {
            return Err(OsError::new("live on", io::Error::other("killed")));
        }
        self.fuel -= 1;
        Ok(())
    }

    /// Takes as a live process, and says whether it got through.
    fn takes(&mut self, name: &str, want: Want) -> bool {
        self.alive.insert(name.to_owned());
        let taken = take(self, name, want, &mut Vec::new());
        taken.is_ok_and(|taken| taken.is_ok())
    }

    fn gives_back(&mut self, name: &str) -> bool {
        give_back(self, name, &mut Vec::new()).is_ok()
    }

    /// A whole life that is cut off after `fuel` steps; then the process is dead.
    fn lives_for(&mut self, name: &str, want: Want, fuel: usize) {
        self.fuel = fuel;
        let _ = self.takes(name, want) && self.gives_back(name);
        self.alive.remove(name);
        self.fuel = usize::MAX;
    }
}

impl Machine for Fake {
    fn stock(&self) -> Result<Stock> {
        Ok(Stock {
            total_pages: self.total,
            free_pages: self.total.saturating_sub(self.used),
            reserved_pages: 0,
        })
    }

    fn set_total(&mut self, pages: usize) -> Result<()> {
        let found = pages.min(self.most.max(self.total));
        if self.fuel == 0 && self.halfway {
            self.total = self.total.midpoint(found);
        }
        self.step()?;
        self.total = found;
        Ok(())
    }

    fn load(&self) -> Result<Ledger> {
        Ok(self.ledger.clone())
    }

    fn save(&mut self, ledger: &Ledger) -> Result<()> {
        self.step()?;
        self.ledger = ledger.clone();
        Ok(())
    }

    fn is_alive(&self, holder: &str) -> bool {
        self.alive.contains(holder)
    }
}

const WANTS: [Want; 5] = [
    Want::Available(0),
    Want::Available(3),
    Want::Available(8),
    Want::More(1),
    Want::More(6),
];

/// No life has more steps.
const STEPS_MAX: usize = 16;

#[test]
fn whenever_two_processes_are_killed_the_third_gets_its_pages_and_leaves_the_stock_as_it_was() {
    let mut cases = 0;
    for (total, used) in [(0, 0), (4, 0), (4, 3), (9, 9)] {
        for (first, second, third) in WANTS
            .iter()
            .flat_map(|first| WANTS.iter().map(move |second| (first, second)))
            .flat_map(|(first, second)| WANTS.iter().map(move |third| (first, second, third)))
        {
            for kills in 0..STEPS_MAX * STEPS_MAX * 2 {
                let mut fake = Fake::new(total, used);
                fake.halfway = kills % 2 == 1;
                fake.lives_for("first", *first, kills / 2 % STEPS_MAX);
                fake.lives_for("second", *second, kills / 2 / STEPS_MAX);
                assert!(fake.takes("third", *third));
                let free = fake.total - fake.used;
                match third {
                    Want::Available(pages) => assert!(free >= *pages),
                    Want::More(pages) => assert_eq!(fake.total, total + pages),
                }
                assert!(fake.gives_back("third"));
                assert_eq!(fake.total, total, "{first:?} {second:?} {third:?} {kills}");
                assert_eq!(fake.ledger.holders, [], "nothing is left on record");
                cases += 1;
            }
        }
    }
    assert!(cases > 100_000);
}

#[test]
fn a_living_neighbor_keeps_its_pages_when_others_are_killed() {
    for (want, fuel, halfway) in WANTS.iter().flat_map(|want| {
        (0..STEPS_MAX).flat_map(move |fuel| [(want, fuel, false), (want, fuel, true)])
    }) {
        let mut fake = Fake::new(5, 2);
        assert!(fake.takes("neighbor", Want::More(4)));
        fake.halfway = halfway;
        fake.lives_for("killed", *want, fuel);
        assert!(fake.total >= 9, "the neighbor's pages are there");
        give_back_dead(&mut fake, "next", &mut Vec::new()).expect("reclaimed");
        assert_eq!(fake.total, 9, "{want:?} {fuel} {halfway}");
        assert!(fake.gives_back("neighbor"));
        assert_eq!(fake.total, 5);
    }
}

#[test]
fn pages_of_a_killed_process_are_used_again_rather_than_freed_and_gathered() {
    let mut fake = Fake::new(384, 0);
    assert!(fake.takes("killed", Want::More(24)));
    fake.alive.clear();
    // Memory is in pieces by now: nothing more would be found.
    fake.most = 408;
    let mut notes = Vec::new();
    fake.alive.insert("next".to_owned());
    let taken = take(&mut fake, "next", Want::Available(408), &mut notes).expect("no kill");
    assert_eq!(taken, Ok(()));
    assert_eq!(
        notes,
        ["process killed ended without giving back 24 huge pages"]
    );
    assert!(fake.gives_back("next"));
    assert_eq!(fake.total, 384);
}

#[test]
fn an_operator_s_own_setting_stands() {
    // What 24 pages above 384 become: lowered by hand to this total, the total at the end.
    for (set, end) in [
        (408, 384),
        (500, 476),
        (400, 384),
        (384, 384),
        (100, 100),
        (0, 0),
    ] {
        let mut fake = Fake::new(384, 0);
        assert!(fake.takes("killed", Want::More(24)));
        fake.alive.clear();
        fake.total = set;
        give_back_dead(&mut fake, "next", &mut Vec::new()).expect("reclaimed");
        assert_eq!(fake.total, end, "set to {set}");
        assert_eq!(fake.ledger.holders, []);

        // The same while the process lives.
        let mut fake = Fake::new(384, 0);
        assert!(fake.takes("alive", Want::More(24)));
        fake.total = set;
        assert!(fake.gives_back("alive"));
        assert_eq!(fake.total, end, "set to {set} beside a living process");
    }
}

#[test]
fn where_record_and_machine_disagree_it_is_said_and_nothing_is_taken() {
    let mut fake = Fake::new(10, 0);
    // Killed between noting the change and making it, then set by hand.
    fake.lives_for("killed", Want::More(5), 1);
    assert!(fake.ledger.change.is_some());
    fake.total = 3;
    let mut notes = Vec::new();
    give_back_dead(&mut fake, "next", &mut notes).expect("reclaimed");
    assert_eq!(fake.total, 3);
    assert!(
        notes[0].contains("from 10 to 15, and there are 3"),
        "{notes:?}"
    );
    notes.clear();
    give_back_dead(&mut fake, "later", &mut notes).expect("reclaimed");
    assert_eq!(notes, [""; 0], "said once");
}

#[test]
fn too_little_memory_leaves_the_stock_as_it_was() {
    let mut fake = Fake::new(10, 4);
    fake.most = 12;
    assert!(!fake.takes("greedy", Want::More(5)));
    assert_eq!((fake.total, fake.ledger.holders.len()), (10, 0));
    assert!(fake.takes("modest", Want::Available(8)));
    assert_eq!(fake.total, 12);
    assert!(fake.gives_back("modest"));
    assert_eq!(fake.total, 10);
}
