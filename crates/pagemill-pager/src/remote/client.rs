use std::io::{self, BufReader, BufWriter, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use super::auth::Token;
use super::protocol::{
    BYE, CUT, FREE, FULL, GET, MAGIC, METRICS, OK, PUT, SessionId, UNITS_MAX, VERSION, read_array,
    read_text, read_u8, read_u64,
};
use super::stream::{Address, Connection as _, Stream};
use crate::UNIT_BYTES;
use crate::store::{NO_SLOT, Slot, Store, StoreError, Unit, Usage};

/// How long the server may take for anything.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which session a slot lies in: a child of `fork` has its own, and reads its parent's.
const SESSION_SHIFT: u32 = 48;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// No server answers.
    #[error(
        "cannot reach the page server at {address}: {source}; start `pagemill pager serve` there"
    )]
    Unreachable {
        /// Where.
        address: Address,
        /// What the system said.
        source: io::Error,
    },
    /// The server does not want this client.
    #[error("the page server at {address} refuses: {message}")]
    Refused {
        /// Where.
        address: Address,
        /// What it said.
        message: String,
    },
    /// It speaks another protocol.
    #[error("what answers at {address} is no page server of this version")]
    Stranger {
        /// Where.
        address: Address,
    },
}

/// Units kept by a server.
#[derive(Debug)]
pub struct Remote {
    address: Address,
    tenant: String,
    token: Token,
    /// A parent's first, this process's own last.
    sessions: RwLock<Vec<Arc<Client>>>,
    numbers: Mutex<Numbers>,
    used_bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Numbers {
    next: Slot,
    free: Vec<Slot>,
    in_use: u64,
}

/// Connections to one session: as many as there are threads that use it at a time.
#[derive(Debug)]
struct Client {
    id: SessionId,
    idle: Mutex<Vec<Connection>>,
    /// Numbers of connections that broke, and that the server may still read from.
    broken: Mutex<Vec<u64>>,
}

#[derive(Debug)]
struct Connection {
    input: BufReader<Stream>,
    output: BufWriter<Stream>,
    id: SessionId,
    number: u64,
}

impl Client {
    fn broken(&self) -> MutexGuard<'_, Vec<u64>> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn open(
        address: &Address,
        tenant: &str,
        token: &Token,
        session: SessionId,
    ) -> Result<Self, RemoteError> {
        let unreachable = |source| RemoteError::Unreachable {
            address: address.clone(),
            source,
        };
        let mut stream = Stream::connect(address, PATIENCE).map_err(unreachable)?;
        let magic: [u8; 4] = read_array(&mut stream).map_err(unreachable)?;
        let version: [u8; 4] = read_array(&mut stream).map_err(unreachable)?;
        if magic != MAGIC || u32::from_le_bytes(version) != VERSION {
            let address = address.clone();
            return Err(RemoteError::Stranger { address });
        }
        let challenge: [u8; 32] = read_array(&mut stream).map_err(unreachable)?;
        let proof = token.proof(&challenge, tenant);
        let name = [tenant.len() as u8];
        let hello = [&session[..], &proof, &name, tenant.as_bytes()].concat();
        stream.write_all(&hello).map_err(unreachable)?;
        if read_u8(&mut stream).map_err(unreachable)? != OK {
            let length: [u8; 2] = read_array(&mut stream).map_err(unreachable)?;
            let length = usize::from(u16::from_le_bytes(length));
            let message = read_text(&mut stream, length).map_err(unreachable)?;
            let address = address.clone();
            return Err(RemoteError::Refused { address, message });
        }
        let id = read_array(&mut stream).map_err(unreachable)?;
        let number = read_u64(&mut stream).map_err(unreachable)?;
        let copy = stream.duplicate().map_err(unreachable)?;
        Ok(Self {
            input: BufReader::with_capacity(256 << 10, copy),
            output: BufWriter::with_capacity(256 << 10, stream),
            id,
            number,
        })
    }

    fn request(&mut self, what: u8, slots: &[u64]) -> io::Result<()> {
        self.output.write_all(&[what, slots.len() as u8])?;
        for slot in slots {
            self.output.write_all(&slot.to_le_bytes())?;
        }
        Ok(())
    }

    /// Sends all, then reads all answers: the server works meanwhile.
    fn put(&mut self, units: &[&Unit], slots: &[Slot]) -> io::Result<(u8, u64)> {
        for (units, slots) in units.chunks(UNITS_MAX).zip(slots.chunks(UNITS_MAX)) {
            self.request(PUT, slots)?;
            units
                .iter()
                .try_for_each(|unit| self.output.write_all(&unit[..]))?;
        }
        self.output.flush()?;
        let mut last = (OK, 0);
        for _ in slots.chunks(UNITS_MAX) {
            let status = read_u8(&mut self.input)?;
            last = (last.0.max(status), read_u64(&mut self.input)?);
        }
        Ok(last)
    }

