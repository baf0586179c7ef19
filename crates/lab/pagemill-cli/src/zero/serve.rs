use std::num::NonZeroUsize;

use pagemill_linux::hugetlb::{HugeSize, Reserve, Stock};
use pagemill_zero::pool::{Config, Pool, Quota, Recycle, ShelfSpec};
use pagemill_zero_bench::engines::by_name;

use super::arguments::ServeArguments;
use super::kernel;
use crate::daemon::{Signals, make_folder_of, socket_mode};
use crate::failure::Failure;

pub fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    let engine = by_name(&arguments.engine).map_err(|error| Failure::Usage(error.to_string()))?;
    let Some(pages) = arguments.pages else {
        return kernel::help(engine, arguments);
    };
    let config = config(arguments, pages)?;
    let signals = Signals::hear()?;
    let reserve = reserve(arguments, &config)?;
    make_folder_of(&config.socket)?;
    let name = engine.name();
    let mut pool = Pool::new(&config, engine).map_err(failed)?;
    signals.end(pool.stopper());
    eprintln!(
        "serving {} pages of {} at {}, engine {name}",
        config.pages(),
        config.size,
        config.socket.display()
    );
    let served = pool
        .run(&mut |told| eprintln!("warning: {told}"))
        .map_err(failed);
    // Its files are closed first, so that their pages are free to go.
    drop(pool);
    match reserve.map(Reserve::give_back) {
        Some(Err(error)) => eprintln!(
            "warning: {error}; the added huge pages stay on record, and the next `pagemill zero serve` gives them back"
        ),
        Some(Ok(notes)) => warn(&notes),
        None => {}
    }
    served
}

fn warn(notes: &[String]) {
    for note in notes {
        eprintln!("warning: {note}");
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Run(error.to_string())
}

fn config(arguments: &ServeArguments, pages: NonZeroUsize) -> Result<Config, Failure> {
    let usage = Failure::Usage;
    let size = HugeSize::parse(&arguments.size).ok_or_else(|| {
        usage(format!(
            "there are no huge pages of {}: use 2M or 1G",
            arguments.size
        ))
    })?;
    let socket = arguments
        .socket
        .clone()
        .unwrap_or_else(pagemill_zero_client::socket_path);
    let mut config = Config::new(socket, size, pages.get());
    if !arguments.shelves.is_empty() {
        let shelves = arguments.shelves.iter().map(|text| shelf(text));
        config.shelves = shelves.collect::<Result<_, _>>()?;
        if config.pages() != pages.get() {
            return Err(usage(format!(
                "the shelves hold {} pages, --pages says {pages}: make them agree",
                config.pages()
            )));
        }
    }
    config.socket_mode = socket_mode(&arguments.socket_mode)?;
    if let Some(pages) = arguments.quota {
        config.quota = Quota::Pages(pages.get());
    }
    if arguments.no_recycle {
        config.recycle = Recycle::Never;
    }
    config.check().map_err(|error| usage(error.to_string()))?;
    Ok(config)
}

fn shelf(text: &str) -> Result<ShelfSpec, Failure> {
    let numbers = text.split_once('=').and_then(|(pages, files)| {
        let pages = pages.parse().ok().filter(|pages| *pages > 0)?;
        Some((pages, files.parse().ok()?))
    });
    let Some((file_pages, files)) = numbers else {
        return Err(Failure::Usage(format!(
            "{text} is no shelf: write PAGES=FILES, such as 32=16"
        )));
    };
    Ok(ShelfSpec { file_pages, files })
}

/// Adds what lacks, or says how.
fn reserve(arguments: &ServeArguments, config: &Config) -> Result<Option<Reserve>, Failure> {
    let pages = config.pages();
    if arguments.reserve {
        let reserve = Reserve::available(config.size, pages).map_err(failed)?;
        warn(reserve.notes());
        return Ok(Some(reserve));
    }
    // Pages that a killed daemon added are not free for this one. Only root can give them back.
    warn(&Reserve::reclaim(config.size).unwrap_or_default());
    let available = Stock::read(config.size).map_err(failed)?.available_pages();
    if available < pages {
        eprintln!(
            "warning: {available} of {pages} huge pages of {} are free: add --reserve, or serve fewer",
            config.size
        );
    }
    Ok(None)
}
