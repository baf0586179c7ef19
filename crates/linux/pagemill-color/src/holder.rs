//! One task's companion: owns its space, hands it to the task's processes, and changes its colors as the coordinator says.
//!
//! The program itself is not changed and has no parent in between: the holder is a process beside it, which ends after it.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pagemill_linux::OsError;
use pagemill_linux::channel::{Channel, Listener, wait_readable};
use pagemill_linux::clock::monotonic_ns;
use pagemill_linux::process::ProcessWatch;
use pagemill_linux::scratch::Scratch;
use pagemill_policy::coloring::{Color, ColorRange, Wish};

use crate::link::{AskError, Link};
use crate::protocol::{Answer, Ask, Colors, Need};
use crate::space::ColorSpace;

/// Between two attempts to reach the coordinator, and two looks at the pages.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How a holder is set up.
#[derive(Clone, Debug)]
pub struct HolderConfig {
    /// The program's first process.
    pub process: u32,
    /// What to call the task.
    pub name: String,
    /// What it asks for; `None` without a preference: all colors, or what the coordinator leaves.
    pub need: Option<Need>,
    /// Where the coordinator listens.
    pub coordinator: PathBuf,
}

/// Why a task cannot be held.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// The kernel refuses.
    #[error(transparent)]
    Os(#[from] OsError),
    /// The coordinator says no.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The task asks for what there cannot be.
    #[error("{0}")]
    Need(String),
}

/// A task's companion.
pub struct Holder {
    config: HolderConfig,
    space: Box<dyn ColorSpace>,
    link: Option<Link>,
    /// Until then the coordinator is not looked for.
    link_again_ns: u64,
    colors: ColorRange,
    /// Pages at the last report to the coordinator.
    reported_pages: u64,
    listener: Listener,
    watch: Option<ProcessWatch>,
    user: u32,
    /// The socket's folder, removed at the end.
    _folder: Scratch,
    socket: PathBuf,
}

impl Holder {
    /// Has colors for the task, given by the coordinator where there is one.
    ///
    /// # Errors
    /// The coordinator refuses, or there are no such colors, or the process has ended.
    pub fn new(config: HolderConfig, space: Box<dyn ColorSpace>) -> Result<Self, HoldError> {
        let watch = Some(ProcessWatch::new(config.process)?);
        let folder = Scratch::new("color")?;
        let socket = folder.path().join("space");
        let all = ColorRange::new(Color(0), space.colors())
            .ok_or_else(|| HoldError::Need("the module has no colors".to_owned()))?;
        let mut holder = Self {
            listener: Listener::bind(&socket, 0o600)?,
            link: Link::connect(&config.coordinator).ok(),
            config,
            space,
            link_again_ns: 0,
            colors: all,
            reported_pages: 0,
            watch,
            user: pagemill_linux::process::own_user(),
            _folder: folder,
            socket,
        };
        let first = holder.first_colors(all)?;
        holder.change(first)?;
        holder.space.adopt(holder.config.process)?;
        Ok(holder)
    }

    /// Where processes of the task get their space.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The task's colors.
    pub fn colors(&self) -> ColorRange {
        self.colors
    }

    /// Whether the program's memory is mapped from its space.
    pub fn is_mapped(&self) -> bool {
        self.space.file().is_some()
    }

    /// Whether a coordinator gave them.
    pub fn is_coordinated(&self) -> bool {
        self.link.is_some()
    }

    fn first_colors(&mut self, all: ColorRange) -> Result<ColorRange, HoldError> {
        let wish = match &self.config.need {
            Some(need) => Some(need.wish(all.count()).map_err(HoldError::Need)?),
            None => None,
        };
        let join = self.join(None);
        let Some(link) = &mut self.link else {
            return alone(all, wish);
        };
        link.say(&join)?;
        match link.wait()? {
            Answer::Colors(colors) => in_palette(colors, all),
            answer => Err(AskError::Nonsense(format!("{answer:?}")).into()),
        }
    }

    fn join(&self, has: Option<ColorRange>) -> Ask {
        Ask::Join {
            name: self.config.name.clone(),
            process: self.config.process,
            // Without a preference it is taken for a program that uses the cache somewhat.
            wish: (self.config.need.clone()).unwrap_or_else(|| Need::Class("B".to_owned())),
            has: has.map(Colors::from),
            pages: self.reported_pages,
        }
    }

    /// Changes the colors of the task, and says so.
    fn change(&mut self, colors: ColorRange) -> Result<(), HoldError> {
        let changed = self.space.recolor(colors)?;
        self.colors = colors;
        self.report_held(changed.pages, changed.planned);
        Ok(())
    }

    fn report_held(&mut self, pages: u64, planned: u64) {
        self.reported_pages = pages;
        let holds = Ask::Holds {
            has: self.colors.into(),
            pages,
            planned,
        };
        if self
            .link
            .as_ref()
            .is_some_and(|link| link.say(&holds).is_err())
        {
            self.lose_link();
        }
    }