    fn get(&mut self, slots: &[Slot], units: &mut [u8]) -> io::Result<()> {
        let requests = || slots.chunks(UNITS_MAX);
        requests().try_for_each(|slots| self.request(GET, slots))?;
        self.output.flush()?;
        let mut is_whole = true;
        for (slots, units) in requests().zip(units.chunks_mut(UNITS_MAX * UNIT_BYTES)) {
            if read_u8(&mut self.input)? == OK {
                self.input
                    .read_exact(&mut units[..slots.len() * UNIT_BYTES])?;
            } else {
                is_whole = false;
            }
        }
        let missing = || io::Error::new(io::ErrorKind::NotFound, "it does not have them");
        is_whole.then_some(()).ok_or_else(missing)
    }

    fn free(&mut self, slots: &[Slot]) -> io::Result<()> {
        let requests = || slots.chunks(UNITS_MAX);
        requests().try_for_each(|slots| self.request(FREE, slots))?;
        self.output.flush()?;
        requests().try_for_each(|_| read_u8(&mut self.input).map(drop))
    }

    /// The server no longer does what was asked for on the connections of these numbers.
    fn cut(&mut self, broken: &[u64]) -> io::Result<()> {
        for numbers in broken.chunks(UNITS_MAX) {
            self.request(CUT, numbers)?;
            self.output.flush()?;
            read_u8(&mut self.input)?;
        }
        Ok(())
    }
}

/// The server's counters in the text format of Prometheus.
///
/// # Errors
/// As for any connection.
pub fn read_metrics(address: &Address, tenant: &str, token: &Token) -> Result<String, RemoteError> {
    let mut connection = Connection::open(address, tenant, token, SessionId::default())?;
    let mut ask = || {
        connection.request(METRICS, &[])?;
        connection.output.flush()?;
        let length: [u8; 4] = read_array(&mut connection.input)?;
        let text = read_text(&mut connection.input, u32::from_le_bytes(length) as usize)?;
        connection.request(BYE, &[])?;
        connection.output.flush()?;
        read_u8(&mut connection.input)?;
        Ok(text)
    };
    ask().map_err(|source| RemoteError::Unreachable {
        address: address.clone(),
        source,
    })
}

impl Remote {
    /// Connects to a server, under a session of its own.
    ///
    /// # Errors
    /// No server answers, or it refuses.
    pub fn connect(address: &Address, tenant: &str, token: &Token) -> Result<Self, RemoteError> {
        let first = Connection::open(address, tenant, token, SessionId::default())?;
        let remote = Self {
            address: address.clone(),
            tenant: tenant.to_owned(),
            token: token.clone(),
            sessions: RwLock::default(),
            numbers: Mutex::default(),
            used_bytes: AtomicU64::new(0),
        };
        remote.add_session(first);
        Ok(remote)
    }

    fn open(&self, session: SessionId) -> Result<Connection, RemoteError> {
        Connection::open(&self.address, &self.tenant, &self.token, session)
    }

    fn add_session(&self, first: Connection) {
        let client = Client {
            id: first.id,
            idle: Mutex::new(vec![first]),
            broken: Mutex::default(),
        };
        let mut sessions = self
            .sessions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        sessions.push(Arc::new(client));
    }

    fn session(&self, index: usize) -> Arc<Client> {
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&sessions[index])
    }

    fn own_session(&self) -> usize {
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        sessions.len() - 1
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acts on a connection; once more on a new one, if that one is broken. Requests may be repeated: they name all that they change.
    fn with<T>(
        &self,
        session: usize,
        mut act: impl FnMut(&mut Connection) -> io::Result<T>,
    ) -> io::Result<T> {
        let client = self.session(session);
        let idle = || client.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle().pop();
        if let Some(mut connection) = found {
            match act(&mut connection) {
                Ok(result) => {
                    idle().push(connection);
                    return Ok(result);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    idle().push(connection);
                    return Err(error);
                }
                // All others are likely broken as well, but nothing that they were asked for is under way.
                Err(_) => {
                    client.broken().push(connection.number);
                    idle().clear();
                }
            }
        }
        let mut connection = self.replace_broken(&client)?;
        let result = act(&mut connection);
        match &result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                client.broken().push(connection.number);
            }
            _ => idle().push(connection),
        }
        result
    }

    /// A new connection. What the broken ones were asked for cannot happen after this.
    fn replace_broken(&self, client: &Client) -> io::Result<Connection> {
        let mut connection = self.open(client.id).map_err(io::Error::other)?;
        let mut broken = client.broken();
        connection.cut(&broken)?;
        broken.clear();
        Ok(connection)
    }
}

