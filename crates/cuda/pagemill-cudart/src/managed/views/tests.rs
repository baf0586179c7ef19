use super::*;
use crate::managed::BASE;
use faults::Touched;

/// Beyond what any runtime of this test program places.
const ADDRESS: u64 = BASE + (1 << 43);

#[test]
fn both_views_are_the_same_bytes_and_touches_are_seen_once() {
    let (views, bytes) = Views::map(ADDRESS, 3 * 4096 + 5, 12).expect("there is room");
    assert_eq!(views.cpu(), ADDRESS..ADDRESS + 4 * 4096);
    assert!(Views::map(ADDRESS + 4096, 1, 12).is_err(), "taken");
    let cpu = ADDRESS as *mut u8;
    // SAFETY: the view is open, and inside.
    unsafe { cpu.add(4096).write_volatile(7) };
    assert_eq!(bytes[4096], 7);
    faults::close(views.cpu(), faults::Closed::All).expect("it is mapped");
    bytes[2 * 4096] = 9;
    let mut seen = Vec::new();
    faults::take_touched(views.cpu(), |start, _| seen.push(start));
    assert!(seen.is_empty(), "it was not touched");
    // SAFETY: a fault opens the page.
    assert_eq!(unsafe { cpu.add(2 * 4096).read_volatile() }, 9);
    faults::take_touched(views.cpu(), |start, _| seen.push(start));
    faults::take_touched(views.cpu(), |start, _| seen.push(start));
    assert_eq!(seen, [ADDRESS + 2 * 4096]);
    // Reading a page of shared memory gives it memory, too.
    assert_eq!(views.present(views.cpu()), [false, true, true, false]);
    drop(views);
    drop(Views::map(ADDRESS, 1, 12).expect("it is free again"));
}

#[test]
fn reads_and_writes_are_told_apart() {
    const AT: u64 = ADDRESS + (1 << 32);
    let (views, bytes) = Views::map(AT, 3 * 4096, 12).expect("there is room");
    bytes.fill(1);
    let page = |page: usize| (AT as usize + page * 4096) as *mut u8;
    // SAFETY: the view is mapped, and its faults are answered.
    let read = |at| assert_eq!(unsafe { page(at).read_volatile() }, 1);
    // SAFETY: the view is mapped for writing, and its faults are answered.
    let write = |at, value| unsafe { page(at).write_volatile(value) };
    let seen = || {
        let mut seen = Vec::new();
        faults::take_touched(views.cpu(), |start, how| {
            seen.push(((start - AT) / 4096, how))
        });
        seen
    };
    if faults::close(views.cpu(), faults::Closed::Writes).is_err() {
        return pagemill_testkit::skip("there is no watch for writes alone (Linux 5.19)");
    }
    (0..3).for_each(read);
    assert_eq!(seen(), [], "all may read");
    write(1, 1);
    assert_eq!(seen(), [(1, Touched::Written)]);
    faults::close(views.cpu(), faults::Closed::Apart).expect("it is mapped");
    read(0);
    write(1, 2);
    assert_eq!(seen(), [(0, Touched::Read), (1, Touched::Written)]);
    read(0);
    assert_eq!(seen(), [], "it may read on");
    write(0, 3);
    assert_eq!(seen(), [(0, Touched::Written)]);
    write(0, 4);
    assert_eq!(seen(), [], "it may write on");
    faults::close(views.cpu(), faults::Closed::All).expect("it is mapped");
    write(2, 5);
    assert_eq!(seen(), [(2, Touched::Somehow)]);
    assert_eq!((bytes[0], bytes[4096], bytes[2 * 4096]), (4, 2, 5));
}