    /// Serves until the program has ended and none of its pages are left. `tell` gets what the user should know.
    ///
    /// # Errors
    /// The kernel no longer lets it wait.
    pub fn run(&mut self, tell: &mut dyn FnMut(&str)) -> Result<(), HoldError> {
        loop {
            let ready = self.wait()?;
            if ready.comes
                && let Ok(channel) = self.listener.accept()
            {
                self.hand_out(&channel);
            }
            if ready.hears {
                self.take_orders(tell);
            }
            if ready.ends {
                self.watch = None;
            }
            if self.watch.is_none() && !self.space.is_used().unwrap_or(false) {
                return Ok(());
            }
            self.look_again(tell);
        }
    }

    fn wait(&self) -> Result<Ready, HoldError> {
        let link = self.link.as_ref().map(|link| link.channel.as_fd());
        let watch = self.watch.as_ref().map(ProcessWatch::as_fd);
        let first = std::iter::once(self.listener.as_fd());
        let descriptors: Vec<_> = first.chain(link).chain(watch).collect();
        let readable = wait_readable(&descriptors, Some(LOOK_AGAIN))?;
        Ok(Ready {
            comes: readable[0],
            hears: link.is_some() && readable[1],
            ends: watch.is_some() && readable[readable.len() - 1],
        })
    }

    /// To processes of the same user only.
    fn hand_out(&self, channel: &Channel) {
        let is_own = channel.peer().is_ok_and(|peer| peer.user == self.user);
        if let (true, Some(file)) = (is_own, self.space.file()) {
            // Who has gone away needs nothing.
            let _ = channel.send(&[1], &[file]);
        }
    }

    /// Follows all orders of the coordinator that have arrived.
    fn take_orders(&mut self, tell: &mut dyn FnMut(&str)) {
        while let Some(link) = &mut self.link {
            let answer = link.take_answer();
            match answer {
                Ok(None) => return,
                Ok(Some(Answer::Colors(colors))) => self.follow(colors, tell),
                Ok(Some(answer)) => {
                    tell(&format!(
                        "the coordinator's answer makes no sense: {answer:?}"
                    ));
                    self.lose_link();
                }
                Err(error) => {
                    if matches!(error, AskError::Refused { .. }) {
                        tell(&format!("{error}; the task keeps colors {}", self.colors));
                    }
                    self.lose_link();
                }
            }
        }
    }

    fn follow(&mut self, colors: Colors, tell: &mut dyn FnMut(&str)) {
        let all = ColorRange::new(Color(0), self.space.colors()).unwrap_or(self.colors);
        let changed = in_palette(colors, all).and_then(|range| {
            if range == self.colors {
                self.report_held(self.reported_pages, 0);
                return Ok(());
            }
            self.change(range)
        });
        if let Err(error) = changed {
            tell(&format!("{error}; the task keeps colors {}", self.colors));
        }
    }

    fn lose_link(&mut self) {
        self.link = None;
        self.link_again_ns = monotonic_ns() + LOOK_AGAIN.as_nanos() as u64;
    }

    /// Looks for a coordinator that is gone, or reports to it when the pages have become many more or fewer.
    fn look_again(&mut self, tell: &mut dyn FnMut(&str)) {
        if self.link.is_some() {
            let pages = self.space.pages().unwrap_or(self.reported_pages);
            if pages.abs_diff(self.reported_pages) > self.reported_pages / 8 {
                self.report_held(pages, 0);
            }
        } else if monotonic_ns() >= self.link_again_ns {
            self.link = Link::connect(&self.config.coordinator).ok();
            self.link_again_ns = monotonic_ns() + LOOK_AGAIN.as_nanos() as u64;
            let join = self.join(Some(self.colors));
            if let Some(link) = &self.link
                && let Err(error) = link.say(&join)
            {
                tell(&error.to_string());
                self.lose_link();
            }
        }
    }
}

/// What has happened.
struct Ready {
    /// A process wants the space.
    comes: bool,
    /// The coordinator has said something.
    hears: bool,
    /// The program has ended.
    ends: bool,
}

fn in_palette(colors: Colors, all: ColorRange) -> Result<ColorRange, HoldError> {
    let is_in = |range: &ColorRange| range.end() <= all.end();
    colors.range().filter(is_in).ok_or_else(|| {
        HoldError::Need(format!(
            "the coordinator gives colors from {}, {} of them, and the module has {}: start it with the module's number of colors",
            colors.first,
            colors.count,
            all.count()
        ))
    })
}

/// The colors of a task that no coordinator knows.
fn alone(all: ColorRange, wish: Option<Wish>) -> Result<ColorRange, HoldError> {
    match wish {
        Some(Wish::Colors(count)) => in_palette(Colors { first: 0, count }, all).map_err(|_| {
            HoldError::Need(format!(
                "{count} colors are more than the module's {}",
                all.count()
            ))
        }),
        _ => Ok(all),
    }
}
