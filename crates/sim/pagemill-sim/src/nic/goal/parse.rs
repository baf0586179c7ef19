//! The text of a schedule, line by line.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::sync::Arc;

use super::schedule::{Follower, Goal, GoalOperation, OPERATIONS_MAX, Schedule};

/// What is wrong with a schedule, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}:{line}: {message}")]
pub struct GoalError {
    /// The file.
    pub source_name: String,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong, and what is needed.
    pub message: String,
}

/// Longer lines are no schedule.
const LINE_BYTES_MAX: usize = 4096;

/// More ranks than can be simulated.
const RANKS_MAX: u64 = 1 << 20;

/// Reads a schedule. Only one line of the text is held at a time; what is kept is about 25 bytes an operation.
///
/// # Errors
/// The first line that is wrong.
pub fn parse(source_name: &str, mut text: impl BufRead) -> Result<Goal, GoalError> {
    let mut parser = Parser::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = text.by_ref().take(LINE_BYTES_MAX as u64 + 1);
        let read = limited.read_until(b'\n', &mut line);
        parser.line += 1;
        let done = read
            .map_err(|error| format!("it cannot be read: {error}"))
            .and_then(|bytes| {
                if bytes == 0 {
                    parser.finish()
                } else {
                    parser.take_line(&line)
                }
            });
        match done {
            Ok(None) => {}
            Ok(Some(goal)) => return Ok(goal),
            Err(message) => {
                return Err(GoalError {
                    source_name: source_name.to_owned(),
                    line: parser.line,
                    message,
                });
            }
        }
    }
}

#[derive(Debug, Default)]
struct Parser {
    line: u64,
    in_comment: bool,
    ranks: Option<Vec<Option<Arc<Schedule>>>>,
    block: Option<Block>,
}

/// The rank that is being read.
#[derive(Debug)]
struct Block {
    rank: u32,
    operations: Vec<GoalOperation>,
    edges: Vec<(u32, Follower)>,
    labels: HashMap<String, u32>,
}

type Parsed<T> = Result<T, String>;

impl Parser {
    fn take_line(&mut self, line: &[u8]) -> Parsed<Option<Goal>> {
        if line.len() > LINE_BYTES_MAX {
            return Err(format!("the line is longer than {LINE_BYTES_MAX} bytes"));
        }
        let text = std::str::from_utf8(line).map_err(|_| "the line is no text".to_owned())?;
        let code = self.without_comments(text);
        let mut words = Words::of(&code);
        while let Some(word) = words.next() {
            self.statement(word, &mut words)?;
        }
        Ok(None)
    }

    /// `text` with blanks for comments, which may go on over lines.
    fn without_comments(&mut self, text: &str) -> String {
        let mut code = String::with_capacity(text.len());
        let mut rest = text;
        loop {
            if self.in_comment {
                let Some(end) = rest.find("*/") else {
                    return code;
                };
                self.in_comment = false;
                code.push(' ');
                rest = &rest[end + 2..];
            }
            let line_comment = rest.find("//").unwrap_or(rest.len());
            let block_comment = rest.find("/*").unwrap_or(rest.len());
            code.push_str(&rest[..line_comment.min(block_comment)]);
            if line_comment <= block_comment {
                return code;
            }
            self.in_comment = true;
            rest = &rest[block_comment + 2..];
        }
    }

    fn statement(&mut self, word: &str, words: &mut Words<'_>) -> Parsed<()> {
        match (word, &mut self.block) {
            ("num_ranks", None) => self.set_ranks(words),
            ("rank", None) => self.open(words),
            (_, None) => Err(format!(
                "{word:?} stands outside of a rank: `num_ranks N` or `rank N {{` is needed"
            )),
            ("}", Some(_)) => self.close(),
            (_, Some(block)) => {
                let ranks = self.ranks.as_ref().map_or(0, Vec::len) as u64;
                block.statement(word, words, ranks)
            }
        }
    }

    fn set_ranks(&mut self, words: &mut Words<'_>) -> Parsed<()> {
        if self.ranks.is_some() {
            return Err("`num_ranks` is given a second time".to_owned());
        }
        let ranks = words.number("the number of ranks")?;
        if !(1..=RANKS_MAX).contains(&ranks) {
            return Err(format!("{ranks} ranks: from 1 to {RANKS_MAX} are possible"));
        }
        self.ranks = Some(vec![None; ranks as usize]);
        Ok(())
    }

