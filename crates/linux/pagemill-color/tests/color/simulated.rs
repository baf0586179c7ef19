//! The coordinator itself in a simulated world: late messages, clients that die, fall silent or send nonsense, connections that
//! cannot be accepted, clocks that jump, kills. What must hold is stated without it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use pagemill_color::protocol::{Answer, Ask, Colors, MESSAGE_BYTES_MAX, Need};
use pagemill_color::{Coordinator, CoordinatorConfig};
use pagemill_policy::coloring::quota::QUOTA_POLICIES;
use pagemill_testkit::simulated::{self, Network, SimulatedPort, Times};

const COLORS: u16 = 16;
/// Tasks; each asks for 3 colors at most, so that there are enough.
const TASKS: usize = 5;
const MS: u64 = 1_000_000;
const TIMES: Times = Times {
    quiet_ns: 3000 * MS,
    end_ns: 7000 * MS,
};
const GRACE: Duration = Duration::from_millis(1000);
/// A coordinator that has more rounds to do than this does not sleep.
const ROUNDS_MAX: usize = 20_000;

/// A task as its companion would run it.
struct Task {
    wish: Need,
    is_alive: bool,
    link: Option<usize>,
    has: Option<Colors>,
    acts_at_ns: u64,
}

struct World {
    /// No descriptor travels.
    network: Network<()>,
    tasks: Vec<Task>,
}

impl World {
    fn new(seed: u64, lies: bool) -> Self {
        let mut network = Network::new(seed, TIMES);
        network.lies = lies;
        let tasks = (0..TASKS).map(|_| Task {
            wish: match network.random.below(4) {
                0 => Need::Class(["A", "B", "C", "D"][network.random.below(4) as usize].to_owned()),
                count => Need::Colors(count as u16),
            },
            is_alive: true,
            link: None,
            has: None,
            acts_at_ns: network.random.below(500 * MS),
        });
        let tasks = tasks.collect();
        Self { network, tasks }
    }

    fn connect(&mut self, task: usize) {
        let user = self.network.random.below(3) as u32;
        let link = self.network.connect(user);
        self.tasks[task].link = Some(link);
        let join = Ask::Join {
            name: format!("task {task}"),
            process: task as u32,
            wish: self.tasks[task].wish.clone(),
            has: self.tasks[task].has,
            pages: self.network.random.below(1000),
        };
        self.network.ask(link, &join);
    }

    /// One look of a task at its connection, and sometimes a fault.
    fn act_as(&mut self, task: usize) {
        let pause_ns = MS + self.network.random.below(30 * MS);
        self.tasks[task].acts_at_ns = self.network.now_ns + pause_ns;
        let Some(link) = self.tasks[task].link else {
            return self.connect(task);
        };
        while let Some((bytes, _)) = self.network.take(link) {
            match serde_json::from_slice(&bytes).expect("an answer of the protocol") {
                Answer::Colors(colors) => {
                    self.tasks[task].has = Some(colors);
                    let holds = Ask::Holds {
                        has: colors,
                        pages: self.network.random.below(1000),
                        planned: 0,
                    };
                    self.network.ask(link, &holds);
                }
                Answer::Status(_) => {}
                Answer::Refused { .. } => self.hang_up(task),
            }
        }
        if self.network.is_over(link) {
            self.hang_up(task);
        }
        if self.network.is_faulty() {
            self.misbehave(task, link);
        }
    }

    fn hang_up(&mut self, task: usize) {
        if let Some(link) = self.tasks[task].link.take() {
            self.network.hang_up(link);
        }
    }

    fn misbehave(&mut self, task: usize, link: usize) {
        let network = &mut self.network;
        match network.random.below(60) {
            0 => {
                self.tasks[task].is_alive = false;
                self.tasks[task].acts_at_ns = u64::MAX;
                self.hang_up(task);
            }
            1 => self.hang_up(task),
            2 => network.send_bytes(link, b"{\"op\":\"nonsense\"}".to_vec()),
            3 => network.ask(link, &Ask::Status {}),
            4 => (0..20).for_each(|_| network.ask(link, &Ask::Status {})),
            5 => {
                let silence_ns = network.random.below(2000 * MS);
                self.tasks[task].acts_at_ns = network.now_ns + silence_ns;
            }
            6 => network.jump(300 * MS),
            _ => {}
        }
    }
}

