//! A driver whose GPU walks the host's page tables, against a model that keeps one word for each page of the host.

use pagemill_policy::residency::{
    AccessCounterSpec, Action, BLOCK_BYTES, BLOCK_PAGES, Call, CounterRegion, Driver, DriverPolicy,
    Effects, GROWTHS, HostPage, PageMask, PageTables, Side, Touch,
};
use pagemill_types::Picos;
use proptest::prelude::*;

const BLOCKS: u32 = 3;
/// Pages of the host in a block, and of 4 KiB in a page of the host.
const OF_BLOCK: u32 = 32;
const SMALL: u32 = 16;
const HOST_PAGE: u64 = 64 << 10;
const THRESHOLD: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nowhere,
    Cpu,
    Gpu,
}

#[derive(Clone, Debug)]
enum Event {
    GpuTouches {
        block: u32,
        pages: Vec<u32>,
    },
    CpuTouches {
        page: u32,
        pages: u32,
        writes: bool,
    },
    GpuUses {
        page: u32,
        accesses: u32,
    },
    Called {
        page: u32,
        pages: u32,
        action: Action,
    },
    Memory {
        host_pages: u64,
    },
}

fn event() -> impl Strategy<Value = Event> {
    let page = 0..BLOCKS * BLOCK_PAGES;
    let action = prop_oneof![
        Just(Action::Prefetch(Side::Cpu)),
        Just(Action::Prefetch(Side::Gpu)),
        Just(Action::PreferredLocation(Side::Cpu)),
        Just(Action::PreferredLocation(Side::Gpu)),
        Just(Action::NoPreferredLocation),
        Just(Action::ReadMostly),
        Just(Action::NotReadMostly),
        Just(Action::AccessedByGpu),
        Just(Action::NotAccessedByGpu),
        Just(Action::Discard),
    ];
    prop_oneof![
        4 => (0..BLOCKS, prop::collection::vec(0..BLOCK_PAGES, 1..5)).prop_map(|(block, pages)| Event::GpuTouches { block, pages }),
        2 => (page.clone(), 1..700_u32, any::<bool>()).prop_map(|(page, pages, writes)| Event::CpuTouches { page, pages, writes }),
        4 => (page.clone(), 1..THRESHOLD + 2).prop_map(|(page, accesses)| Event::GpuUses { page, accesses }),
        2 => (page, 1..700_u32, action).prop_map(|(page, pages, action)| Event::Called { page, pages, action }),
        1 => (32..100_u64).prop_map(|host_pages| Event::Memory { host_pages }),
    ]
}

/// What should be true, page by page of the host.
struct Model {
    places: Vec<Place>,
    preferred: Vec<Option<Side>>,
    room: usize,
    /// Accesses to each region since it was last served; `None` where reports are switched off.
    counts: Vec<Option<u32>>,
    accessed: Vec<bool>,
    regions_of_block: u32,
}

impl Model {
    fn new(room: usize, region: CounterRegion) -> Self {
        let pages = (BLOCKS * OF_BLOCK) as usize;
        let regions_of_block = match region {
            CounterRegion::Kib64 => OF_BLOCK,
            CounterRegion::Mib2 => 1,
        };
        Self {
            places: vec![Place::Nowhere; pages],
            preferred: vec![None; pages],
            room,
            counts: vec![Some(0); (BLOCKS * regions_of_block) as usize],
            accessed: vec![false; pages],
            regions_of_block,
        }
    }

    fn on_gpu(&self) -> usize {
        self.places
            .iter()
            .filter(|place| **place == Place::Gpu)
            .count()
    }

    fn block_of(page: usize) -> usize {
        page / OF_BLOCK as usize
    }

    fn region_of(&self, page: usize) -> usize {
        page / (OF_BLOCK / self.regions_of_block) as usize
    }

    /// Those of `moving` that fit, and before them all that the program prefers there, if some of `moving` is.
    fn fitting(&self, moving: &[usize]) -> Vec<usize> {
        let free = self.room.saturating_sub(self.on_gpu());
        let mut wanted = moving.to_vec();
        if moving
            .iter()
            .any(|&page| self.preferred[page] == Some(Side::Gpu))
        {
            let block = Self::block_of(moving[0]);
            let of_block = (0..self.places.len()).filter(|&page| Self::block_of(page) == block);
            // A block in which anything is preferred on the CPU takes what it needs and no more.
            let mixed = of_block
                .clone()
                .any(|page| self.preferred[page] == Some(Side::Cpu));
            let preferred = of_block.filter(|&page| self.preferred[page] == Some(Side::Gpu));
            if !mixed {
                wanted.extend(preferred.filter(|&page| self.places[page] != Place::Gpu));
                wanted.sort_unstable();
                wanted.dedup();
            }
        }
        match wanted.len() <= free {
            true => wanted,
            false => moving[..free.min(moving.len())].to_vec(),
        }
    }

