use std::io::{self, BufReader, BufWriter, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use super::auth::Token;
use super::protocol::{
    BYE, CHANGE, CUT, DIFFERS, FREE, FULL, GET, LINE_BYTES, MAGIC, METRICS, OK, PUT, SessionId,
    UNITS_MAX, VERSION, read_array, read_text, read_u8, read_u64,
};
use super::stream::{Address, Connection as _, Stream};
use super::twins::{ALL_LINES, Twins};
use crate::store::{NO_SLOT, Slot, Store, StoreError, Unit, Usage};
use crate::{UNIT_BYTES, record};

/// How long the server may take for anything.
const PATIENCE: Duration = Duration::from_secs(10);

/// Units of a request for some: while they are on their way, the server decompresses those of the next.
const UNITS_A_GET: usize = 16;

/// Room for what is read beyond a status. Units are read past it, into their place.
const INPUT_BYTES: usize = 4 << 10;

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
    twins: Twins,
}

/// A unit on its way to the server: whole, or by its lines that changed.
#[derive(Clone, Copy, Debug)]
struct Parcel<'a> {
    slot: Slot,
    unit: &'a Unit,
    lines: u64,
}

impl Parcel<'_> {
    /// Slot, lines and hash of a change.
    const HEAD_BYTES: usize = 32;

    /// Whether its lines take fewer bytes than the unit.
    fn is_change(&self) -> bool {
        self.lines.count_ones() as usize * LINE_BYTES + Self::HEAD_BYTES < UNIT_BYTES
    }

    /// On the wire.
    fn bytes(&self) -> u64 {
        let bytes = match self.is_change() {
            true => Self::HEAD_BYTES + self.lines.count_ones() as usize * LINE_BYTES,
            false => UNIT_BYTES,
        };
        bytes as u64
    }

    fn write_change(&self, output: &mut impl Write) -> io::Result<()> {
        let [low, high] = record::hash(self.unit, 0);
        for number in [self.slot, self.lines, low, high] {
            output.write_all(&number.to_le_bytes())?;
        }
        let lines = self.unit.chunks_exact(LINE_BYTES).enumerate();
        let mut changed = lines.filter(|(line, _)| self.lines >> line & 1 != 0);
        changed.try_for_each(|(_, line)| output.write_all(line))
    }
}

/// What a server said of parcels.
#[derive(Debug)]
struct Receipt {
    /// The worst of all.
    status: u8,
    /// What the tenant keeps, where the server says.
    used_bytes: Option<u64>,
    sent_bytes: u64,
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
            input: BufReader::with_capacity(INPUT_BYTES, copy),
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

    /// Units by their lines where those are few; once more as a whole where the server has other lines than its client thinks.
    fn put(&mut self, parcels: &[Parcel<'_>]) -> io::Result<Receipt> {
        let (mut receipt, differing) = self.send(parcels)?;
        if !differing.is_empty() {
            let (again, _) = self.send(&differing)?;
            receipt.status = receipt.status.max(again.status);
            receipt.used_bytes = again.used_bytes;
            receipt.sent_bytes += again.sent_bytes;
        }
        Ok(receipt)
    }

    /// Sends all, then reads all answers: the server works meanwhile. Returns, whole, the changes that gave other units than they should.
    fn send<'a>(&mut self, parcels: &[Parcel<'a>]) -> io::Result<(Receipt, Vec<Parcel<'a>>)> {
        let (changes, wholes): (Vec<Parcel<'a>>, Vec<Parcel<'a>>) =
            parcels.iter().copied().partition(Parcel::is_change);
        for changes in changes.chunks(UNITS_MAX) {
            self.output.write_all(&[CHANGE, changes.len() as u8])?;
            let mut changes = changes.iter();
            changes.try_for_each(|parcel| parcel.write_change(&mut self.output))?;
        }
        for wholes in wholes.chunks(UNITS_MAX) {
            let slots: Vec<Slot> = wholes.iter().map(|parcel| parcel.slot).collect();
            self.request(PUT, &slots)?;
            let mut units = wholes.iter().map(|parcel| parcel.unit);
            units.try_for_each(|unit| self.output.write_all(&unit[..]))?;
        }
        self.output.flush()?;
        let mut receipt = Receipt {
            status: OK,
            used_bytes: None,
            sent_bytes: parcels.iter().map(Parcel::bytes).sum(),
        };
        let mut differing = Vec::new();
        for parcel in changes {
            match read_u8(&mut self.input)? {
                DIFFERS => differing.push(Parcel {
                    lines: ALL_LINES,
                    ..parcel
                }),
                status => receipt.status = receipt.status.max(status),
            }
        }
        for _ in wholes.chunks(UNITS_MAX) {
            receipt.status = receipt.status.max(read_u8(&mut self.input)?);
            receipt.used_bytes = Some(read_u64(&mut self.input)?);
        }
        Ok((receipt, differing))
    }

    fn get(&mut self, slots: &[Slot], units: &mut [u8]) -> io::Result<()> {
        let requests = || slots.chunks(UNITS_A_GET);
        requests().try_for_each(|slots| self.request(GET, slots))?;
        self.output.flush()?;
        let mut is_whole = true;
        for (slots, units) in requests().zip(units.chunks_mut(UNITS_A_GET * UNIT_BYTES)) {
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
            twins: Twins::new(0),
        };
        remote.add_session(first);
        Ok(remote)
    }

    /// Sends only the lines of 64 bytes that changed of a unit that the server returned, for as many units as are in frames at a time:
    /// `units`. Takes up 272 bytes for each.
    #[must_use]
    pub fn with_twins(mut self, units: u64) -> Self {
        self.twins = Twins::new(units);
        self
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

    fn put(&self, units: &[&Unit], slots: &mut [Slot]) -> Result<u64, StoreError> {
        if slots.is_empty() {
            return Ok(0);
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
        let parcels = units.iter().zip(&*slots).zip(&fresh);
        let parcels: Vec<Parcel<'_>> = parcels
            .map(|((unit, &slot), is_fresh)| Parcel {
                slot,
                unit,
                lines: match is_fresh {
                    true => ALL_LINES,
                    false => self.twins.changed_lines(slot, unit),
                },
            })
            .collect();
        let result = self.with(own, |connection| connection.put(&parcels));
        if let Ok(Receipt {
            used_bytes: Some(used_bytes),
            ..
        }) = result
        {
            self.used_bytes.store(used_bytes, Ordering::Relaxed);
        }
        let error = match result {
            Ok(Receipt {
                status: OK,
                sent_bytes,
                ..
            }) => return Ok(sent_bytes),
            Ok(Receipt { status: FULL, .. }) => StoreError::Full {
                store: self.name(),
                used_bytes: self.used_bytes.load(Ordering::Relaxed),
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
            let (units, _) = units.as_chunks::<UNIT_BYTES>();
            for (&slot, unit) in slots.iter().zip(units) {
                self.twins.note(slot, unit);
            }
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
