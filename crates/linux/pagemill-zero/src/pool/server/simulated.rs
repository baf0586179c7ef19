//! The daemon itself in a simulated world: late messages, clients that die, fall silent, keep files or send nonsense, a kernel that
//! runs out of pages, a cleaner that fails, clocks that jump, kills. What must hold is stated without it.

mod client;
mod kernel;
mod plan;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use pagemill_linux::channel::Peer;
use pagemill_linux::hugetlb::HugeSize;
use pagemill_testkit::simulated::{self, Network, Random, SimulatedPort, Times};
use pagemill_types::Invariants;
use pagemill_zero_client::protocol::{Answer, Ask, MESSAGE_BYTES_MAX, Reason, WaitFor};

use self::client::Client;
use self::kernel::{Kernel, Opening, SharedKernel, SimulatedFile, failure};
use self::plan::{Defect, MS, PAGE_BYTES};
use super::super::cleaner::{Cleaner, Finished, Order, Outcome, Work};
use super::super::config::{Config, Quota, Recycle, ShelfSpec};
use super::{Inventory, Pool};

const CLIENTS: u64 = 6;
const TIMES: Times = Times {
    quiet_ns: 2000 * MS,
    end_ns: 4500 * MS,
};
/// All clients have left.
const LEAVE_NS: u64 = 3500 * MS;
/// A daemon that has more rounds to do than this does not sleep.
const ROUNDS_MAX: usize = 20_000;

/// A request for a lease that a daemon has taken and not answered.
#[derive(Clone, Copy)]
struct Request {
    pages: usize,
    wait_for: WaitFor,
    until_ns: u64,
}

struct World {
    network: Network<Opening>,
    kernel: SharedKernel,
    clients: Vec<Client>,
    config: Config,
    /// Orders and when they are finished.
    orders: VecDeque<(u64, Order<SimulatedFile>)>,
    finished: VecDeque<Finished<SimulatedFile>>,
    /// Files that an engine may write to for ever.
    stuck: Vec<SimulatedFile>,
    stuck_pages: usize,
    wakes: bool,
    /// By connection.
    requests: BTreeMap<usize, Request>,
    /// The connection whose message is being answered.
    serving: Option<usize>,
    /// Pages that other programs have taken from the stock.
    taken_pages: usize,
    stir_at_ns: u64,
    defect: Option<Defect>,
}

impl World {
    fn new(seed: u64, defect: Option<Defect>) -> Self {
        let mut network = Network::new(seed, TIMES);
        network.lies = defect == Some(Defect::BelievesThatAllIsSent);
        let random = &mut network.random;
        let config = config(random);
        let stock_pages = config.pages() + random.below(4) as usize;
        let kernel = Kernel::new(stock_pages, Random(random.next_u64()), defect);
        let clients = (0..CLIENTS).map(|number| Client::new(number, random));
        let clients = clients.collect();
        Self {
            network,
            kernel: Rc::new(RefCell::new(kernel)),
            clients,
            config,
            orders: VecDeque::new(),
            finished: VecDeque::new(),
            stuck: Vec::new(),
            stuck_pages: 0,
            wakes: false,
            requests: BTreeMap::new(),
            serving: None,
            taken_pages: 0,
            stir_at_ns: 0,
            defect,
        }
    }

    fn blame(&self, wrong: impl Into<String>) {
        self.kernel.borrow_mut().blame(wrong);
    }

    /// Other programs take pages from the stock and give them back; engines that are stuck write.
    fn stir(&mut self) {
        self.stir_at_ns = self.network.now_ns + 20 * MS;
        self.stuck.iter().for_each(SimulatedFile::soil);
        let mut kernel = self.kernel.borrow_mut();
        kernel.is_faulty = self.network.is_faulty();
        kernel.free_pages += std::mem::take(&mut self.taken_pages);
        if kernel.is_faulty && self.network.random.one_in(4) {
            let most = kernel.free_pages as u64 + 1;
            self.taken_pages = self.network.random.below(most) as usize;
            kernel.free_pages -= self.taken_pages;
        }
    }

