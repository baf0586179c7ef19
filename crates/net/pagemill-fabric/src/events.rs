//! What happened when at one station, for a timeline: bounded.

use std::fmt::Write;
use std::str::FromStr;

use crate::counters::{Cause, Counter};

/// Where an event is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// What the rank spent its time on: one thing after the other, waits with their causes in them.
    Time,
    /// Messages on their way to it, which overlap.
    Messages,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Time passed that is counted there.
    Passed(Counter),
    /// A part of a wait.
    Waited(Cause),
    /// A message was on its way from that rank.
    Message {
        /// Its sender.
        source: u32,
    },
}

impl What {
    fn track(self) -> Track {
        match self {
            Self::Passed(_) | Self::Waited(_) => Track::Time,
            Self::Message { .. } => Track::Messages,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Message { source } => format!("from rank {source}"),
            Self::Passed(counter) => match counter {
                Counter::SendSoftwarePs => "send",
                Counter::ReceiveSoftwarePs => "receive",
                Counter::WriteSoftwarePs => "write",
                Counter::ReadSoftwarePs => "read",
                Counter::SendWaitPs => "wait for a send",
                Counter::ReceiveWaitPs => "wait for a receive",
                Counter::WriteWaitPs => "wait for a write",
                Counter::ReadWaitPs => "wait for a read",
                Counter::ProbeWaitPs => "wait in a probe",
                Counter::ComputePs => "compute",
                Counter::ClockPs => "read the clock",
                Counter::StartPs => "start",
                other => other.name(),
            }
            .to_owned(),
            Self::Waited(cause) => match cause {
                Cause::Partner => "partner",
                Cause::Software => "software on the way",
                Cause::Interface => "interface",
                Cause::Port => "port state",
                Cause::Busy => "other transfers",
                Cause::Table => "table miss",
                Cause::Wire => "wire",
            }
            .to_owned(),
        }
    }
}

/// Something with a beginning and an end.
#[derive(Clone, Copy, Debug)]
struct Event {
    what: What,
    start_ps: u64,
    end_ps: u64,
    bytes: u64,
}

/// The events of a station: all, or evenly chosen ones up to a limit.
#[derive(Debug)]
pub struct Events {
    limit: usize,
    events: Vec<Event>,
    /// Of this many events one is kept.
    stride: u64,
    seen: u64,
}

impl Events {
    /// Room for `limit` events.
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(2),
            events: Vec::new(),
            stride: 1,
            seen: 0,
        }
    }

    /// Adds an event. One that goes on where the latest one of the same name ended becomes a part of it.
    pub fn add(&mut self, what: What, start_ps: u64, end_ps: u64, bytes: u64) {
        if let Some(latest) = self.events.last_mut()
            && (latest.what, latest.end_ps, latest.bytes) == (what, start_ps, bytes)
            && bytes == 0
        {
            latest.end_ps = end_ps;
            return;
        }
        let is_chosen = self.seen.is_multiple_of(self.stride);
        self.seen += 1;
        if !is_chosen {
            return;
        }
        self.events.push(Event {
            what,
            start_ps,
            end_ps,
            bytes,
        });
        if self.events.len() > self.limit {
            let mut index = 0;
            self.events.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// All of it as text, which [`RankEvents`] reads: how many were left out, and then a line each.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.seen - self.events.len() as u64);
        for event in &self.events {
            let track = match event.what.track() {
                Track::Time => 't',
                Track::Messages => 'm',
            };
            let (start, end, bytes) = (event.start_ps, event.end_ps, event.bytes);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{track} {start} {end} {bytes} {}", event.what.name());
        }
        text
    }
}

/// An event as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankEvent {
    /// Where.
    pub track: Track,
    /// Its name.
    pub name: String,
    /// Its begin in picoseconds.
    pub start_ps: u64,
    /// Its end.
    pub end_ps: u64,
    /// Bytes that it moved.
    pub bytes: u64,
}

/// The events that a rank left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankEvents {
    /// Events that were left out evenly, for want of room.
    pub dropped: u64,
    /// The others.
    pub events: Vec<RankEvent>,
}

impl FromStr for RankEvents {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (dropped, lines) = text.split_once('\n').unwrap_or((text, ""));
        let events = lines.lines().enumerate().map(|(index, line)| {
            event(line).ok_or_else(|| format!("line {}: {line:?} is no event", index + 2))
        });
        Ok(Self {
            dropped: dropped
                .parse()
                .map_err(|_| format!("line 1: {dropped:?} is no number of events"))?,
            events: events.collect::<Result<_, _>>()?,
        })
    }
}

fn event(line: &str) -> Option<RankEvent> {
    let mut words = line.splitn(5, ' ');
    let track = match words.next()? {
        "t" => Track::Time,
        "m" => Track::Messages,
        _ => return None,
    };
    let mut number = || words.next()?.parse::<u64>().ok();
    let (start_ps, end_ps, bytes) = (number()?, number()?, number()?);
    Some(RankEvent {
        track,
        name: words.next()?.to_owned(),
        start_ps,
        end_ps,
        bytes,
    })
}

#[cfg(test)]
mod tests;
