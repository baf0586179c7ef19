//! Colors by resctrl, on a stand-in that keeps the kernel's rules and gives its errors.

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pagemill_color::{ColorSpace, ResctrlSpace, Task, TaskTable};
use pagemill_linux::process::Identity;
use pagemill_linux::resctrl::{CacheInfo, Tree, remove_abandoned};
use pagemill_policy::coloring::quota::QUOTA_POLICIES;
use pagemill_policy::coloring::{Color, ColorRange, Sensitivity, Wish};
use proptest::prelude::*;

const EINVAL: i32 = 22;
const ESRCH: i32 = 3;
const ENOSPC: i32 = 28;
const ENOENT: i32 = 2;
const EEXIST: i32 = 17;

/// What the kernel knows (arch/x86/kernel/cpu/resctrl/rdtgroup.c and ctrlmondata.c).
#[derive(Debug)]
struct Kernel {
    resources: Vec<&'static str>,
    ways: u32,
    ways_min: u32,
    closids: usize,
    may_have_gaps: bool,
    domains: u32,
    status: String,
    /// Mask of each domain and resource, and tasks, by group.
    groups: BTreeMap<String, Contents>,
    alive: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Contents {
    masks: BTreeMap<(String, u32), u64>,
    tasks: Vec<u32>,
}

#[derive(Clone, Debug)]
struct StandIn(Arc<Mutex<Kernel>>);

impl StandIn {
    fn new(ways: u32, ways_min: u32, closids: usize) -> Self {
        Self(Arc::new(Mutex::new(Kernel {
            resources: vec!["L3"],
            ways,
            ways_min,
            closids,
            may_have_gaps: false,
            domains: 2,
            status: "ok".to_owned(),
            groups: BTreeMap::new(),
            alive: vec![std::process::id()],
        })))
    }

    fn kernel(&self) -> MutexGuard<'_, Kernel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn space(&self) -> pagemill_linux::Result<ResctrlSpace> {
        ResctrlSpace::new(Box::new(self.clone()))
    }

    /// The mask of the only group of this process.
    fn masks(&self) -> Vec<u64> {
        let kernel = self.kernel();
        let all = kernel
            .groups
            .values()
            .flat_map(|group| group.masks.values());
        all.copied().collect()
    }
}

impl Kernel {
    fn refuse<T>(&mut self, errno: i32, why: String) -> Result<T> {
        self.status = why;
        Err(Error::from_raw_os_error(errno))
    }

    fn full(&self) -> u64 {
        u64::MAX >> (64 - self.ways)
    }

    fn set(&mut self, group: &str, text: &str) -> Result<()> {
        let Some(line) = text.strip_suffix('\n') else {
            return self.refuse(EINVAL, String::new());
        };
        let Some((resource, domains)) = line.split_once(':') else {
            return self.refuse(EINVAL, format!("Missing ':' in {line}"));
        };
        if !self.resources.contains(&resource) {
            return self.refuse(
                EINVAL,
                format!("Unknown or unsupported resource name '{resource}'"),
            );
        }
        let mut masks = Vec::new();
        for domain in domains.split(';') {
            let parsed = domain.split_once('=').and_then(|(number, mask)| {
                Some((
                    number.parse::<u32>().ok()?,
                    u64::from_str_radix(mask, 16).ok()?,
                ))
            });
            let Some((number, mask)) = parsed.filter(|(number, _)| *number < self.domains) else {
                return self.refuse(EINVAL, format!("Unknown domain in {domain}"));
            };
            if mask > self.full() {
                return self.refuse(EINVAL, "Mask out of range".to_owned());
            }
            let run = if mask == 0 {
                0
            } else {
                mask >> mask.trailing_zeros()
            };
            if !self.may_have_gaps && run & run.wrapping_add(1) != 0 {
                return self.refuse(
                    EINVAL,
                    format!("The mask {mask:x} has non-consecutive 1-bits"),
                );
            }
            if mask.count_ones() < self.ways_min {
                let least = self.ways_min;
                return self.refuse(EINVAL, format!("Need at least {least} bits in the mask"));
            }
            masks.push(((resource.to_owned(), number), mask));
        }
        self.groups
            .get_mut(group)
            .ok_or_else(|| Error::from_raw_os_error(ENOENT))?
            .masks
            .extend(masks);
        Ok(())
    }

