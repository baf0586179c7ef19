//! Why a point was slow, in words: what its row and its page map say together, with what to try.

use pagemill_map::{Band, Map};
use pagemill_report::{ColumnKind, Finding, Row, Value, human};
use pagemill_scenario::Point;

use crate::Outcome;

/// Points that are explained, slowest first.
const POINTS_MAX: usize = 4;
/// Reasons for each.
const REASONS_MAX: usize = 3;

/// The reasons of the slowest points with a page map.
pub(crate) fn of(points: &[Point], outcomes: &[Outcome]) -> Vec<Finding> {
    let mut told: Vec<(String, &Outcome, Map)> = crate::point_names(points)
        .into_iter()
        .zip(outcomes)
        .filter_map(|(point, outcome)| Some((point, outcome, Map::decode(&outcome.page_map).ok()?)))
        .collect();
    let slowness = |outcome: &Outcome| outcome.row.number("time_ns").unwrap_or(0.0);
    told.sort_by(|a, b| slowness(b.1).total_cmp(&slowness(a.1)));
    let of_point = |(point, outcome, map): &(String, &Outcome, Map)| {
        let run = Run {
            row: &outcome.row,
            details: &outcome.details,
            map,
        };
        let finding = |(reason, hint): (String, &str)| Finding {
            point: point.clone(),
            reason,
            hint: hint.to_owned(),
        };
        run.reasons().into_iter().map(finding).collect::<Vec<_>>()
    };
    told.iter().take(POINTS_MAX).flat_map(of_point).collect()
}

/// A reason and what to try; none where it does not apply.
type Reason = Option<(String, &'static str)>;

struct Run<'a> {
    row: &'a Row,
    /// Rows of kernels, allocations and lines.
    details: &'a [Row],
    map: &'a Map,
}