    /// When an order that is given now is finished.
    fn finish_ns(&mut self) -> u64 {
        let is_slow = self.network.is_faulty() && self.network.random.one_in(10);
        let most_ns = if is_slow { 300 * MS } else { 10 * MS };
        let last_ns = self.orders.back().map_or(0, |(at_ns, _)| *at_ns);
        (self.network.now_ns + self.network.random.below(most_ns)).max(last_ns)
    }

    fn carry_out(&mut self, work: Work<SimulatedFile>) -> Outcome<SimulatedFile> {
        let fails = self.network.is_faulty() && self.network.random.one_in(15);
        let result = match work {
            Work::Fresh { .. } if fails => Err(failure("make a file", 24)),
            Work::Fresh { pages, .. } => SimulatedFile::create(&self.kernel, pages),
            Work::Scrub(file) if fails && self.network.random.one_in(4) => {
                self.stuck.push(file);
                return Outcome::Stuck(failure("clear a file in time", 110).into());
            }
            Work::Scrub(_) if self.config.recycle == Recycle::Never => {
                self.blame("a file is recycled");
                Err(failure("clear a file", 1))
            }
            Work::Scrub(file) => {
                let all = if self.defect == Some(Defect::SkipsTheScrub) {
                    0
                } else {
                    usize::MAX
                };
                let cleared = file.clear(if fails { 1 } else { all });
                match cleared {
                    Ok(()) if fails => Err(failure("clear a file", 5)),
                    cleared => cleared.map(|()| file),
                }
            }
        };
        match result {
            Ok(file) => Outcome::Clean(file),
            Err(error) => Outcome::Failed(error.into()),
        }
    }

    fn finish_orders(&mut self) {
        while self
            .orders
            .front()
            .is_some_and(|(at_ns, _)| *at_ns <= self.network.now_ns)
        {
            let Some((_, order)) = self.orders.pop_front() else {
                return;
            };
            let is_fresh = matches!(order.work, Work::Fresh { .. });
            let finished = Finished {
                shelf: order.shelf,
                job: order.job,
                page: order.page,
                is_fresh,
                outcome: self.carry_out(order.work),
                wall_ns: 0,
                cpu_ns: 0,
            };
            self.finished.push_back(finished);
            self.wakes = true;
        }
    }

    /// Pages that the daemon can lend without anything being returned.
    fn idle_pages(&self) -> usize {
        let lent_pages: usize = self.kernel.borrow().lent_pages().values().sum();
        self.config
            .pages()
            .saturating_sub(lent_pages + self.stuck_pages)
    }

    /// Pages that requests of other connections have a claim to before that of `link`.
    fn claimed_pages(&self, link: usize) -> usize {
        let is_new = self.serving == Some(link);
        let claims = self.requests.iter().filter(|(other, request)| {
            let is_before = is_new || **other < link;
            let is_live = self.network.is_open(**other);
            **other != link && is_before && is_live && request.wait_for == WaitFor::Cleaning
        });
        claims.map(|(_, request)| request.pages).sum()
    }

    /// All that was asked for and could be given was, when the daemon goes to sleep.
    fn check_requests(&self) {
        let live = self
            .requests
            .iter()
            .filter(|(link, _)| self.network.is_open(**link));
        let now_ns = self.network.now_ns;
        for (link, request) in live {
            if request.until_ns <= now_ns {
                self.blame(format!(
                    "the request of connection {link} waits for too long"
                ));
            }
            if self.kernel.borrow().clean_pages() == self.config.pages() {
                self.blame(format!("all is clean, and connection {link} waits"));
            }
        }
    }
}

impl simulated::World for World {
    type Descriptor = Opening;

