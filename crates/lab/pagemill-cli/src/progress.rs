//! How far a command is.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of `most` steps with the parts of `template`, where standard error is a terminal.
pub fn bar(template: &str, most: u64) -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::with_draw_target(Some(most), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    bar
}
