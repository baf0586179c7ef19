//! What the commands that serve at a socket have in common.

use std::path::Path;

use crate::failure::Failure;

/// Who may connect, from text such as `660`.
pub fn socket_mode(text: &str) -> Result<u32, Failure> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
        .ok_or_else(|| Failure::Usage(format!("{text} is no octal mode such as 660")))
}

/// Makes the folder that a socket is to lie in.
pub fn make_folder_of(socket: &Path) -> Result<(), Failure> {
    match socket.parent() {
        Some(folder) if folder != Path::new("") => std::fs::create_dir_all(folder)
            .map_err(|error| Failure::Run(format!("cannot make {}: {error}", folder.display()))),
        _ => Ok(()),
    }
}
