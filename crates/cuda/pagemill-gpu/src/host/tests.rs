use super::*;

fn machine(files: &[(&str, &str)]) -> Option<u64> {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    available_under(root.path())
}

const MEMINFO: (&str, &str) = (
    "proc/meminfo",
    "MemTotal:       2000 kB\nMemAvailable:    1000 kB\n",
);

#[test]
fn the_lesser_of_system_and_group_counts() {
    assert_eq!(machine(&[MEMINFO]), Some(1_024_000));
    let limit = ("sys/fs/cgroup/memory.max", "5000\n");
    let used = ("sys/fs/cgroup/memory.current", "2000\n");
    assert_eq!(machine(&[MEMINFO, limit, used]), Some(3000));
    let unlimited = ("sys/fs/cgroup/memory.max", "max\n");
    assert_eq!(machine(&[MEMINFO, unlimited, used]), Some(1_024_000));
    let old = [
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "700"),
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "900"),
    ];
    assert_eq!(machine(&[MEMINFO, old[0], old[1]]), Some(0));
    assert_eq!(machine(&[limit, used]), Some(3000));
}

#[test]
fn a_system_that_does_not_say_is_not_guessed_about() {
    assert_eq!(machine(&[]), None);
    assert_eq!(
        machine(&[("proc/meminfo", "MemAvailable: many kB\n")]),
        None
    );
    let huge = "MemAvailable: 18446744073709551615 kB\n";
    assert_eq!(machine(&[("proc/meminfo", huge)]), None);
}
