use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pagemill_pager::remote::{Address, Server, ServerConfig, Token, read_metrics};
use pagemill_pager::store::Store;
use pagemill_pager::{Place, Setup};

use super::arguments::{ServeArguments, StatusArguments, TenantArguments};
use crate::daemon::Signals;
use crate::failure::Failure;
use crate::output;

pub fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    let quota = arguments.quota.unwrap_or(u64::MAX);
    let mut tenants = vec![(
        arguments.tenant.tenant.clone(),
        token(&arguments.tenant)?,
        quota,
    )];
    for other in &arguments.others {
        let (name, file) = other
            .split_once('=')
            .ok_or_else(|| Failure::Usage(format!("{other} is no tenant: write NAME=FILE")))?;
        let token = Token::read(Path::new(file)).map_err(usage)?;
        tenants.push((name.to_owned(), token, quota));
    }
    let address: Address = arguments.listen.parse().map_err(usage)?;
    check_network(&address, &arguments.tenant)?;
    let config = ServerConfig {
        address,
        tenants,
        grace: Duration::from_secs(arguments.grace_seconds),
    };
    let store = store(arguments)?;
    let name = store.name();
    let signals = Signals::hear()?;
    let server = Server::start(config, store).map_err(usage)?;
    eprintln!("serving pages at {} from {name}", server.address());
    signals.wait();
    Ok(())
}

/// Refuses bytes that others could read on their way, unless the user wants it.
pub fn check_network(address: &Address, tenant: &TenantArguments) -> Result<(), Failure> {
    if tenant.trust_network || address.is_local() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{address} is no address of this computer alone, and bytes go over the wire as they are: use a tunnel, such as \
         `ssh -N -L 7470:127.0.0.1:7470 HOST` with tcp://127.0.0.1:7470 at both ends, or --trust-network in a network of your own"
    )))
}

fn store(arguments: &ServeArguments) -> Result<Arc<dyn Store>, Failure> {
    if matches!(Place::parse(&arguments.to), Ok(Place::Server(_))) {
        return Err(Failure::Usage(
            "a page server keeps bytes itself: use --to compressed or a folder".to_owned(),
        ));
    }
    let mut setup = Setup::new(0, &arguments.to);
    setup.limit_bytes = arguments.limit.unwrap_or(u64::MAX);
    Ok(Arc::from(setup.store().map_err(usage)?))
}

/// Prints the counters of a server.
pub fn status(arguments: &StatusArguments) -> Result<(), Failure> {
    let address: Address = arguments.server.parse().map_err(usage)?;
    let token = token(&arguments.tenant)?;
    let text = read_metrics(&address, &arguments.tenant.tenant, &token).map_err(usage)?;
    output::print_text(&text)
}

pub fn token(tenant: &TenantArguments) -> Result<Token, Failure> {
    let file = tenant.token_file.as_deref().ok_or_else(|| {
        let make = "(umask 077; openssl rand -hex 32 > token)";
        Failure::Usage(format!(
            "a page server needs a token: make one with `{make}` and name it with --token-file"
        ))
    })?;
    Token::read(file).map_err(usage)
}

pub fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}