    fn open(&mut self, words: &mut Words<'_>) -> Parsed<()> {
        let ranks = self
            .ranks
            .as_ref()
            .ok_or("`num_ranks N` has to come before the first rank")?;
        let rank = words.number("the number of the rank")?;
        let place = ranks
            .get(rank as usize)
            .ok_or_else(|| no_such_rank(rank, ranks.len() as u64))?;
        if place.is_some() {
            return Err(format!("rank {rank} is given a second time"));
        }
        words.keyword("{")?;
        self.block = Some(Block {
            rank: rank as u32,
            operations: Vec::new(),
            edges: Vec::new(),
            labels: HashMap::new(),
        });
        Ok(())
    }

    fn close(&mut self) -> Parsed<()> {
        let (Some(block), Some(ranks)) = (self.block.take(), &mut self.ranks) else {
            return Ok(());
        };
        let schedule = Schedule::new(block.operations, block.edges);
        if let Some(operation) = schedule.find_circle() {
            let name = block.labels.iter().find(|(_, place)| **place == operation);
            let name = name.map_or_else(|| operation.to_string(), |(label, _)| label.clone());
            return Err(format!(
                "in rank {} operation {name} waits for itself, through others or at once",
                block.rank
            ));
        }
        ranks[block.rank as usize] = Some(Arc::new(schedule));
        Ok(())
    }

    fn finish(&mut self) -> Parsed<Option<Goal>> {
        if let Some(block) = &self.block {
            return Err(format!(
                "the text ends within rank {}: `}}` is missing",
                block.rank
            ));
        }
        if self.in_comment {
            return Err("the text ends within a comment: `*/` is missing".to_owned());
        }
        let ranks = self.ranks.take().ok_or("the text has no `num_ranks N`")?;
        // A rank that is not mentioned does nothing.
        let nothing = Arc::new(Schedule::new(Vec::new(), Vec::new()));
        let ranks = ranks
            .into_iter()
            .map(|rank| rank.unwrap_or_else(|| Arc::clone(&nothing)));
        Ok(Some(Goal {
            ranks: ranks.collect(),
        }))
    }
}

impl Block {
    fn statement(&mut self, word: &str, words: &mut Words<'_>, ranks: u64) -> Parsed<()> {
        if let Some(operation) = operation(word, words, ranks)? {
            return self.add(operation);
        }
        check_label(word)?;
        match words.next() {
            Some(":") => {
                let name = words
                    .next()
                    .ok_or("an operation is needed after the label")?;
                let operation = operation(name, words, ranks)?
                    .ok_or_else(|| format!("{name:?} is no operation: use send, recv or calc"))?;
                let place = self.operations.len() as u32;
                if self.labels.insert(word.to_owned(), place).is_some() {
                    return Err(format!(
                        "label {word} is given a second time in rank {}",
                        self.rank
                    ));
                }
                self.add(operation)
            }
            Some("requires") => self.edge(word, words, false),
            Some("irequires") => self.edge(word, words, true),
            found => Err(format!(
                "after {word:?} comes {}: `:`, `requires` or `irequires` is needed",
                found.map_or("the end of the line".to_owned(), |found| format!(
                    "{found:?}"
                ))
            )),
        }
    }

    fn add(&mut self, operation: GoalOperation) -> Parsed<()> {
        if self.operations.len() >= OPERATIONS_MAX {
            return Err(format!(
                "rank {} has more than {OPERATIONS_MAX} operations",
                self.rank
            ));
        }
        self.operations.push(operation);
        Ok(())
    }

    fn edge(&mut self, waiting: &str, words: &mut Words<'_>, at_start: bool) -> Parsed<()> {
        let before = words.next().ok_or("the label of an operation is needed")?;
        let place = |label: &str| {
            let known = self.labels.get(label).copied();
            known.ok_or_else(|| {
                format!(
                    "label {label} is not known above this line in rank {}",
                    self.rank
                )
            })
        };
        let follower = Follower::new(place(waiting)?, at_start);
        let edge = (place(before)?, follower);
        self.edges.push(edge);
        Ok(())
    }
}