impl Run<'_> {
    fn reasons(&self) -> Vec<(String, &'static str)> {
        let all = [
            self.thrashes(),
            self.waits_at_a_line(),
            self.driver_is_busy(),
            self.moves_too_much(),
            self.moves_small_pieces(),
            self.link_is_full(),
            self.buffer_is_full(),
            self.misses_translations(),
        ];
        all.into_iter().flatten().take(REASONS_MAX).collect()
    }

    fn number(&self, metric: &str) -> f64 {
        self.row.number(metric).unwrap_or(0.0)
    }

    fn thrashes(&self) -> Reason {
        let (again, moved) = (self.number("repeated_bytes"), self.number("migrated_bytes"));
        if again < 0.1 * moved || again <= 0.0 {
            return None;
        }
        let hint = if self.number("evictions") > 0.0 {
            "it does not fit: give it more GPU memory, leave what is read once in CPU memory, or go through the data in an order that stays on a part of it"
        } else if self.left_by_touch() > 0 {
            "the CPU touches the pages between kernels: copy only what it needs, or touch it once at the end"
        } else {
            "requests start transfers of bytes that are on their way: gmmu.merge = \"gpu\" joins them"
        };
        Some((
            format!(
                "{} of the {} that moved to the GPU had been there before or were on their way; most of it in {}{}",
                share(again / moved),
                bytes(moved),
                self.most_moved_again(),
                self.most_repeated_line()
            ),
            hint,
        ))
    }

    /// Rows of source lines.
    fn lines(&self) -> impl Iterator<Item = &Row> {
        let is_line = |row: &&Row| row.number("waiting_time_ns").is_some();
        self.details.iter().filter(is_line)
    }

    /// The line with the most of `metric`, if it has any: its name, how much, and which share of all lines that is.
    fn top_line(&self, metric: &str) -> Option<(&Row, f64, f64)> {
        let of = |row: &Row| row.number(metric).unwrap_or(0.0);
        let all: f64 = self.lines().map(of).sum();
        let top = self.lines().max_by(|a, b| of(a).total_cmp(&of(b)))?;
        (of(top) > 0.0).then(|| (top, of(top), of(top) / all))
    }

    fn most_repeated_line(&self) -> String {
        let top = self.top_line("repeated_bytes");
        top.map_or_else(String::new, |(row, again, _)| {
            format!(", by {} ({})", line_name(row), bytes(again))
        })
    }

    fn waits_at_a_line(&self) -> Reason {
        let (row, waited, part) = self.top_line("waiting_time_ns")?;
        let of = |metric: &str| row.number(metric).unwrap_or(0.0);
        let (moved, misses) = (of("migrated_bytes"), of("tlb_misses"));
        let remote = of("remote_bytes");
        let hint = if remote > moved {
            "data that is used again is faster in GPU memory: a prefetch, or another preferred location"
        } else if moved > 0.0 {
            "bring what it reads before the kernel (cudaMemPrefetchAsync), or change its order so that it stays on pages that are there"
        } else if misses > 0.0 {
            "larger pages, or neighboring threads on neighboring addresses"
        } else {
            "neighboring threads on neighboring addresses, or more warps"
        };
        let waited = human(&Value::Float(waited), ColumnKind::TimeNs);
        let asked = [
            ("faulted_pages", "pages faulted"),
            ("migrations", "ranges moved on demand"),
        ];
        let asked = asked.map(|(metric, doing)| (of(metric), doing)).into_iter();
        let mut what: Vec<String> = asked
            .filter(|(count, _)| *count > 0.0)
            .map(|(count, doing)| format!("{} {doing}", counted(count)))
            .collect();
        for (sum, doing) in [(moved, "moved to the GPU"), (remote, "used in CPU memory")] {
            if sum > 0.0 {
                what.push(format!("{} {doing}", bytes(sum)));
            }
        }
        if misses > 0.0 {
            what.push(format!("{} look-ups missed in the TLB", counted(misses)));
        }
        let reason = format!(
            "warps wait {waited}, summed over them, for results of {}, {} of all waiting: {}",
            line_name(row),
            share(part),
            what.join(", ")
        );
        Some((reason, hint))
    }

    fn driver_is_busy(&self) -> Reason {
        let (busy, time) = (self.number("driver_busy_ns"), self.number("time_ns"));
        (time > 0.0 && busy >= 0.3 * time).then(|| {
            let reason = format!(
                "the driver is at work {} of the time: {} batches for {} faults",
                share(busy / time),
                counted(self.number("batches")),
                counted(self.number("faults"))
            );
            (
                reason,
                "prefetch before the kernel, or say where data belongs: pagemill advise program -- ./program tries the hints",
            )
        })
    }

    fn moves_too_much(&self) -> Reason {
        let moved = self.number("migrated_bytes") - self.number("repeated_bytes");
        let touched = self.number("touched_bytes");
        (touched > 0.0 && moved >= 2.0 * touched).then(|| {
            let reason = format!(
                "kernels touch {}, and {:.1} times as much moves",
                bytes(touched),
                moved / touched
            );
            (
                reason,
                "a policy that moves parts of pages (multi-range), a smaller transfer.unit, or smaller pages",
            )
        })
    }

    fn moves_small_pieces(&self) -> Reason {
        let (moved, pieces) = (self.number("migrated_bytes"), self.number("migrations"));
        let mean = moved / pieces.max(1.0);
        (pieces > 1000.0 && mean < 4096.0 && self.link_use() < 0.6).then(|| {
            let reason = format!(
                "{} migrations of {} each: their latency counts, the link is used to {}",
                counted(pieces),
                bytes(mean),
                share(self.link_use())
            );
            (
                reason,
                "a larger transfer.unit or transfer.gap_threshold, or a prefetch before the kernel",
            )
        })
    }

    fn link_is_full(&self) -> Reason {
        (self.link_use() >= 0.7).then(|| {
            (
                format!(
                    "the link to the GPU is busy {} of the time",
                    share(self.link_use())
                ),
                "move less, or move it while another kernel runs",
            )
        })
    }

    fn buffer_is_full(&self) -> Reason {
        let (stalls, pieces) = (
            self.number("migration_buffer_stalls"),
            self.number("migrations"),
        );
        (pieces > 0.0 && stalls >= 0.2 * pieces).then(|| {
            (
                format!(
                    "{} of the migrations wait for an entry of their migration buffer",
                    share(stalls / pieces)
                ),
                "a larger transfer.unit (fewer migrations), or more gmmu.buffer_entries",
            )
        })
    }

    fn misses_translations(&self) -> Reason {
        let rate = self.number("tlb_miss_rate");
        (rate >= 0.1).then(|| {
            (
                format!("{} of the look-ups miss in the TLB", share(rate)),
                "larger pages, or more entries in the TLB",
            )
        })
    }

    /// Share of the run's time that the bytes to the GPU need on the link.
    fn link_use(&self) -> f64 {
        let rate = self.map.link_bytes_per_second as f64;
        let time = self.map.end_ps as f64 * 1e-12;
        if rate > 0.0 && time > 0.0 {
            self.number("migrated_bytes") / rate / time
        } else {
            0.0
        }
    }

    /// Changes by touches of the CPU.
    fn left_by_touch(&self) -> u64 {
        let causes = &self.map.legend.causes;
        let Some(touch) = causes.iter().position(|cause| cause.name == "CPU touch") else {
            return 0;
        };
        let counts = self.map.counts.iter().skip(touch);
        counts.step_by(causes.len().max(1)).sum()
    }

    /// The allocation of which most bytes moved again, with how many.
    fn most_moved_again(&self) -> String {
        let most = moved_again(self.map).max_by_key(|(_, again)| *again);
        most.map_or_else(String::new, |(band, again)| {
            format!(
                "{} ({} again; it has {})",
                band.name,
                bytes(again as f64),
                bytes(band.bytes as f64)
            )
        })
    }
}

/// Each allocation, with how many bytes moved to it that had been there before or were on their way. Arrivals are no measure: what the
/// GPU touches first arrives without a move.
fn moved_again(map: &Map) -> impl Iterator<Item = (&Band, u64)> {
    map.bands.iter().map(|band| {
        let tiles = map.tiles.iter().skip(band.first_row * map.columns);
        let tiles = tiles.take(band.rows * map.columns);
        (band, tiles.map(|tile| tile.repeated).sum())
    })
}

/// `probe.cu:31`.
fn line_name(row: &Row) -> String {
    match row.get("line") {
        Some(Value::Text(name)) => name.clone(),
        _ => String::new(),
    }
}

fn bytes(number: f64) -> String {
    human(&Value::Float(number), ColumnKind::Bytes)
}

fn counted(number: f64) -> String {
    human(&Value::Float(number), ColumnKind::Count)
}

fn share(part: f64) -> String {
    human(&Value::Float(part), ColumnKind::Rate)
}

#[cfg(test)]
mod tests;
