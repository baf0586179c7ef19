//! How far a run is, on standard error, where that is a terminal.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{
    HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use pagemill_run::PointProgress;
use pagemill_scenario::{Point, PointSpec};

use crate::output::note;

const REDRAW: Duration = Duration::from_millis(100);

/// A bar over all points, and a line for each point that is running. Where points are programs of the user's, a line as each
/// starts and no bar: the terminal is theirs while they run, and a bar is drawn by erasing lines, theirs as well.
pub struct Progress {
    /// Whether a line says which program starts.
    says_programs: bool,
    lines: MultiProgress,
    overall: ProgressBar,
    /// The lines of points that are running, by the points' digests.
    running: Arc<Mutex<HashMap<String, ProgressBar>>>,
}

impl Progress {
    /// Shows nothing where standard error is no terminal.
    pub fn new<'a>(count: usize, mut points: impl Iterator<Item = &'a Point>) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let runs_programs = points.any(|point| matches!(point.spec, PointSpec::Cuda(_)));
        let draws = is_terminal && !runs_programs;
        let target = match draws {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let lines = MultiProgress::with_draw_target(target);
        let all =
            style("{bar:40} {pos}/{len} points, {elapsed} elapsed{left}").with_key("left", left);
        let overall = lines.add(ProgressBar::new(count as u64).with_style(all));
        if draws {
            // At once: a thread draws the next ones, and the first point can end before it runs.
            overall.tick();
            overall.enable_steady_tick(REDRAW);
        }
        Self {
            says_programs: is_terminal && runs_programs,
            lines,
            overall,
            running: Arc::default(),
        }
    }

    /// Shows how far each point is, where it says so.
    pub fn of_points(&self) -> PointProgress {
        let running = Arc::clone(&self.running);
        PointProgress(Arc::new(move |point, done| {
            let running = running.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(line) = running.get(&point.digest) {
                line.set_prefix(format!("{:3.0} %", 100.0 * done));
            }
        }))
    }

    /// Shows `point` as running until the guard is dropped.
    pub fn begin(&self, point: &Point) -> Running<'_> {
        if let (true, PointSpec::Cuda(spec)) = (self.says_programs, &point.spec) {
            let clock = match spec.functional || spec.check {
                true => ", without simulated time",
                false => "",
            };
            let program = spec.command.join(" ");
            note(&format!(
                "pagemill: {program} runs on a simulated {}, {}{clock}",
                spec.machine.name, spec.transfer.mode
            ));
        }
        let line = ProgressBar::new_spinner()
            .with_style(style("  {spinner} {elapsed:>4} {prefix:>5}  {wide_msg}"));
        let line = self
            .lines
            .insert_before(&self.overall, line)
            .with_message(point.to_string());
        if !self.lines.is_hidden() {
            line.enable_steady_tick(REDRAW);
        }
        self.lines_of_points()
            .insert(point.digest.clone(), line.clone());
        Running {
            progress: self,
            point: point.digest.clone(),
            line,
        }
    }

    fn lines_of_points(&self) -> MutexGuard<'_, HashMap<String, ProgressBar>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes everything off the terminal.
    pub fn finish(&self) {
        self.overall.finish_and_clear();
        // The terminal may be gone.
        let _ = self.lines.clear();
    }
}

/// A point that is running.
pub struct Running<'a> {
    progress: &'a Progress,
    point: String,
    line: ProgressBar,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.progress.lines_of_points().remove(&self.point);
        self.line.finish_and_clear();
        self.progress.lines.remove(&self.line);
        self.progress.overall.inc(1);
    }
}

/// How long the rest takes, once a point has ended that tells.
fn left(state: &ProgressState, text: &mut dyn std::fmt::Write) {
    if state.pos() > 0 {
        // What cannot be written is not shown.
        let _ = write!(text, ", {} left", HumanDuration(state.eta()));
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