    fn network(&mut self) -> &mut Network<Opening> {
        &mut self.network
    }

    fn next_ns(&self) -> u64 {
        let acts = self.clients.iter().map(|client| client.acts_at_ns);
        let order = self.orders.front().map(|(at_ns, _)| *at_ns);
        let next_ns = acts.chain(order).chain([self.stir_at_ns]).min();
        next_ns.unwrap_or(u64::MAX)
    }

    fn act(&mut self) {
        self.finish_orders();
        if self.stir_at_ns <= self.network.now_ns {
            self.stir();
        }
        for client in &mut self.clients {
            if client.acts_at_ns > self.network.now_ns {
                continue;
            }
            if self.network.now_ns >= LEAVE_NS {
                client.leave(&mut self.network);
            } else if let Err(wrong) = client.act(&mut self.network) {
                self.kernel.borrow_mut().blame(wrong);
            }
        }
    }

    fn waits(&mut self) {
        self.check_requests();
    }

    fn wakes(&mut self) -> bool {
        std::mem::take(&mut self.wakes)
    }

    fn taken(&mut self, link: usize, message: &[u8]) {
        self.serving = Some(link);
        let Ok(Ask::Lease {
            bytes,
            wait_ms,
            wait_for,
            ..
        }) = serde_json::from_slice(message)
        else {
            return;
        };
        let request = Request {
            pages: bytes.div_ceil(PAGE_BYTES as u64) as usize,
            wait_for,
            until_ns: self.network.now_ns + wait_ms * MS,
        };
        self.requests.insert(link, request);
    }

    fn sent(&mut self, link: usize, message: &[u8]) {
        let answer = serde_json::from_slice(message).expect("an answer of the protocol");
        let is_for_request = match &answer {
            Answer::Lease { more, .. } => !more,
            Answer::Refused { reason, .. } => *reason != Reason::UnknownLease,
            _ => false,
        };
        let request = self.requests.get(&link).copied();
        let Some(request) = request.filter(|_| is_for_request) else {
            return;
        };
        match answer {
            Answer::Lease { .. } if self.idle_pages() < self.claimed_pages(link) => {
                self.blame(format!(
                    "connection {link} gets what others have a claim to"
                ));
            }
            Answer::Refused {
                reason: Reason::Exhausted,
                ..
            } if request.wait_for == WaitFor::Any && self.network.now_ns < request.until_ns => {
                self.blame(format!("connection {link} is refused before its time"));
            }
            _ => {}
        }
        self.requests.remove(&link);
    }
}

fn config(random: &mut Random) -> Config {
    let mut config = Config::new("unused".into(), HugeSize::Mib2, 1);
    let shelf = |file_pages, files| ShelfSpec { file_pages, files };
    let files = [random.below(3), random.below(3), random.below(8)];
    let lengths = [4, 2, 1].into_iter().zip(files);
    config.shelves = (lengths.filter(|(_, files)| *files > 0))
        .map(|(pages, files)| shelf(pages, files as usize))
        .collect();
    if config.shelves.is_empty() {
        config.shelves = vec![shelf(1, 3)];
    }
    if random.one_in(4) {
        config.recycle = Recycle::Never;
    }
    if random.one_in(2) {
        config.quota = Quota::Pages(1 + random.below(config.pages() as u64) as usize);
    }
    config
}

/// The cleaner of one daemon.
struct SimulatedCleaner(Rc<RefCell<World>>);

impl Cleaner for SimulatedCleaner {
    type File = SimulatedFile;

    fn engine(&self) -> &'static str {
        "simulated"
    }

    fn order(&mut self, order: Order<SimulatedFile>) {
        let mut world = self.0.borrow_mut();
        let at_ns = world.finish_ns();
        world.orders.push_back((at_ns, order));
    }

    fn next_finished(&mut self) -> Option<Finished<SimulatedFile>> {
        let mut world = self.0.borrow_mut();
        let finished = world.finished.pop_front()?;
        if matches!(finished.outcome, Outcome::Stuck(_)) {
            world.stuck_pages += world.config.shelves[finished.shelf].file_pages;
        }
        Some(finished)
    }
}

