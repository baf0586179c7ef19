//! README's blocks are what the commands above them print: those of simulations exactly, those of real runs by their shape.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use pagemill_testkit::skip;

use crate::common::{Finished, has_userfault, pagemill};
use crate::toolkit::{Toolkit, root};

/// The commands of a block, and the lines below them.
struct Block {
    commands: Vec<String>,
    lines: Vec<String>,
}

fn blocks() -> Vec<Block> {
    let text = std::fs::read_to_string(root().join("README.md")).expect("README");
    let parts = text.split("```console\n").skip(1);
    let block = |part: &str| {
        let (block, _) = part.split_once("```").expect("a block ends");
        let (commands, lines): (Vec<&str>, Vec<&str>) =
            block.lines().partition(|line| line.starts_with("$ "));
        Block {
            commands: commands.iter().map(|line| line[2..].to_owned()).collect(),
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
        }
    };
    parts.map(block).collect()
}

/// What the commands of `block` print; `None` where something is missing, which is counted.
fn printed(block: &Block) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    for shared in ["examples", "scenarios"] {
        std::os::unix::fs::symlink(root().join(shared), folder.path().join(shared))
            .expect("a link");
    }
    let mut text = String::new();
    for command in &block.commands {
        let words: Vec<&str> = command.split(' ').collect();
        match words.as_slice() {
            ["nvcc", "-o", name, source] => {
                let program = Toolkit::find()?.compile(&root().join(source), name, &[]);
                std::fs::copy(program, folder.path().join(name)).expect("a copy");
            }
            ["cc", "-o", name, source] => {
                let mut compiler = Command::new("cc");
                compiler.current_dir(folder.path());
                let done = compiler.args(["-o", name, source]).status();
                assert!(done.expect("a compiler").success());
            }
            ["pagemill", "advise", "zero", ..] => {
                skip("`advise zero --reserve` takes huge pages from the system");
                return None;
            }
            ["pagemill", "pager", ..] if !has_userfault() => return None,
            ["pagemill", arguments @ ..] => text += &run(folder.path(), arguments),
            _ => panic!("{command}: the test knows nvcc, cc and pagemill"),
        }
    }
    Some(text)
}

fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = pagemill(folder).args(arguments).output();
    let finished = Finished::from(output.expect("the command starts"));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    finished.stdout + &finished.stderr
}

type Row = BTreeMap<String, String>;

/// Cells are two spaces or more apart.
fn cells(line: &str) -> Vec<String> {
    let parts = line.split("  ").map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn rows<'a>(head: &str, lines: impl Iterator<Item = &'a str>) -> Vec<Row> {
    let head = cells(head);
    let row = |line: &str| head.iter().cloned().zip(cells(line)).collect();
    lines.map(row).collect()
}

/// The rows of every table, each with what the table has in common.
fn rows_of_tables(text: &str) -> Vec<Row> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, _) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with('─'))
    {
        let body = lines[at + 1..].iter().copied();
        found.extend(rows(
            lines[at - 1],
            body.take_while(|line| line.starts_with(' ')),
        ));
    }
    let common = lines
        .iter()
        .filter_map(|line| line.strip_prefix("In every row: "));
    let settings = common.flat_map(|line| line.split(", "));
    for (name, value) in settings.filter_map(|setting| setting.split_once(" = ")) {
        for row in &mut found {
            row.entry(name.to_owned())
                .or_insert_with(|| value.to_owned());
        }
    }
    found
}

/// `line` with a sign for each number, for figures that another run gives otherwise.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for c in line.chars() {
        let is_number = c.is_ascii_digit() || c == '.';
        if !is_number || !shape.ends_with('#') {
            shape.push(if is_number { '#' } else { c });
        }
    }
    shape
}

fn compare(block: &Block, text: &str) {
    let is_real = block
        .commands
        .iter()
        .any(|command| command.contains(" pager "));
    let of_table = |line: &&String| line.starts_with(' ') && !line.starts_with("  ");
    let table: Vec<&str> = block
        .lines
        .iter()
        .filter(of_table)
        .map(String::as_str)
        .collect();
    if let [head, body @ ..] = table.as_slice() {
        let made = rows_of_tables(text);
        for row in rows(head, body.iter().copied()) {
            let is_same = |made: &Row| row.iter().all(|(name, cell)| made.get(name) == Some(cell));
            assert!(
                made.iter().any(is_same),
                "README has {row:?}, and this was made:\n{text}"
            );
        }
    }
    for line in block.lines.iter().filter(|line| !of_table(line)) {
        let is_same =
            |made: &str| made.trim() == line.trim() || is_real && shape(made) == shape(line);
        assert!(
            text.lines().any(is_same),
            "README has {line:?}, and this was made:\n{text}"
        );
    }
}

#[test]
fn the_blocks_of_the_readme_are_what_their_commands_print() {
    let blocks = blocks();
    assert!(blocks.len() >= 6);
    for block in blocks {
        assert!(
            !block.lines.is_empty(),
            "{:?} prints something",
            block.commands
        );
        if let Some(text) = printed(&block) {
            compare(&block, &text);
        }
    }
}
