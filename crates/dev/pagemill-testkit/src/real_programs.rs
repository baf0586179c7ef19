//! Debian's programs as tests of preload libraries: each prints the same with a library as without.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// A script for bash and the files that it needs.
pub struct RealProgram {
    /// What it is called in messages.
    pub name: &'static str,
    /// Without these files it cannot run.
    pub needs: &'static [&'static str],
    /// Runs in an empty folder. Standard output is compared; it prints nothing that varies.
    pub script: &'static str,
}

/// A server with a generated load, a saved copy made by a forked child, and that copy loaded again.
pub const REDIS: RealProgram = RealProgram {
    name: "redis",
    needs: &["/usr/bin/redis-server", "/usr/bin/redis-benchmark"],
    script: r#"
redis-server --port 0 --unixsocket "$PWD/s" --save '' --enable-debug-command local > log 2>&1 &
server=$!
for i in $(seq 300); do redis-cli -s s ping 2> /dev/null | grep -q PONG && break; sleep 0.1; done
redis-cli -s s eval "for i = 1, 3000 do redis.call('set', 'k' .. i, string.rep(i % 10, 3000 + i % 1000)) end" 0
redis-cli -s s eval "for i = 1, 20000 do redis.call('hset', 'h' .. i % 7, i, i * i) end" 0
redis-cli -s s eval "for i = 1, 3000, 3 do redis.call('del', 'k' .. i) end" 0
redis-cli -s s debug digest
redis-benchmark -s s -n 1500 -d 20000 -r 500 -t set,get,lpush -q > bench.txt && echo benchmark ran
redis-cli -s s eval "for i = 0, 500 do redis.call('del', string.format('key:%012d', i)) end redis.call('del', 'mylist')" 0
redis-cli -s s bgsave > /dev/null
for i in $(seq 300); do redis-cli -s s info persistence | grep -q rdb_bgsave_in_progress:0 && break; sleep 0.1; done
redis-cli -s s debug reload
redis-cli -s s debug digest
redis-cli -s s memory purge
redis-cli -s s shutdown nosave
wait $server
"#,
};

/// CPython's tests of mappings, threads and the system, and of queues between forked processes.
pub const CPYTHON: RealProgram = RealProgram {
    name: "CPython's tests",
    needs: &["/usr/lib/python3.11/test/test_mmap.py"],
    script: r#"
run() { /usr/bin/python3.11 -W ignore -m unittest "$@" > log 2>&1 || grep -E "^(FAIL|ERROR)" log; }
run test.test_mmap
run -k test_fork -k ThreadTests.test_various test.test_threading
run -k MmapTests -k ForkTests -k test_pipe -k test_posix_fallocate test.test_os
run -k WithProcessesTestQueue.test_put -k WithProcessesTestValue -k WithProcessesTestHeap test.test_multiprocessing_fork
[ -z "$PAGEMILL_TEST_FULL" ] || run test.test_threading test.test_os test.test_multiprocessing_fork test.test_multiprocessing_spawn
echo done
"#,
};

/// A repository is filled, packed, checked and cloned.
pub const GIT: RealProgram = RealProgram {
    name: "git",
    needs: &["/usr/bin/git"],
    script: r#"
export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' HOME=$PWD
git init -q -b main one && cd one && git config user.email a@b && git config user.name a
for i in $(seq 60); do seq $i 20 20000 > file$i; done
git add . && git commit -qm one
for i in $(seq 30); do seq $i 10 30000 > file$i; done
git commit -qam two && git gc -q --aggressive && git fsck 2> /dev/null
git rev-parse HEAD
cd .. && git clone -q one two && cd two && git log --oneline | cat && git diff --stat HEAD~1 | tail -1
"#,
};

/// A C program is compiled and linked.
pub const GCC: RealProgram = RealProgram {
    name: "gcc",
    needs: &["/usr/bin/gcc"],
    script: r#"
{ echo '#include <stdio.h>'; for i in $(seq 150); do echo "double f$i(double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i] * $i / (s + i); return s; }"; done
  echo 'int main(void) { double x[3] = {1, 2, 3}; printf("%f\n", f1(x, 3) + f150(x, 3)); }'; } > big.c
gcc -O1 -S big.c && sha256sum big.s
gcc -O0 big.c -o big && ./big
"#,
};

