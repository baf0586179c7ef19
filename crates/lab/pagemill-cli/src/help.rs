//! `pagemill completions` and `pagemill manual`: what shells and `man` read, made of the arguments themselves.

use std::io::Write;

use clap::Command;
use clap_complete::{Shell, generate};

use crate::failure::Failure;
use crate::output::print;

/// The completions of a shell.
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    generate(shell, &mut crate::args::command(), "pagemill", &mut text);
    print(|out| out.write_all(&text))
}

/// The manual page: the command, then each subcommand as a section.
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

fn write_subcommands(
    command: &Command,
    above: &str,
    mut out: &mut dyn Write,
) -> std::io::Result<()> {
    for subcommand in command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
    {
        let name = format!("{above} {}", subcommand.get_name());
        writeln!(out, ".SH \"{}\"", name.to_uppercase())?;
        let page = clap_mangen::Man::new(subcommand.clone());
        page.render_description_section(&mut out)?;
        page.render_synopsis_section(&mut out)?;
        page.render_options_section(&mut out)?;
        write_subcommands(subcommand, &name, out)?;
    }
    Ok(())
}