impl Drop for SimulatedCleaner {
    fn drop(&mut self) {
        let mut world = self.0.borrow_mut();
        world.orders.clear();
        world.finished.clear();
        world.stuck.clear();
        world.stuck_pages = 0;
    }
}

type SimulatedPool = Pool<SimulatedPort<World>, SimulatedCleaner>;

/// Makes a daemon wrong. `charged_pages` are those before the last round.
fn plant(pool: &mut SimulatedPool, defect: Defect, charged_pages: BTreeMap<u32, usize>) {
    match defect {
        Defect::ForgetsToReleaseAQuota => {
            for (user, pages) in charged_pages {
                let charged = pool.inventory.charged_pages.entry(user).or_default();
                *charged = pages.max(*charged);
            }
        }
        Defect::ForgetsLeases => {
            let numbers: Vec<u64> = pool.server.sessions().map(|(number, _)| number).collect();
            for number in numbers.into_iter().filter(|number| number % 8 == 0) {
                let session = pool.server.get_mut(number).expect("a session");
                session.state.leases.clear();
            }
        }
        _ => {}
    }
}

/// What is wrong with a daemon or its world between two rounds.
fn wrong_now(pool: &SimulatedPool, world: &World) -> Option<String> {
    let kernel = world.kernel.borrow();
    let status = pool.status();
    let pages = status.pages;
    let all = world.config.pages();
    let sum = pages.clean + pages.zeroing + pages.dirty + pages.lent + pages.returned;
    if kernel.wrong.is_some() {
        return kernel.wrong.clone();
    }
    if sum != all as u64 {
        return Some(format!("{all} pages are {sum}: {pages:?}"));
    }
    if pages.clean > kernel.clean_pages() as u64 {
        return Some(format!(
            "{} pages are clean: {pages:?}",
            kernel.clean_pages()
        ));
    }
    let lent_pages = kernel.lent_pages();
    let charged = status.users.iter();
    let charged = charged.map(|user| (user.user, user.pages as usize));
    if !charged.clone().eq(lent_pages.clone()) {
        let charged: Vec<_> = charged.collect();
        return Some(format!("{charged:?} are charged for {lent_pages:?}"));
    }
    let most = |user: u32| world.config.quota.pages_of(user, 0, all);
    let over = lent_pages
        .iter()
        .find(|(user, pages)| **pages > most(**user));
    over.map(|(user, pages)| {
        format!(
            "user {user} has {pages} pages, {} are the most",
            most(*user)
        )
    })
}

/// What is wrong after all clients have left.
fn wrong_at_the_end(pool: &SimulatedPool, world: &World) -> Option<String> {
    let status = pool.status();
    let clean_pages = (world.config.pages() - world.stuck_pages) as u64;
    let is_idle = status.connections == 0 && status.leases == 0 && status.waiting == 0;
    let lost_files = world.kernel.borrow().lost_files();
    let is_right = status.pages.clean == clean_pages && is_idle && lost_files == 0;
    (!is_right).then(|| {
        format!(
            "{lost_files} files are lost, {} pages stuck: {status:?}",
            world.stuck_pages
        )
    })
}