    fn add(&mut self, group: &str, text: &str) -> Result<()> {
        let Ok(task) = text.trim().parse::<u32>() else {
            return self.refuse(EINVAL, format!("Task list parsing error pid {text}"));
        };
        if !self.alive.contains(&task) {
            return self.refuse(ESRCH, format!("No task {task}"));
        }
        for contents in self.groups.values_mut() {
            contents.tasks.retain(|known| *known != task);
        }
        self.groups
            .get_mut(group)
            .ok_or_else(|| Error::from_raw_os_error(ENOENT))?
            .tasks
            .push(task);
        Ok(())
    }
}

impl Tree for StandIn {
    fn read(&self, path: &str) -> Result<String> {
        let kernel = self.kernel();
        let schemata = |resource: &str| {
            let domains = (0..kernel.domains).map(|domain| format!("{domain}={:x}", kernel.full()));
            format!("    {resource}:{}\n", domains.collect::<Vec<_>>().join(";"))
        };
        match path.rsplit_once('/') {
            None if path == "schemata" => {
                let caches = kernel.resources.iter().map(|resource| schemata(resource));
                Ok(format!(
                    "    MB:0=100;1=100\n{}",
                    caches.collect::<String>()
                ))
            }
            Some(("info", "last_cmd_status")) => Ok(format!("{}\n", kernel.status)),
            Some((folder, file))
                if folder
                    .strip_prefix("info/")
                    .is_some_and(|name| kernel.resources.contains(&name)) =>
            {
                match file {
                    "cbm_mask" => Ok(format!("{:x}\n", kernel.full())),
                    "min_cbm_bits" => Ok(format!("{}\n", kernel.ways_min)),
                    "num_closids" => Ok(format!("{}\n", kernel.closids)),
                    _ => Err(Error::from_raw_os_error(ENOENT)),
                }
            }
            Some((group, "tasks")) => {
                let contents = kernel
                    .groups
                    .get(group)
                    .ok_or_else(|| Error::from_raw_os_error(ENOENT))?;
                Ok(contents
                    .tasks
                    .iter()
                    .map(|task| format!("{task}\n"))
                    .collect())
            }
            _ => Err(Error::from_raw_os_error(ENOENT)),
        }
    }

    fn write(&self, path: &str, text: &str) -> Result<()> {
        let mut kernel = self.kernel();
        kernel.status = "ok".to_owned();
        match path.split_once('/') {
            Some((group, "schemata")) => kernel.set(group, text),
            Some((group, "tasks")) => kernel.add(group, text),
            _ => Err(Error::from_raw_os_error(ENOENT)),
        }
    }

    fn make_folder(&self, name: &str) -> Result<()> {
        let mut kernel = self.kernel();
        if kernel.groups.contains_key(name) {
            return Err(Error::from_raw_os_error(EEXIST));
        }
        // One is the default group's.
        if kernel.groups.len() + 1 >= kernel.closids {
            return kernel.refuse(ENOSPC, "Out of CLOSIDs".to_owned());
        }
        kernel.groups.insert(name.to_owned(), Contents::default());
        Ok(())
    }

    fn remove_folder(&self, name: &str) -> Result<()> {
        let removed = self.kernel().groups.remove(name);
        removed
            .map(drop)
            .ok_or_else(|| Error::from_raw_os_error(ENOENT))
    }

    fn folders(&self) -> Result<Vec<String>> {
        let kernel = self.kernel();
        let others = ["info", "mon_data", "mon_groups", "pagemill-by-hand"].map(str::to_owned);
        Ok(kernel.groups.keys().cloned().chain(others).collect())
    }
}

fn range(first: u16, count: u16) -> ColorRange {
    ColorRange::new(Color(first), count).expect("a range")
}