/// The operation that starts with `word`, if it is one.
fn operation(word: &str, words: &mut Words<'_>, ranks: u64) -> Parsed<Option<GoalOperation>> {
    let operation = match word {
        "calc" => {
            let ns = words.number("nanoseconds")?;
            GoalOperation::Compute { ns }
        }
        "send" => {
            let bytes = words.bytes()?;
            words.keyword("to")?;
            let to = words.number("the receiving rank")?;
            let to = in_range(to, ranks)?;
            let tag = words.tag(false)?.unwrap_or_default();
            GoalOperation::Send { bytes, to, tag }
        }
        "recv" => {
            let bytes = words.bytes()?;
            words.keyword("from")?;
            let from = words.number_or_any("the sending rank")?;
            let from = from.map(|from| in_range(from, ranks)).transpose()?;
            let tag = words.tag(true)?;
            GoalOperation::Receive { bytes, from, tag }
        }
        _ => return Ok(None),
    };
    for key in ["cpu", "nic"] {
        if words.peek() == Some(key) {
            words.next();
            words.number(key)?;
        }
    }
    Ok(Some(operation))
}

fn in_range(rank: u64, ranks: u64) -> Parsed<u32> {
    if rank < ranks {
        Ok(rank as u32)
    } else {
        Err(no_such_rank(rank, ranks))
    }
}

fn no_such_rank(rank: u64, ranks: u64) -> String {
    format!(
        "there is no rank {rank}: `num_ranks` is {ranks}, the last rank {}",
        ranks - 1
    )
}

fn check_label(word: &str) -> Parsed<()> {
    let is_label = word.starts_with(|first: char| first.is_ascii_alphabetic())
        && word
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_label {
        Ok(())
    } else {
        Err(format!("{word:?} is neither an operation nor a label"))
    }
}

/// The words of a line. `:`, `{` and `}` are words of their own.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        Self { rest: text.trim() }
    }

    fn peek(&self) -> Option<&'a str> {
        let first = self.rest.chars().next()?;
        let end = if ":{}".contains(first) {
            1
        } else {
            self.rest
                .find(|letter: char| letter.is_whitespace() || ":{}".contains(letter))
                .unwrap_or(self.rest.len())
        };
        Some(&self.rest[..end])
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.rest = self.rest[word.len()..].trim_start();
        Some(word)
    }

    fn keyword(&mut self, wanted: &str) -> Parsed<()> {
        match self.next() {
            Some(word) if word == wanted => Ok(()),
            Some(word) => Err(format!("{word:?} stands where `{wanted}` is needed")),
            None => Err(format!("the line ends where `{wanted}` is needed")),
        }
    }

    fn number(&mut self, what: &str) -> Parsed<u64> {
        let word = self
            .next()
            .ok_or_else(|| format!("the line ends where {what} is needed"))?;
        number(word, what)
    }

    /// A number, or `-1` for any.
    fn number_or_any(&mut self, what: &str) -> Parsed<Option<u64>> {
        if self.peek() == Some("-1") {
            self.next();
            return Ok(None);
        }
        self.number(what).map(Some)
    }

    fn bytes(&mut self) -> Parsed<u64> {
        let word = self
            .next()
            .ok_or("the line ends where a size such as `8b` is needed")?;
        match word.strip_suffix('b') {
            Some(digits) => number(digits, "a size"),
            // The unit may stand apart: `8 b`.
            None => {
                let bytes = number(word, "a size")?;
                self.keyword("b")?;
                Ok(bytes)
            }
        }
    }

    /// `tag N`, or nothing, which is tag 0; `None` for any.
    fn tag(&mut self, any_is_allowed: bool) -> Parsed<Option<u32>> {
        if self.peek() != Some("tag") {
            return Ok(Some(0));
        }
        self.next();
        let tag = if any_is_allowed {
            self.number_or_any("a tag")?
        } else {
            Some(self.number("a tag")?)
        };
        let small = |tag: u64| {
            u32::try_from(tag).map_err(|_| format!("tag {tag} is larger than {}", u32::MAX))
        };
        tag.map(small).transpose()
    }
}

fn number(word: &str, what: &str) -> Parsed<u64> {
    let is_number = !word.is_empty() && word.bytes().all(|digit| digit.is_ascii_digit());
    let number = word
        .parse::<u64>()
        .ok()
        .filter(|&number| is_number && number <= NUMBER_MAX);
    number.ok_or_else(|| {
        format!("{word:?} stands where {what} is needed: a whole number of at most {NUMBER_MAX}")
    })
}

/// Larger sizes and spans would not fit into simulated time.
const NUMBER_MAX: u64 = 1 << 40;
