//! What the preloaded malloc costs real programs: beside glibc's, and beside the allocator that it is made of.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{self, cargo};
use crate::system::{self, Need};
use crate::workspace;

/// The programs that are timed.
const NEEDS: [Need; 5] = [
    Need {
        what: "a C++ compiler",
        package: "g++",
        is_there: || process::succeeds("g++", &["--version"]),
    },
    Need {
        what: "Debian's Python, with its library",
        package: "python3",
        is_there: || process::succeeds("/usr/bin/python3", &["-c", "import ast, glob, json"]),
    },
    Need {
        what: "sqlite's command",
        package: "sqlite3",
        is_there: || process::succeeds("sqlite3", &["--version"]),
    },
    Need {
        what: "a JSON processor",
        package: "jq",
        is_there: || process::succeeds("jq", &["--version"]),
    },
    Need {
        what: "a Redis server, its client and its benchmark",
        package: "redis-server redis-tools",
        is_there: || {
            process::succeeds("redis-server", &["--version"])
                && process::succeeds("redis-benchmark", &["--help"])
        },
    },
];

/// A program, as shell text that is run in an empty folder.
struct Program {
    name: &'static str,
    /// Makes its input, once.
    prepare: &'static str,
    /// What is timed.
    run: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "gcc",
        prepare: "(for h in regex map unordered_map set vector string iostream sstream algorithm functional thread future; do echo \"#include <$h>\"; done; \
                  for i in $(seq 12); do echo \"int f$i(const std::string& s) { std::map<std::string, std::vector<int>> m; m[s].push_back($i); return std::regex_match(s, std::regex(\\\"a$i+\\\")) + m.size(); }\"; done) > big.cpp",
        run: "g++ -O1 -std=c++17 -c big.cpp -o big.o",
    },
    Program {
        name: "python",
        prepare: "true",
        run: "PYTHONMALLOC=malloc /usr/bin/python3 -c 'import ast, glob, json\nfor path in sorted(glob.glob(\"/usr/lib/python3*/[a-j]*.py\"))[:60]:\n    tree = ast.parse(open(path).read())\n    json.loads(json.dumps([ast.dump(node) for node in ast.walk(tree)][:2000]))'",
    },
    Program {
        name: "sqlite",
        prepare: "(echo 'create table t(a integer primary key, b text, c integer); create index i on t(b);'; echo 'begin;'; \
                  for i in $(seq 60000); do echo \"insert into t values($i, 'row $((i * 7919 % 60000)) of the table', $((i % 97)));\"; done; echo 'commit;'; \
                  for i in $(seq 40); do echo \"select count(*), max(b) from t where b like 'row $i%'; update t set b = b || 'x' where c = $i; select c, group_concat(a) from t group by c;\"; done) > speed.sql",
        run: "sqlite3 :memory: < speed.sql > out.txt",
    },
    Program {
        name: "jq",
        prepare: "/usr/bin/python3 -c 'import json\nprint(json.dumps([{\"id\": i, \"name\": \"user %d\" % i, \"tags\": [\"t%d\" % (i * k % 97) for k in range(6)], \"nested\": {\"x\": i / 3, \"y\": None}} for i in range(40000)]))' > big.json",
        run: "jq -c 'map(select(.id % 3 == 0) | {name, tags: (.tags | sort | unique), s: (.nested | tostring)}) | group_by(.tags[0]) | map(length)' big.json > out.txt",
    },
    Program {
        name: "redis",
        prepare: "true",
        run: "redis-server --port 0 --unixsocket $PWD/redis.sock --save '' --appendonly no --daemonize no > out.txt & server=$!; \
              until LD_PRELOAD= redis-cli -s $PWD/redis.sock ping > ping.txt 2>&1; do LD_PRELOAD= sleep 0.02; done; \
              LD_PRELOAD= redis-benchmark -s $PWD/redis.sock -q -n 60000 -r 50000 -d 200 -P 16 -t set,get,lpush,lrange_100,hset,sadd > out2.txt; \
              awk '{print $14, $15}' /proc/$server/stat > server.txt; kill $server; wait $server",
    },
    Program {
        name: "perl",
        prepare: "true",
        run: "perl -e 'my %h; for my $i (1..250000) { $h{\"key \" . $i % 5000} .= \"x\" x ($i % 13); push @{$l[$i % 100]}, [$i, \"v$i\"]; } my @s = sort { $h{$a} cmp $h{$b} } keys %h; print scalar @s;' > out.txt",
    },
];

/// The order of a round.
const ALLOCATORS: [&str; 3] = ["glibc", "mimalloc", "pagemill"];