#[test]
fn a_task_gets_the_ways_of_its_colors_in_every_cache() {
    let kernel = StandIn::new(20, 1, 16);
    let mut space = kernel.space().expect("there is room");
    assert_eq!(space.colors(), 20);
    space.recolor(range(4, 8)).expect("a contiguous mask");
    assert_eq!(kernel.masks(), [0xFF0, 0xFF0]);
    assert!(!space.is_used().expect("a group"));
    space.adopt(std::process::id()).expect("this process lives");
    assert!(space.is_used().expect("a group"));
    assert!(
        space.recolor(range(20, 1)).is_err(),
        "there is no such color"
    );
    drop(space);
    assert!(
        kernel.kernel().groups.is_empty(),
        "it is removed at the end"
    );
}

#[test]
fn code_and_data_apart_get_the_same_ways() {
    let kernel = StandIn::new(11, 1, 8);
    kernel.kernel().resources = vec!["L3CODE", "L3DATA"];
    let mut space = kernel.space().expect("there is room");
    space.recolor(range(0, 3)).expect("a mask");
    assert_eq!(kernel.masks(), [7; 4]);
}

#[test]
fn a_color_has_as_many_ways_as_a_mask_needs() {
    // As on a Xeon E5 v3: two ways at least. The last color has the way that is left over.
    let kernel = StandIn::new(11, 2, 4);
    let mut space = kernel.space().expect("there is room");
    assert_eq!(space.colors(), 5);
    space.recolor(range(1, 1)).expect("two ways");
    assert_eq!(kernel.masks(), [0b1100; 2]);
    space.recolor(range(4, 1)).expect("three ways");
    assert_eq!(kernel.masks(), [0b111_0000_0000; 2]);
}

#[test]
fn what_the_kernel_refuses_is_said_with_its_reason() {
    let kernel = StandIn::new(8, 1, 4);
    let mut space = kernel.space().expect("there is room");
    // A cache that became smaller meanwhile: no range of colors can be wrong by itself.
    kernel.kernel().ways = 4;
    let said = space
        .recolor(range(0, 8))
        .expect_err("too many ways")
        .to_string();
    assert!(
        said.contains("the kernel says: Mask out of range"),
        "{said}"
    );
    kernel.kernel().ways = 8;
    kernel.kernel().ways_min = 3;
    let said = space
        .recolor(range(0, 2))
        .expect_err("too few ways")
        .to_string();
    assert!(said.contains("Need at least 3 bits in the mask"), "{said}");
}

#[test]
fn full_groups_are_said_with_their_number() {
    let kernel = StandIn::new(8, 1, 2);
    let other = "pagemill-by-hand";
    kernel.make_folder(other).expect("there is room");
    let error = kernel.space().expect_err("there is none");
    assert_eq!(error.errno(), Some(ENOSPC));
    let said = error.to_string();
    assert!(said.contains("has 2 classes of service"), "{said}");
    assert!(
        kernel.kernel().groups.contains_key(other),
        "others are left alone"
    );
}

#[test]
fn a_process_that_has_died_is_an_error_and_leaves_no_group() {
    let kernel = StandIn::new(8, 1, 4);
    let mut child = Command::new("true").spawn().expect("started");
    let process = child.id();
    child.wait().expect("ended");
    let mut space = kernel.space().expect("there is room");
    let error = space.adopt(process).expect_err("it is dead");
    assert_eq!(error.errno(), Some(ESRCH), "{error}");
    assert!(
        error.to_string().contains(&format!("No task {process}")),
        "{error}"
    );
    drop(space);
    assert!(kernel.kernel().groups.is_empty());
}