/// Runs a whole world; what did not hold.
fn wrong_in(seed: u64, defect: Option<Defect>) -> Option<String> {
    let world = Rc::new(RefCell::new(World::new(seed, defect)));
    let config = world.borrow().config.clone();
    let start = || {
        let cleaner = SimulatedCleaner(Rc::clone(&world));
        Pool::over(SimulatedPort(Rc::clone(&world)), cleaner, &config)
    };
    let mut pool = start();
    let mut buffer = vec![0; MESSAGE_BYTES_MAX];
    for _ in 0..ROUNDS_MAX {
        let charged_pages = pool.inventory.charged_pages.clone();
        let goes_on = pool.round(&mut buffer, &mut |_| {}).expect("it can wait");
        world.borrow_mut().serving = None;
        if let Some(defect) = defect {
            plant(&mut pool, defect, charged_pages);
        }
        let wrong = wrong_now(&pool, &world.borrow());
        if wrong.is_some() {
            return wrong;
        }
        if goes_on {
            continue;
        }
        if world.borrow().network.has_ended() {
            return wrong_at_the_end(&pool, &world.borrow());
        }
        // Killed: its connections break, and another one starts.
        world.borrow_mut().network.was_killed();
        drop(pool);
        pool = start();
    }
    Some("it does not sleep".to_owned())
}

#[test]
fn whatever_fails_all_pages_are_clean_when_lent_charged_once_and_clean_again_in_the_end() {
    simulated::holds_for_every_seed(|seed| wrong_in(seed, None));
}

fn is_found(defect: Defect) -> bool {
    simulated::is_found(|seed| wrong_in(seed, Some(defect)))
}

#[test]
fn a_proof_that_always_succeeds_is_found() {
    assert!(is_found(Defect::BelievesThatNoneHolds));
}

#[test]
fn an_order_that_skips_the_scrub_is_found() {
    assert!(is_found(Defect::SkipsTheScrub));
}

#[test]
fn a_quota_that_is_not_released_is_found() {
    assert!(is_found(Defect::ForgetsToReleaseAQuota));
}

#[test]
fn leases_that_are_forgotten_are_found() {
    assert!(is_found(Defect::ForgetsLeases));
}

#[test]
fn a_lease_that_was_not_sent_is_found() {
    assert!(is_found(Defect::BelievesThatAllIsSent));
}

/// A pool with one clean file of two pages.
fn inventory_of_a_file() -> Inventory<SimulatedFile> {
    let kernel = Kernel::new(2, Random(0), None);
    let kernel = Rc::new(RefCell::new(kernel));
    let mut config = Config::new("unused".into(), HugeSize::Mib2, 2);
    config.shelves = vec![ShelfSpec {
        file_pages: 2,
        files: 1,
    }];
    let mut inventory = Inventory::new(&config);
    let order = inventory.order(None).expect("a file to fill");
    let finished = Finished {
        shelf: order.shelf,
        job: order.job,
        page: order.page,
        is_fresh: true,
        outcome: Outcome::Clean(SimulatedFile::create(&kernel, 2).expect("room")),
        wall_ns: 0,
        cpu_ns: 0,
    };
    inventory.finish(finished).expect("it is clean");
    inventory
}

const PEER: Peer = Peer {
    process: 0,
    user: 0,
    group: 0,
};

#[test]
fn a_file_that_is_longer_than_asked_for_is_left_to_those_with_a_claim() {
    let mut inventory = inventory_of_a_file();
    let page_bytes = PAGE_BYTES as u64;
    let mut lend = |claimed_pages| inventory.lend(PEER, 1, page_bytes, false, claimed_pages);
    // Its only file would be lent, and the page that another request waits for with it.
    assert!(lend(1).is_err());
    assert!(lend(0).is_ok());
}

#[test]
fn a_pool_that_charges_the_wrong_user_notices_it() {
    let mut inventory = inventory_of_a_file();
    let places = inventory.lend(PEER, 1, PAGE_BYTES as u64, false, 0);
    assert_eq!(places.map(|places| places.len()).unwrap_or(0), 1);
    assert_eq!(inventory.broken_invariant(), None);
    let pages = inventory.charged_pages.remove(&PEER.user);
    inventory
        .charged_pages
        .extend(pages.map(|pages| (7, pages)));
    let broken = inventory.broken_invariant().expect("noticed");
    assert_eq!(broken, "users are not charged for the pages that they have");
}