fn session_of(slot: Slot) -> usize {
    (slot >> SESSION_SHIFT) as usize
}

impl Store for Remote {
    fn name(&self) -> String {
        format!("the page server at {}", self.address)
    }

    fn put(&self, units: &[&Unit], slots: &mut [Slot]) -> Result<(), StoreError> {
        if slots.is_empty() {
            return Ok(());
        }
        let own = self.own_session();
        let mut numbers = self.numbers();
        let fresh: Vec<bool> = slots.iter().map(|slot| *slot == NO_SLOT).collect();
        for slot in slots.iter_mut().filter(|slot| **slot == NO_SLOT) {
            let number = numbers.free.pop().unwrap_or_else(|| {
                numbers.next += 1;
                numbers.next
            });
            *slot = (own as u64) << SESSION_SHIFT | number;
            numbers.in_use += 1;
        }
        drop(numbers);
        let result = self.with(own, |connection| connection.put(units, slots));
        let error = match result {
            Ok((OK, used)) => {
                self.used_bytes.store(used, Ordering::Relaxed);
                return Ok(());
            }
            Ok((FULL, used_bytes)) => StoreError::Full {
                store: self.name(),
                used_bytes,
            },
            Ok(_) => StoreError::io("write to", self, io::Error::other("its own store failed")),
            Err(error) => StoreError::io("write to", self, error),
        };
        // The server's copies of these are no longer needed.
        let given: Vec<Slot> = (slots.iter().zip(&fresh))
            .filter(|(_, fresh)| **fresh)
            .map(|(slot, _)| *slot)
            .collect();
        for (slot, fresh) in slots.iter_mut().zip(fresh) {
            if fresh {
                *slot = NO_SLOT;
            }
        }
        self.free(&given);
        Err(error)
    }

    fn get(&self, slots: &[Slot], units: &mut [u8]) -> Result<(), StoreError> {
        let mut done = 0;
        while done < slots.len() {
            let session = session_of(slots[done]);
            let alike = |slot: &&Slot| session_of(**slot) == session;
            let count = slots[done..].iter().take_while(alike).count();
            let slots = &slots[done..done + count];
            let units = &mut units[done * UNIT_BYTES..(done + count) * UNIT_BYTES];
            self.with(session, |connection| connection.get(slots, units))
                .map_err(|error| StoreError::io("read from", self, error))?;
            done += count;
        }
        Ok(())
    }

    fn free(&self, slots: &[Slot]) {
        let own = self.own_session();
        let slots: Vec<Slot> = (slots.iter().copied())
            .filter(|slot| session_of(*slot) == own)
            .collect();
        if slots.is_empty() {
            return;
        }
        // A server that is gone has nothing to give up. The numbers are used again only after it has heard of it.
        if self.with(own, |connection| connection.free(&slots)).is_ok() {
            let mut numbers = self.numbers();
            numbers.in_use -= slots.len() as u64;
            let mask = (1 << SESSION_SHIFT) - 1;
            numbers.free.extend(slots.iter().map(|slot| slot & mask));
        }
    }

    fn usage(&self) -> Usage {
        let units = self.numbers().in_use;
        Usage {
            units,
            bytes: units * UNIT_BYTES as u64,
        }
    }

    fn enter_child(&self) -> Result<(), StoreError> {
        let sessions = self.sessions.read().unwrap_or_else(PoisonError::into_inner);
        let failed = |error| StoreError::io("connect a child to", self, io::Error::other(error));
        for client in sessions.iter() {
            let mut idle = client.idle.lock().unwrap_or_else(PoisonError::into_inner);
            // The parent goes on with them. One of the child's own keeps the parent's session.
            idle.drain(..).for_each(std::mem::forget);
            idle.push(self.open(client.id).map_err(failed)?);
        }
        drop(sessions);
        self.add_session(self.open(SessionId::default()).map_err(failed)?);
        *self.numbers() = Numbers::default();
        Ok(())
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let own = self.own_session();
        // Without this the server keeps the session for a while.
        let _ = self.with(own, |connection| {
            connection.request(BYE, &[])?;
            connection.output.flush()?;
            read_u8(&mut connection.input)
        });
    }
}
