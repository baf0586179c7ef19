//! A machine as text, on the job's board: `pagemill mpi` writes it, every process of the job reads it.

use pagemill_nic::NicMachine;

/// Why a text is no machine.
#[derive(Debug, thiserror::Error)]
#[error(
    "the job's machine cannot be read ({0}): is the library of another version than `pagemill`?"
)]
pub struct MachineTextError(#[from] serde_json::Error);

/// The text of `machine`, without its network: ranks hand packets to each other, and there is no process for the switches. The
/// command refuses such machines.
///
/// # Errors
/// If it cannot be written, which plain values always can.
pub fn write(machine: &NicMachine) -> Result<String, MachineTextError> {
    Ok(serde_json::to_string(machine)?)
}

/// The machine of a text.
///
/// # Errors
/// A value is missing or none of its kind.
pub fn read(text: &str) -> Result<NicMachine, MachineTextError> {
    Ok(serde_json::from_str(text)?)
}

#[cfg(test)]
mod tests;
