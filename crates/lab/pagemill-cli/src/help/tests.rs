use super::*;

fn leaves(command: &Command, name: &str, found: &mut Vec<String>) {
    let mut subcommands = command
        .get_subcommands()
        .filter(|one| one.get_name() != "help" && !one.is_hide_set())
        .peekable();
    if subcommands.peek().is_none() {
        found.push(name.to_owned());
    }
    subcommands.for_each(|one| leaves(one, &format!("{name} {}", one.get_name()), found));
}

#[test]
fn every_example_is_understood_and_every_command_has_one() {
    for line in EXAMPLES.lines() {
        let read = crate::args::command().try_get_matches_from(line.split(' '));
        assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
    }
    let mut commands = Vec::new();
    leaves(&crate::args::command(), "pagemill", &mut commands);
    for name in commands {
        assert!(
            EXAMPLES.lines().any(|line| line.starts_with(&name)),
            "{name}"
        );
    }
}
