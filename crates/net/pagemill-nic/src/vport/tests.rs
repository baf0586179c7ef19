use super::*;

#[test]
fn a_port_belongs_to_who_opened_it() {
    let mut ports = Ports::new(&PortSpec {
        count: 2,
        on_chip: 2,
    });
    let (first, second) = (ports.open(10), ports.open(20));
    assert_eq!(
        (first, second, ports.open(30)),
        (Some(PortId(0)), Some(PortId(1)), None)
    );
    assert_eq!(ports.check(PortId(0), 10), Ok(()));
    assert_eq!(ports.check(PortId(0), 20), Err(Status::ForeignPort));
    assert!(ports.close(PortId(0)) && !ports.close(PortId(0)));
    assert_eq!(ports.check(PortId(0), 10), Err(Status::ForeignPort));
    assert_eq!(ports.open(30), Some(PortId(0)));
}

#[test]
fn more_ports_than_places_take_turns() {
    let mut ports = Ports::new(&PortSpec {
        count: 8,
        on_chip: 2,
    });
    for process in 0..3 {
        ports.open(process);
    }
    assert!(ports.touch(PortId(0)) && ports.touch(PortId(1)));
    assert!(!ports.touch(PortId(2)));
    assert!(!ports.touch(PortId(0)), "port 2 took its place");
    assert!(ports.touch(PortId(1)));
}