/// Measures all programs under all allocators, in turn, and keeps the medians.
pub fn run(rounds: usize) -> Result<()> {
    system::provide_all(&NEEDS)?;
    let mimalloc = build_mimalloc()?;
    process::run(&mut cargo(&[
        "build",
        "--release",
        "-p",
        "pagemill-color-preload",
    ]))?;
    let own = workspace::root().join("target/release/libpagemill_color_preload.so");
    let libraries = [None, Some(mimalloc), Some(own)];
    let folder = workspace::root().join("target/bench-preload");
    let mut text = String::from(
        "program,rounds,glibc_cpu_s,mimalloc_cpu_s,pagemill_cpu_s,pagemill_over_mimalloc,pagemill_over_glibc\n",
    );
    for program in PROGRAMS {
        let seconds = measure(program, rounds, &libraries, &folder)?;
        let [glibc, mimalloc, own] = seconds.map(median);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{rounds},{glibc:.3},{mimalloc:.3},{own:.3},{:.3},{:.3}",
            program.name,
            own / mimalloc,
            own / glibc
        );
        eprint!("{}", text.lines().last().unwrap_or_default());
        eprintln!();
    }
    let path = workspace::root().join("validation/coloring/preload.csv");
    std::fs::create_dir_all(path.parent().unwrap_or(&path))
        .and_then(|()| std::fs::write(&path, &text))
        .with_context(|| format!("cannot write {}", path.display()))?;
    print!("{text}");
    Ok(())
}

/// CPU seconds of each round, for each allocator. Rounds are interleaved, so that what else the machine does hits all alike.
fn measure(
    program: &Program,
    rounds: usize,
    libraries: &[Option<PathBuf>; 3],
    folder: &Path,
) -> Result<[Vec<f64>; 3]> {
    let folder = folder.join(program.name);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    process::run(
        Command::new("bash")
            .args(["-c", program.prepare])
            .current_dir(&folder),
    )?;
    let mut seconds: [Vec<f64>; 3] = Default::default();
    for round in 0..rounds {
        for offset in 0..ALLOCATORS.len() {
            let place = (round + offset) % ALLOCATORS.len();
            seconds[place].push(cpu_seconds(program, libraries[place].as_deref(), &folder)?);
            sleep(Duration::from_millis(5));
        }
    }
    Ok(seconds)
}

/// User and system time of the program and its children.
fn cpu_seconds(program: &Program, library: Option<&Path>, folder: &Path) -> Result<f64> {
    let preload = library.map_or(String::new(), |library| library.display().to_string());
    // The shell itself runs under glibc; its time is not counted, as only children are.
    let script = format!(
        "TIMEFORMAT='%U %S'; time (export LD_PRELOAD='{preload}'; {})",
        program.run
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .env("PAGEMILL_COLOR_TASK", "none")
        .env("PAGEMILL_COLOR_PLAIN", "1")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", program.name))?;
    if program.name == "redis" {
        // The server's own time, in ticks of 10 ms: the clients do not count.
        let text = std::fs::read_to_string(folder.join("server.txt"))?;
        return Ok(sum(&text)? / 100.0);
    }
    if !output.status.success() {
        bail!(
            "{} failed: {}",
            program.name,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let text = String::from_utf8_lossy(&output.stderr);
    sum(text.lines().last().unwrap_or_default())
}

fn sum(text: &str) -> Result<f64> {
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse::<f64>).collect();
    let numbers = numbers.with_context(|| format!("no times: {text:?}"))?;
    Ok(numbers.into_iter().sum())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The allocator as its authors build it: the same sources, with every function replaced.
fn build_mimalloc() -> Result<PathBuf> {
    let metadata = process::output(&mut cargo(&["metadata", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let own = packages
        .iter()
        .find(|package| package["name"] == "libmimalloc-sys");
    let manifest = own.and_then(|package| package["manifest_path"].as_str());
    let manifest = Path::new(manifest.context("libmimalloc-sys is not among the packages")?);
    let sources = manifest.with_file_name("c_src").join("mimalloc/v2");
    let library = workspace::root().join("target/bench-preload/libmimalloc.so");
    std::fs::create_dir_all(library.with_file_name(""))?;
    let mut compiler = Command::new("cc");
    compiler
        .args([
            "-O3",
            "-DNDEBUG",
            "-DMI_BUILD_RELEASE",
            "-DMI_MALLOC_OVERRIDE",
            "-DMI_SHARED_LIB",
            "-DMI_SHARED_LIB_EXPORT",
        ])
        .args([
            "-fPIC",
            "-fvisibility=hidden",
            "-fno-builtin-malloc",
            "-ftls-model=initial-exec",
            "-shared",
            "-o",
        ])
        .arg(&library)
        .arg("-I")
        .arg(sources.join("include"))
        .arg(sources.join("src/static.c"))
        .arg("-pthread");
    process::run(&mut compiler)?;
    Ok(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed_and_the_middle_one_counts() {
        assert_eq!(sum("0.5 0.25\n").unwrap(), 0.75);
        assert!(sum("real 1").is_err());
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }
}