    fn gpu_touches(&mut self, block: u32, pages: &[u32]) {
        let mut first: Vec<usize> = pages
            .iter()
            .map(|page| (block * OF_BLOCK + page / SMALL) as usize)
            .filter(|&page| self.places[page] == Place::Nowhere)
            .collect();
        first.sort_unstable();
        first.dedup();
        let moving: Vec<usize> = first
            .iter()
            .copied()
            .filter(|&page| self.preferred[page] != Some(Side::Cpu))
            .collect();
        if !moving.is_empty() {
            for page in self.fitting(&moving) {
                self.places[page] = Place::Gpu;
            }
        }
        for page in first {
            if self.places[page] == Place::Nowhere {
                self.places[page] = Place::Cpu;
            }
        }
    }

    /// True if the region is to be served now.
    fn gpu_uses(&mut self, page: u32, accesses: u32) -> bool {
        let page = (page / SMALL) as usize;
        self.accessed[page] = true;
        let region = self.region_of(page);
        let Some(count) = &mut self.counts[region] else {
            return false;
        };
        let before = *count;
        *count += accesses;
        before < THRESHOLD && *count >= THRESHOLD
    }

    fn serve(&mut self, page: u32) {
        let region = self.region_of((page / SMALL) as usize);
        let of_region = (0..self.places.len()).filter(|&page| self.region_of(page) == region);
        let accessed: Vec<usize> = of_region.filter(|&page| self.accessed[page]).collect();
        accessed
            .iter()
            .for_each(|&page| self.accessed[page] = false);
        let may = |page: &usize| {
            self.places[*page] == Place::Cpu && self.preferred[*page] != Some(Side::Cpu)
        };
        let moving: Vec<usize> = accessed.into_iter().filter(may).collect();
        let fitting = match moving.is_empty() {
            true => Vec::new(),
            false => self.fitting(&moving),
        };
        self.counts[region] = (!fitting.is_empty()).then_some(0);
        for page in fitting {
            self.places[page] = Place::Gpu;
        }
    }

    fn leave(&mut self, page: usize) {
        self.places[page] = Place::Cpu;
        let block = Self::block_of(page);
        for other in 0..self.places.len() {
            if Self::block_of(other) == block {
                let region = self.region_of(other);
                self.counts[region] = Some(0);
                self.accessed[other] = false;
            }
        }
    }

    fn called(&mut self, pages: std::ops::Range<usize>, action: Action) {
        match action {
            Action::PreferredLocation(side) => self.preferred[pages].fill(Some(side)),
            Action::NoPreferredLocation => self.preferred[pages].fill(None),
            Action::Prefetch(Side::Cpu) => {
                for page in pages {
                    match self.places[page] {
                        Place::Gpu => self.leave(page),
                        _ => self.places[page] = Place::Cpu,
                    }
                }
            }
            Action::Prefetch(Side::Gpu) => {
                for page in pages {
                    if self.places[page] != Place::Gpu && self.on_gpu() < self.room {
                        self.places[page] = Place::Gpu;
                    }
                }
            }
            // Both sides have everything mapped, and nothing is in both memories.
            _ => {}
        }
    }
}

fn driver(growth: &'static str, region: CounterRegion, room: u64) -> Driver {
    let policy = DriverPolicy {
        host_page: HostPage::Kib64,
        growth: GROWTHS.find(growth).expect("a growth policy"),
        page_tables: PageTables::Host,
        access_counters: Some(AccessCounterSpec {
            threshold: THRESHOLD,
            region,
        }),
        ..DriverPolicy::default()
    };
    let mut driver = Driver::empty(room * HOST_PAGE, &policy);
    driver.allocate(0..u64::from(BLOCKS) * BLOCK_BYTES);
    driver
}

fn place(driver: &Driver, page: u32) -> Place {
    match driver.touch(page) {
        Touch::Local => Place::Gpu,
        Touch::Remote => Place::Cpu,
        Touch::Fault => Place::Nowhere,
    }
}

fn bytes(page: u32, pages: u32) -> std::ops::Range<u64> {
    let end = (page + pages).min(BLOCKS * BLOCK_PAGES);
    u64::from(page) * 4096..u64::from(end) * 4096
}

