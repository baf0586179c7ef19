//! C programs that tests of preload libraries run with a library and without: `crates/linux/pagemill-mapping/tests/programs`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What `private_memory.c` checks, each by its argument.
pub const CHECKS: [&str; 26] = [
    "dontneed",
    "dontneed_part",
    "dontneed_small",
    "dontneed_by_syscall",
    "process_advice",
    "free_advice",
    "protect_part",
    "unmap_part",
    "map_over_part",
    "remap",
    "lock_and_sync",
    "fork_by_libc",
    "kept_from_children",
    "fork_bare",
    "fork_by_syscall",
    "clone_by_syscall",
    "clone3_by_syscall",
    "clone_by_libc",
    "parent_writes",
    "fork_by_instruction",
    "shares_by_vfork",
    "many_generations",
    "protect_beside_writers",
    "unmap_beside_writers",
    "fork_beside_writers",
    "heap",
];

/// Of these, those that concern mappings of huge pages, too.
pub const HUGE_CHECKS: [&str; 17] = [
    "dontneed",
    "dontneed_part",
    "dontneed_small",
    "dontneed_by_syscall",
    "free_advice",
    "lock_and_sync",
    "fork_by_libc",
    "kept_from_children",
    "fork_bare",
    "fork_by_syscall",
    "clone_by_syscall",
    "clone3_by_syscall",
    "clone_by_libc",
    "parent_writes",
    "fork_by_instruction",
    "shares_by_vfork",
    "fork_beside_writers",
];

/// Builds `source`, one of these programs or a path of another, into `folder`; `options` are the compiler's.
///
/// # Panics
/// It does not compile.
pub fn build(folder: &Path, source: impl AsRef<Path>, options: &[&str]) -> PathBuf {
    let source = source.as_ref();
    let programs =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../linux/pagemill-mapping/tests/programs");
    let program = folder.join(source.file_stem().expect("a name"));
    let is_cpp = source
        .extension()
        .is_some_and(|extension| extension == "cpp");
    let built = Command::new(if is_cpp { "g++" } else { "cc" })
        .args(["-Wall", "-O1", "-fno-builtin", "-pthread", "-o"])
        .arg(&program)
        .arg(programs.join(source))
        .args(options)
        .status();
    assert!(built.expect("a C compiler").success());
    program
}

/// Compares what `random_calls.c` says of its memory, eight bytes after each step.
///
/// # Panics
/// Memory differs after some step.
pub fn assert_same_memory(expected: &[u8], found: &[u8], what: &str) {
    let mut pairs = expected.chunks(8).zip(found.chunks(8));
    let differs = pairs.position(|(one, other)| one != other);
    assert_eq!(differs, None, "{what}: memory differs after this step");
    assert_eq!(found.len(), expected.len(), "{what}");
}

/// The libraries that `docs/memory-calls.md` has a column for.
const LIBRARIES: [&str; 3] = ["pager", "pool", "coloring"];

/// Advice that Linux 6.18 knows, by number.
const ADVICE: &str = "0 NORMAL 1 RANDOM 2 SEQUENTIAL 3 WILLNEED 4 DONTNEED 8 FREE 9 REMOVE 10 DONTFORK 11 DOFORK 12 MERGEABLE 13 UNMERGEABLE \
    14 HUGEPAGE 15 NOHUGEPAGE 16 DONTDUMP 17 DODUMP 18 WIPEONFORK 19 KEEPONFORK 20 COLD 21 PAGEOUT 22 POPULATE_READ 23 POPULATE_WRITE \
    24 DONTNEED_LOCKED 25 COLLAPSE 100 HWPOISON 101 SOFT_OFFLINE 102 GUARD_INSTALL 103 GUARD_REMOVE";

/// A row of the table: the words for `memory_calls.c`, and what people call it.
fn call_rows(program: &Path) -> Vec<(String, String)> {
    let numbers = (0..=30).chain(100..=110).chain([9999]);
    let advice = numbers.map(|number| {
        let number = i32::to_string(&number);
        let mut words = ADVICE.split_whitespace();
        let found = words.find(|word| *word == number);
        let name = found.and_then(|_| words.next());
        let name = name.unwrap_or("not known to Linux 6.18");
        let call = format!("madvise {number}");
        (call.clone(), format!("{call} ({name})"))
    });
    let output = Command::new(program).arg("names").output();
    let names = String::from_utf8(output.expect("it runs").stdout).expect("text");
    let others = names.lines().map(|name| (name.to_owned(), name.to_owned()));
    advice.chain(others).collect()
}

/// Makes each call of `memory_calls.c` plainly and by `preloaded`, and compares what they print. The column `library` of `docs/memory-calls.md`
/// has to say the same, whose last row has the calls that differ under none; `PAGEMILL_BLESS=1` writes it. `by_nature` has the calls that differ, with the reason, and no others.
///
/// # Panics
/// A call differs, or the column does.
pub fn compare_calls(
    library: &str,
    memory: &str,
    by_nature: &[(&str, &str)],
    program: &Path,
    preloaded: impl Fn() -> Command,
) {
    let said = |mut command: Command, call: &str| {
        let output = command.args([memory, call]).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let printed = text(&output.stdout) + &output.status.to_string();
        (printed, text(&output.stderr))
    };
    let mut wrong = Vec::new();
    let mut column = Vec::new();
    for (call, name) in call_rows(program) {
        let (expected, _) = said(Command::new(program), &call);
        let (found, beside) = said(preloaded(), &call);
        let reason = by_nature.iter().find(|(known, _)| *known == call);
        if (expected == found) == reason.is_some() {
            wrong.push(format!(
                "{name}: plainly\n{expected}\nwith the library\n{found}\n{beside}"
            ));
        }
        let cell = reason.map_or("same".to_owned(), |(_, reason)| {
            format!("differs: {reason}")
        });
        column.push((name, cell));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    check_column(library, &column);
}

fn check_column(library: &str, column: &[(String, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/memory-calls.md");
    let text = std::fs::read_to_string(&path).expect("the document");
    let (before, table) = text.split_once("| call |").expect("a table");
    let known: Vec<Vec<&str>> = (table.lines().skip(2))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let index = LIBRARIES.iter().position(|name| *name == library);
    let index = index.expect("a library of the document") + 1;
    let mut made = format!(
        "{before}| call | {} |\n|---|---|---|---|\n",
        LIBRARIES.join(" | ")
    );
    let mut same = Vec::new();
    for (name, cell) in column {
        let row = known.iter().find(|row| row[0] == name);
        let mut row = row.map_or(vec![name.as_str(), "same", "same", "same"], Clone::clone);
        row[index] = cell;
        match row[1..].iter().all(|cell| *cell == "same") {
            true => same.push(name.as_str()),
            false => made += &format!("| {} |\n", row.join(" | ")),
        }
    }
    made += &format!("| {} | same | same | same |\n", same.join("; "));
    if std::env::var_os("PAGEMILL_BLESS").is_some() {
        std::fs::write(&path, made).expect("the document can be written");
    } else {
        assert_eq!(made, text, "PAGEMILL_BLESS=1 writes docs/memory-calls.md");
    }
}