/// The owner of a group is killed: the next user of resctrl removes its group, and leaves that of a living owner.
#[test]
fn groups_of_killed_owners_are_removed() {
    let kernel = StandIn::new(8, 1, 3);
    let own = Identity::own().expect("/proc is there");
    let parts: Vec<String> = own.to_string().split('-').map(str::to_owned).collect();
    let mut child = Command::new("sleep").arg("1000").spawn().expect("started");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it runs");
    let after_name = &stat[stat.rfind(')').expect("a name") + 2..];
    let started = after_name.split(' ').nth(19).expect("field 22").to_owned();
    let of_child = format!("pagemill-{}-{started}-{}", child.id(), parts[2]);
    kernel.make_folder(&of_child).expect("there is room");
    let mine = kernel.space().expect("the last group");
    assert_eq!(
        remove_abandoned(&kernel).expect("a tree"),
        0,
        "all owners live"
    );
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    // A number that is used again is another process: only the start differs.
    let reused = format!("pagemill-{}-{}-{}", own.process(), 1, parts[2]);
    kernel.kernel().groups.insert(reused, Contents::default());
    assert_eq!(remove_abandoned(&kernel).expect("a tree"), 2);
    assert_eq!(kernel.kernel().groups.len(), 1, "the living one stays");
    drop(mine);
    // Without asking: a new space makes room itself.
    kernel.make_folder(&of_child).expect("there is room");
    kernel
        .make_folder("pagemill-by-hand")
        .expect("there is room");
    drop(kernel.space().expect("the group of the dead makes room"));
}

#[test]
fn without_a_cache_to_divide_it_is_said_why() {
    let kernel = StandIn::new(8, 1, 4);
    kernel.kernel().resources.clear();
    let said = CacheInfo::read(&kernel)
        .expect_err("memory bandwidth only")
        .to_string();
    assert!(said.contains("neither L3 nor L2"), "{said}");
    let missing = pagemill_linux::resctrl::Mounted::at("/there/is/no/such/folder");
    let said = CacheInfo::read(&missing)
        .expect_err("not mounted")
        .to_string();
    assert!(said.contains("mount -t resctrl"), "{said}");
}

#[derive(Clone, Debug)]
enum Step {
    Joins(Sensitivity),
    Leaves(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let class = prop::sample::select(Sensitivity::ALL.to_vec());
    prop::collection::vec(
        prop_oneof![
            2 => class.prop_map(Step::Joins),
            1 => (0_usize..20).prop_map(Step::Leaves),
        ],
        1..40,
    )
}

proptest! {
    /// The coordinator's plans are masks that the kernel takes: whichever tasks come and go, those that run share no way.
    #[test]
    fn plans_are_masks_that_the_kernel_takes(
        steps in steps(),
        ways in 4_u32..33,
        ways_min in 1_u32..4,
        policy in 0_usize..QUOTA_POLICIES.len(),
    ) {
        let policy = &QUOTA_POLICIES[policy];
        let colors = (ways / ways_min) as u16;
        let mut task_table = TaskTable::new(colors, policy);
        // Each task has a kernel of its own, as all of them are this process.
        let mut tasks: BTreeMap<u64, (StandIn, ResctrlSpace)> = BTreeMap::new();
        for (number, step) in steps.into_iter().enumerate() {
            let number = number as u64;
            match step {
                Step::Joins(class) => {
                    let wish = Wish::Curve(class.typical_curve(colors));
                    if task_table.join(number, Task { wish, colors: None, pages: 1 }).is_ok() {
                        let kernel = StandIn::new(ways, ways_min, 2);
                        let space = kernel.space().expect("there is room");
                        prop_assert_eq!(space.colors(), colors);
                        tasks.insert(number, (kernel, space));
                    }
                }
                Step::Leaves(place) => {
                    if let Some(number) = tasks.keys().nth(place).copied() {
                        task_table.leave(number);
                        tasks.remove(&number);
                    }
                }
            }
            for (number, range) in task_table.reassign() {
                let (_, space) = tasks.get_mut(&number).expect("a running task");
                space.recolor(range).expect("the kernel takes the mask");
            }
            let mut taken = 0;
            for (kernel, _) in tasks.values() {
                let mask = kernel.masks()[0];
                prop_assert_eq!(taken & mask, 0, "two tasks share ways");
                taken |= mask;
            }
        }
    }
}