/// Lets `driver` do what `event` says; `serve` is called where a region is reported.
fn carry_out(driver: &mut Driver, event: &Event, effects: &mut Effects) -> Option<u32> {
    match event {
        Event::GpuTouches { block, pages } => {
            let faults = |page: &u32| driver.touch(block * BLOCK_PAGES + page) == Touch::Fault;
            let faulted: PageMask = pages.iter().copied().filter(faults).collect();
            driver.service_for(*block, &faulted, &faulted, Picos::ZERO, effects);
            assert!(effects.evictions.is_empty(), "a touch moved others out");
            for page in pages {
                assert_ne!(driver.touch(block * BLOCK_PAGES + page), Touch::Fault);
            }
        }
        Event::CpuTouches {
            page,
            pages,
            writes,
        } => {
            driver.host_touch(bytes(*page, *pages), *writes, effects, |_, effects| {
                assert!(
                    effects.evictions.is_empty(),
                    "a touch of the CPU moved pages"
                );
            });
        }
        Event::GpuUses { page, accesses } => {
            let (block, small) = (page / BLOCK_PAGES, page % BLOCK_PAGES);
            if place(driver, *page) == Place::Cpu && driver.count_remote(block, small, *accesses) {
                driver.service_counter(block, Picos::ZERO, effects);
                assert!(effects.evictions.is_empty(), "a report moved others out");
                return Some(*page);
            }
        }
        Event::Called {
            page,
            pages,
            action,
        } => {
            let call = Call {
                bytes: bytes(*page, *pages),
                action: *action,
            };
            driver.call(&call, effects, |_, _| {});
        }
        Event::Memory { host_pages } => while driver.shrink(host_pages * HOST_PAGE, effects) {},
    }
    None
}

proptest! {
    #[test]
    fn pages_are_where_the_model_says(
        room in 1_u64..100,
        region in prop_oneof![Just(CounterRegion::Kib64), Just(CounterRegion::Mib2)],
        events in prop::collection::vec(event(), 1..60),
    ) {
        let mut driver = driver("host-page", region, room);
        let mut model = Model::new(room as usize, region);
        let mut effects = Effects::default();
        for event in events {
            let used = match event {
                Event::GpuUses { page, .. } => place(&driver, page) == Place::Cpu,
                _ => false,
            };
            let served = carry_out(&mut driver, &event, &mut effects);
            match &event {
                Event::GpuTouches { block, pages } => model.gpu_touches(*block, pages),
                Event::CpuTouches { page, pages, .. } => {
                    let last = (page + pages).min(BLOCKS * BLOCK_PAGES) - 1;
                    for page in page / SMALL..=last / SMALL {
                        let place = &mut model.places[page as usize];
                        if *place == Place::Nowhere {
                            *place = Place::Cpu;
                        }
                    }
                }
                Event::GpuUses { page, accesses } => {
                    let reported = used && model.gpu_uses(*page, *accesses);
                    prop_assert_eq!(reported, served.is_some());
                    if reported {
                        model.serve(*page);
                    }
                }
                Event::Called { page, pages, action } => {
                    let last = (page + pages).min(BLOCKS * BLOCK_PAGES) - 1;
                    model.called((page / SMALL) as usize..(last / SMALL) as usize + 1, *action);
                }
                Event::Memory { host_pages } => {
                    model.room = *host_pages as usize;
                    // Whole blocks leave, in an order of the policy's; which ones is asked of the driver.
                    let over = model.on_gpu() > model.room;
                    for page in 0..model.places.len() {
                        if model.places[page] == Place::Gpu && place(&driver, page as u32 * SMALL) != Place::Gpu {
                            prop_assert!(over);
                            model.leave(page);
                        }
                    }
                    prop_assert!(model.on_gpu() <= model.room);
                }
            }
            for page in 0..BLOCKS * BLOCK_PAGES {
                prop_assert_eq!(place(&driver, page), model.places[(page / SMALL) as usize], "page {} after {:?}", page, event);
            }
        }
    }

    #[test]
    fn what_came_is_there_or_left_whatever_grows(
        growth in 0..GROWTHS.len(),
        room in 1_u64..100,
        events in prop::collection::vec(event(), 1..60),
    ) {
        let mut driver = driver(GROWTHS[growth].name, CounterRegion::Mib2, room);
        let mut effects = Effects::default();
        let mut room = room;
        for event in events {
            carry_out(&mut driver, &event, &mut effects);
            if let Event::Memory { host_pages } = event {
                room = host_pages;
            }
            let resident: u64 = (0..BLOCKS).map(|block| u64::from(driver.resident(block).count())).sum();
            prop_assert!(resident <= room * u64::from(SMALL));
            let moved = driver.traffic();
            prop_assert_eq!(moved.pages_in + moved.pages_populated, moved.pages_out + resident);
            prop_assert_eq!(moved.pages_dropped, 0);
        }
    }
}

#[test]
fn hints_of_two_page_tables_have_no_effect() {
    let driver = driver("density-tree", CounterRegion::Mib2, 32);
    let heeded = [
        Action::Prefetch(Side::Gpu),
        Action::PreferredLocation(Side::Cpu),
        Action::NoPreferredLocation,
    ];
    assert!(heeded.into_iter().all(|action| driver.heeds(action)));
    let unheeded = [Action::ReadMostly, Action::AccessedByGpu, Action::Discard];
    assert!(!unheeded.into_iter().any(|action| driver.heeds(action)));
    let own_tables = Driver::empty(BLOCK_BYTES, &DriverPolicy::default());
    assert!(unheeded.into_iter().all(|action| own_tables.heeds(action)));
}