/// A database in memory: insert, index, join, delete, vacuum, check.
pub const SQLITE: RealProgram = RealProgram {
    name: "sqlite3",
    needs: &["/usr/bin/sqlite3"],
    script: r#"
sqlite3 :memory: "
CREATE TABLE a AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) SELECT i, i * 7919 % 10007 AS j, hex(i * i) || 'text' AS t FROM n;
CREATE INDEX aj ON a(j); DELETE FROM a WHERE i % 3 = 0;
SELECT count(*), sum(a.j), max(b.t) FROM a JOIN a AS b ON a.j = b.i; VACUUM; PRAGMA integrity_check;
SELECT length(hex(randomblob(3000000))), length(replace(hex(zeroblob(2000000)), '00', 'abc'));
SELECT count(*), sum(length(t)) FROM (SELECT t FROM a ORDER BY t DESC LIMIT 20000);"
"#,
};

/// Options of setpriv for servers that refuse to be root's, such as the capabilities that they keep.
pub const RIGHTS: &str = "SERVER_RIGHTS";

/// A cluster is made and started, and answers queries from several processes. `setpriv` runs without the library: it keeps
/// capabilities in its own thread only, and the C library ends a program whose threads cannot all change their user.
pub const POSTGRESQL: RealProgram = RealProgram {
    name: "PostgreSQL",
    needs: &["/usr/lib/postgresql/15/bin/initdb"],
    script: r#"
export PATH=/usr/lib/postgresql/15/bin:$PATH LC_ALL=C HOME=$PWD
as() { if [ "$(id -u)" = 0 ]; then env -u LD_PRELOAD setpriv --reuid=postgres --regid=postgres --clear-groups $SERVER_RIGHTS env "LD_PRELOAD=$LD_PRELOAD" "$@"; else "$@"; fi; }
[ "$(id -u)" != 0 ] || chown postgres: .
as initdb -D data -U postgres --no-sync > log 2>&1 || cat log
as pg_ctl -D data -w -t 120 -o "-c listen_addresses='' -k $PWD -c fsync=off -c huge_pages=off" -l server.log start > /dev/null || cat server.log
q() { as psql -h "$PWD" -U postgres -Atc "$1"; }
q "create table t as select i, i * 7919 % 10007 as j, repeat(i::text, 5) as s from generate_series(1, 40000) i"
q "set work_mem = '64MB'; select count(*), sum(a.j) from t a join t b on a.j = b.i"
for i in 1 2 3; do q "set work_mem = '32MB'; select sum(length(s)) from (select s from t order by s) x" > $i.txt & done; wait; cat [123].txt
q "select md5(string_agg(s, ',' order by j, i)) from t"
as pg_ctl -D data -m fast -w stop > /dev/null && echo stopped
"#,
};

/// What a program printed.
///
/// # Errors
/// It did not end well: what it said instead.
pub fn run(program: &RealProgram, environment: &[(&str, OsString)]) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let output = Command::new("bash")
        .args(["-c", program.script])
        .current_dir(folder.path())
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .output()
        .map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{}: {}\n{printed}{complaint}",
        program.name, output.status
    ))
}

/// What is missing for a program, if anything is.
pub fn missing(program: &RealProgram) -> Option<&'static str> {
    let needs = program.needs.iter().copied();
    needs.into_iter().find(|need| !Path::new(need).exists())
}

/// A test for each program: it calls `$check` with the program.
#[macro_export]
macro_rules! test_real_programs {
    ($check:path) => {
        #[test]
        fn redis() {
            $check(&$crate::real_programs::REDIS);
        }

        #[test]
        fn cpython() {
            $check(&$crate::real_programs::CPYTHON);
        }

        #[test]
        fn git() {
            $check(&$crate::real_programs::GIT);
        }

        #[test]
        fn gcc() {
            $check(&$crate::real_programs::GCC);
        }

        #[test]
        fn sqlite() {
            $check(&$crate::real_programs::SQLITE);
        }

        #[test]
        fn postgresql() {
            $check(&$crate::real_programs::POSTGRESQL);
        }
    };
}
