//! The helper of the kernel module as a program of its own: `pagemill-zero-helper [ENGINE] [--busy]`.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use pagemill_zero::engines;
use pagemill_zero::kernel::{HelperSettings, serve};

fn main() -> ExitCode {
    let mut name = "auto".to_owned();
    let mut busy = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--busy" => busy = true,
            _ if argument.starts_with('-') => {
                eprintln!("usage: pagemill-zero-helper [ENGINE] [--busy]");
                return ExitCode::from(2);
            }
            _ => name = argument,
        }
    }
    match run(&name, busy) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(name: &str, busy: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut engine = engines::by_name(name)?;
    eprintln!("cleaning with engine {}", engine.name());
    let settings = HelperSettings {
        busy,
        batch_pieces: 16,
    };
    serve(engine.as_mut(), settings, &AtomicBool::new(false))?;
    Ok(())
}