impl simulated::World for World {
    type Descriptor = ();

    fn network(&mut self) -> &mut Network<()> {
        &mut self.network
    }

    fn next_ns(&self) -> u64 {
        let acts = self.tasks.iter().map(|task| task.acts_at_ns);
        acts.min().unwrap_or(u64::MAX)
    }

    fn act(&mut self) {
        for task in 0..TASKS {
            if self.tasks[task].acts_at_ns <= self.network.now_ns {
                self.act_as(task);
            }
        }
    }
}

/// Colors that the coordinator says its tasks have, in order; `None` for a task without.
fn given(coordinator: &Coordinator<SimulatedPort<World>>) -> Vec<Option<Colors>> {
    let tasks = (0..1000).filter_map(|number| coordinator.task_table().task(number));
    tasks.map(|task| task.colors.map(Colors::from)).collect()
}

/// What is wrong with colors that tasks have at the same time.
fn fault_of(colors: &[Option<Colors>]) -> Option<String> {
    let mut owner = [None; COLORS as usize];
    for (index, one) in colors.iter().enumerate() {
        let Some(Colors { first, count }) = *one else {
            continue;
        };
        for color in u32::from(first)..u32::from(first) + u32::from(count) {
            let Some(place) = owner.get_mut(color as usize) else {
                return Some(format!("there is no color {color}: {colors:?}"));
            };
            if let Some(other) = place.replace(index) {
                return Some(format!(
                    "{other} and {index} share color {color}: {colors:?}"
                ));
            }
        }
    }
    None
}

/// Runs a whole world; what did not hold.
fn fault_in(seed: u64, lies: bool) -> Option<String> {
    let world = Rc::new(RefCell::new(World::new(seed, lies)));
    let config = CoordinatorConfig {
        socket: "unused".into(),
        socket_mode: 0o600,
        colors: COLORS,
        policy: QUOTA_POLICIES.find("best-quota").expect("registered"),
        grace: GRACE,
        settle: Duration::from_millis(100),
    };
    let start = || Coordinator::over(SimulatedPort(Rc::clone(&world)), &config);
    let mut coordinator = start();
    let mut buffer = vec![0; MESSAGE_BYTES_MAX];
    for _ in 0..ROUNDS_MAX {
        let goes_on = coordinator.round(&mut buffer).expect("it can wait");
        if let Some(fault) = fault_of(&given(&coordinator)) {
            return Some(fault);
        }
        if goes_on {
            continue;
        }
        if world.borrow().network.has_ended() {
            return fault_at_the_end(&world.borrow(), &given(&coordinator));
        }
        // Killed: its connections break, and another one starts.
        world.borrow_mut().network.was_killed();
        drop(coordinator);
        coordinator = start();
    }
    Some("it does not sleep".to_owned())
}

/// Long after the last fault: each living task has what the coordinator thinks it has.
fn fault_at_the_end(world: &World, given: &[Option<Colors>]) -> Option<String> {
    let key = |colors: &Option<Colors>| colors.map(|colors| (colors.first, colors.count));
    let living = world.tasks.iter().filter(|task| task.is_alive);
    let mut has: Vec<_> = living.map(|task| key(&task.has)).collect();
    let mut given: Vec<_> = given.iter().map(key).collect();
    has.sort_unstable();
    given.sort_unstable();
    if has.contains(&None) || has != given {
        let tasks = world.tasks.iter();
        let tasks = tasks.map(|task| (task.is_alive, &task.wish, task.has, task.link));
        return Some(format!(
            "tasks have {has:?}, the coordinator gave {given:?}: {:?}",
            tasks.collect::<Vec<_>>()
        ));
    }
    None
}

#[test]
fn whatever_fails_no_two_tasks_share_a_color_and_all_have_theirs_in_the_end() {
    simulated::holds_for_every_seed(|seed| fault_in(seed, false));
}

#[test]
fn a_planted_defect_is_found() {
    // A coordinator that believes that a message was sent to a task that does not read.
    assert!(simulated::is_found(|seed| fault_in(seed, true)));
}
