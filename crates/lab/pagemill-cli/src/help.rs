//! `pagemill completions` and `pagemill manual`: what shells and `man` read, made of the arguments themselves.

use std::io::Write;

use std::path::Path;

use clap::Command;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use pagemill_scenario::{BuiltIn, MACHINES, SCENARIOS, transfer_modes};

use crate::failure::Failure;
use crate::output::print;

/// What a shell's script sets when it asks for completions.
const ASKED: &str = "PAGEMILL_COMPLETE";

/// Answers a shell that asks, and ends; does nothing otherwise.
pub fn complete() {
    CompleteEnv::with_factory(|| with_names(crate::args::command()))
        .var(ASKED)
        .complete();
}

/// The script by which a shell asks for completions.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    let shells = Shells::builtins();
    let known = shells.completer(&shell.to_string());
    let script = known.ok_or_else(|| Failure::Usage(format!("no completions for {shell}")))?;
    let written = script.write_registration(ASKED, "pagemill", "pagemill", "pagemill", &mut text);
    written.map_err(|error| Failure::Run(error.to_string()))?;
    print(|out| out.write_all(&text))
}

/// The kind of machine that a command simulates, where it is always the same.
fn kind_of_machine(command: &str) -> Option<&'static str> {
    match command {
        "cuda" | "program" | "pattern" => Some("gpu"),
        "mpi" => Some("nic"),
        _ => None,
    }
}

/// The names that an argument of `command` takes beside files.
fn names(command: &str, argument: &str) -> Option<Vec<&'static str>> {
    let is_meant = |one: &&BuiltIn| {
        kind_of_machine(command).is_none_or(|kind| one.head().is_ok_and(|head| head.kind == kind))
    };
    match argument {
        "machine" if kind_of_machine(command).is_some() => Some(
            MACHINES
                .iter()
                .filter(is_meant)
                .map(|one| one.name)
                .collect(),
        ),
        "scenario" => Some(SCENARIOS.iter().map(|one| one.name).collect()),
        "machine" => Some(MACHINES.iter().map(|one| one.name).collect()),
        "mode" => Some(transfer_modes().map(|(name, _)| name).collect()),
        _ => None,
    }
}

fn with_names(command: Command) -> Command {
    let complete = |names: Vec<&'static str>| {
        ArgValueCompleter::new(move |typed: &std::ffi::OsStr| {
            let begun = names
                .iter()
                .filter(|name| typed.to_str().is_some_and(|typed| name.starts_with(typed)));
            let named = begun.map(CompletionCandidate::new);
            named.chain(PathCompleter::file().complete(typed)).collect()
        })
    };
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| match names(&name, argument.get_id().as_str()) {
        Some(names) => argument.add(complete(names)),
        None => argument,
    });
    command.mut_subcommands(with_names)
}

/// Command lines for the manual, of which a test runs the parser over each.
const EXAMPLES: &str = include_str!("help/examples.txt");

/// Writes a manual page for each command and subcommand into `folder`.
pub fn manuals(folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::Run(format!("cannot write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut command = crate::args::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, "pagemill", folder).map_err(failed)
}

fn write_pages(command: &Command, name: &str, folder: &Path) -> std::io::Result<()> {
    let mut text = Vec::new();
    let page = clap_mangen::Man::new(command.clone());
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    write_sections(command, name, &mut text)?;
    let exits = crate::args::command();
    let exits = exits.get_after_help().map(ToString::to_string);
    let exits = exits.unwrap_or_default().replace("Exit codes: ", "");
    writeln!(text, ".SH \"EXIT STATUS\"\n{}", escaped(&exits))?;
    std::fs::write(folder.join(page.get_filename()), text)?;
    let mut subcommands = command.get_subcommands();
    subcommands.try_for_each(|one| write_pages(one, &format!("{name} {}", one.get_name()), folder))
}

/// One manual page of everything: the command, then each subcommand as a section.
pub fn manual() -> Result<(), Failure> {
    let mut command = crate::args::command();
    command.build();
    print(|out| write_manual(&command, out))
}

fn write_manual(command: &Command, mut out: &mut dyn Write) -> std::io::Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    page.render(&mut out)?;
    write_subcommands(command, "pagemill", out)
}

fn write_subcommands(command: &Command, above: &str, out: &mut dyn Write) -> std::io::Result<()> {
    for subcommand in command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
    {
        let name = format!("{above} {}", subcommand.get_name());
        writeln!(out, ".SH \"{}\"", name.to_uppercase())?;
        write_sections(subcommand, &name, out)?;
        write_subcommands(subcommand, &name, out)?;
    }
    Ok(())
}

/// How `name` is called, what it does, its options, and examples.
fn write_sections(command: &Command, name: &str, mut out: &mut dyn Write) -> std::io::Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let usage = command.clone().render_usage().to_string();
    let usage = escaped(&usage.replace("Usage: ", "").replace("       ", ""));
    writeln!(out, ".SH SYNOPSIS\n.nf\n{usage}\n.fi")?;
    page.render_description_section(&mut out)?;
    page.render_options_section(&mut out)?;
    if command.get_subcommands().next().is_some() {
        page.render_subcommands_section(&mut out)?;
    }
    let is_own = |line: &&str| {
        line.strip_prefix(name)
            .is_some_and(|rest| matches!(rest.get(..1), None | Some(" ")))
    };
    let examples: Vec<String> = EXAMPLES.lines().filter(is_own).map(escaped).collect();
    if !examples.is_empty() {
        writeln!(out, ".SH EXAMPLES\n.nf\n{}\n.fi", examples.join("\n"))?;
    }
    Ok(())
}

/// Text that a manual shows as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    text.replace("\n.", "\n\\&.").replace("\n'", "\n\\&'")
}

#[cfg(test)]
mod tests;
