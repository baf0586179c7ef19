use std::time::{Duration, Instant};

use super::*;

const LONG: Timespec = Timespec {
    tv_sec: 100,
    tv_nsec: 0,
};

#[test]
fn a_bell_that_rang_before_wakes_at_once_and_only_its_station() {
    let tower = BellTower::build().expect("pipes");
    let path = |descriptor| PathBuf::from(format!("/proc/self/fd/{descriptor}"));
    let bells = Bells::new(tower.descriptors().map(path).collect());
    let bell = bells.of(3).expect("a pipe");
    let begin = Instant::now();
    bell.ring();
    bell.ring();
    bell.sleep(&LONG);
    assert!(begin.elapsed() < Duration::from_secs(50));
    for index in [3, 4] {
        let mut descriptors = [PollFd::new(
            bells.of(index).expect("a pipe").0,
            PollFlags::IN,
        )];
        let none = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        assert_eq!(poll(&mut descriptors, Some(&none)), Ok(0), "{index}");
    }
    assert!(bells.of(STATIONS_MAX as u32).is_none());
}
