#[cfg(test)]
mod simulated;

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pagemill_linux::prometheus::Metrics;

use super::auth::Token;
use super::host::{Host, Kernel};
use super::protocol::{
    BYE, CHANGE, CUT, DIFFERS, FAILED, FREE, FULL, GET, LINE_BYTES, MAGIC, METRICS, NAME_BYTES_MAX,
    OK, PUT, REFUSED, SessionId, UNITS_MAX, VERSION, read_array, read_text, read_u8, read_u64,
};
use super::sessions::{Line, Refusal, Sessions, Tenant};
use super::stream::{Address, Connection, Incoming, Stream};
use crate::UNIT_BYTES;
use crate::store::Store;

/// How long a client may take to say who it is.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);

/// How often sessions without a connection are examined.
const TICK: Duration = Duration::from_millis(200);

/// Most connections at a time.
const CONNECTIONS_MAX: u64 = 512;

/// What a server serves, and whom.
#[derive(Debug)]
pub struct ServerConfig {
    /// Where clients connect.
    pub address: Address,
    /// Tenants: name, secret, and what they may keep in bytes.
    pub tenants: Vec<(String, Token, u64)>,
    /// How long a session lasts without a connection.
    pub grace: Duration,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be listened at.
    #[error("cannot serve pages at {address}: {source}{hint}")]
    Bind {
        /// The address.
        address: Address,
        /// What the system said.
        source: io::Error,
        /// The next step, if there is one.
        hint: &'static str,
    },
    /// Clients must not be left without a thread that hears them.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// Keeps units for pagers of several tenants, until it is dropped.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: Address,
    threads: Vec<std::thread::JoinHandle<()>>,
}

/// Reads what a client says of itself, until a moment.
struct Greeting<'a, C> {
    stream: &'a mut C,
    host: &'a dyn Host,
    until: Duration,
}

impl<C: Connection> Read for Greeting<'_, C> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_sub(self.host.now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.prepare(Some(left))?;
        self.stream.read(buffer)
    }
}

#[derive(Debug)]
struct Shared {
    sessions: Sessions,
    tenants: Vec<(Arc<Tenant>, Token)>,
    store: Arc<dyn Store>,
    host: Box<dyn Host>,
    grace: Duration,
    is_stopping: AtomicBool,
    connections: AtomicU64,
    /// Streams of clients, ended with the server.
    streams: Mutex<Vec<(u64, Stream)>>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    connections: AtomicU64,
    refused: AtomicU64,
    put_units: AtomicU64,
    put_lines: AtomicU64,
    got_units: AtomicU64,
    full: AtomicU64,
}

impl Server {
    /// Listens, and serves from threads of its own.
    ///
    /// # Errors
    /// The address cannot be listened at.
    pub fn start(config: ServerConfig, store: Arc<dyn Store>) -> Result<Self, ServerError> {
        let failed = |source: io::Error| {
            let hint = match source.kind() {
                io::ErrorKind::AddrInUse => {
                    "; another server is there, or has left its socket file"
                }
                _ => "",
            };
            let address = config.address.clone();
            ServerError::Bind {
                address,
                source,
                hint,
            }
        };
        if let Address::Unix(path) = &config.address {
            remove_stale(path);
        }
        let incoming = Incoming::bind(&config.address).map_err(failed)?;
        let address = incoming.address(&config.address);
        let shared = Arc::new(Shared::new(
            config.tenants,
            config.grace,
            store,
            Box::new(Kernel),
        ));
        let listener = Arc::clone(&shared);
        let reaper = Arc::clone(&shared);
        let threads = vec![
            spawn(move || listener.listen(&incoming))?,
            spawn(move || reaper.reap())?,
        ];
        Ok(Self {
            shared,
            address,
            threads,
        })
    }

    /// Where clients connect.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Counters in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        self.shared.metrics()
    }
}

fn spawn(act: impl FnOnce() + Send + 'static) -> Result<std::thread::JoinHandle<()>, ServerError> {
    let thread = std::thread::Builder::new().name("pagemill-pages".to_owned());
    thread.spawn(act).map_err(ServerError::Thread)
}

/// A socket file without a listener is in the way.
fn remove_stale(path: &Path) {
    use std::os::unix::fs::FileTypeExt;
    let is_socket =
        std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        // Binding says what is wrong if it is still there.
        let _ = std::fs::remove_file(path);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = Stream::connect(&self.address, Duration::from_secs(1));
        for (_, stream) in self.shared.streams().iter() {
            stream.shut_down();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if let Address::Unix(path) = &self.address {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// What a server answers to the `requests` of one session, and the units that its tenant keeps after the session has ended: the
/// protocol behind the greeting, without sockets and clocks. For tests.
pub fn converse(requests: &[u8], store: &Arc<dyn Store>, quota_bytes: u64) -> (Vec<u8>, u64) {
    let tenants = vec![("tenant".to_owned(), Token::empty(), quota_bytes)];
    let shared = Shared::new(tenants, Duration::ZERO, Arc::clone(store), Box::new(Kernel));
    let (id, tenant) = ([1; 16], Arc::clone(&shared.tenants[0].0));
    let line = shared.sessions.open(id, &tenant, &shared.store);
    let mut answers = Vec::new();
    // What ends a connection is the client's affair.
    let _ = shared.answer_all(&mut BufReader::new(requests), &mut answers, id, &line);
    shared.sessions.end(id);
    shared.leave(id, line);
    (answers, tenant.units.load(Ordering::Relaxed))
}

impl Shared {
    fn new(
        tenants: Vec<(String, Token, u64)>,
        grace: Duration,
        store: Arc<dyn Store>,
        host: Box<dyn Host>,
    ) -> Self {
        let tenants = tenants.into_iter().map(|(name, token, quota)| {
            let tenant = Tenant {
                name,
                quota_units: quota / UNIT_BYTES as u64,
                units: AtomicU64::new(0),
            };
            (Arc::new(tenant), token)
        });
        Self {
            sessions: Sessions::default(),
            tenants: tenants.collect(),
            store,
            host,
            grace,
            is_stopping: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            streams: Mutex::default(),
            counts: Counts::default(),
        }
    }

    fn streams(&self) -> std::sync::MutexGuard<'_, Vec<(u64, Stream)>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    fn reap(&self) {
        while !self.is_stopping() {
            std::thread::sleep(TICK);
            self.expire();
        }
    }

    fn expire(&self) {
        self.sessions.expire(self.host.now(), self.grace);
    }

    fn leave(&self, id: SessionId, line: Line) {
        self.sessions.leave(id, line, self.host.now());
    }

    fn listen(self: &Arc<Self>, incoming: &Incoming) {
        let mut number = 0;
        loop {
            let accepted = incoming.accept();
            if self.is_stopping() {
                return;
            }
            let Ok(stream) = accepted else {
                // Too many open files: others may close some.
                std::thread::sleep(TICK);
                continue;
            };
            if self.connections.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
                continue;
            }
            number += 1;
            self.connections.fetch_add(1, Ordering::Relaxed);
            let shared = Arc::clone(self);
            let own = number;
            if let Ok(copy) = stream.duplicate() {
                self.streams().push((own, copy));
            }
            let served = spawn(move || {
                // The end of a connection is the client's affair, whatever it was.
                let _ = shared.serve(stream);
                shared.streams().retain(|(number, _)| *number != own);
                shared.connections.fetch_sub(1, Ordering::Relaxed);
            });
            if served.is_err() {
                self.connections.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Greets a client, and answers it until it leaves.
    fn serve(&self, mut stream: impl Connection) -> io::Result<()> {
        let until = self.host.now() + HELLO_PATIENCE;
        stream.prepare(Some(HELLO_PATIENCE))?;
        let challenge = self.random::<32>()?;
        stream.write_all(&[&MAGIC[..], &VERSION.to_le_bytes(), &challenge].concat())?;
        let mut greeting = Greeting {
            stream: &mut stream,
            host: &*self.host,
            until,
        };
        let asked: SessionId = read_array(&mut greeting)?;
        let proof: [u8; 32] = read_array(&mut greeting)?;
        let bytes = usize::from(read_u8(&mut greeting)?);
        if bytes > NAME_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let name = read_text(&mut greeting, bytes)?;
        let (id, line) = match self.admit(asked, &proof, &challenge, &name) {
            Ok(admitted) => admitted,
            Err(message) => {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                let length = (message.len() as u16).to_le_bytes();
                return stream.write_all(&[&[REFUSED], &length[..], message.as_bytes()].concat());
            }
        };
        self.counts.connections.fetch_add(1, Ordering::Relaxed);
        let greeted = stream
            .write_all(&[&[OK], &id[..], &line.number.to_le_bytes()].concat())
            .and_then(|()| stream.prepare(None))
            .and_then(|()| self.answer_stream(stream, id, &line));
        self.leave(id, line);
        greeted
    }

    fn admit(
        &self,
        asked: SessionId,
        proof: &[u8; 32],
        challenge: &[u8],
        name: &str,
    ) -> Result<(SessionId, Line), &'static str> {
        let known = self.tenants.iter().find(|(tenant, _)| tenant.name == name);
        let admitted = known.filter(|(_, token)| token.accepts(proof, challenge, name));
        let (tenant, _) = admitted.ok_or("the tenant or its token is wrong")?;
        if asked != SessionId::default() {
            let line = self.sessions.join(asked, tenant);
            let lost = "the server does not have this session any more: what it kept is lost";
            return line.map(|line| (asked, line)).ok_or(lost);
        }
        let id = self
            .random()
            .map_err(|_| "the server has no random numbers")?;
        Ok((id, self.sessions.open(id, tenant, &self.store)))
    }

    fn random<const BYTES: usize>(&self) -> io::Result<[u8; BYTES]> {
        let mut bytes = [0; BYTES];
        self.host.fill_random(&mut bytes)?;
        Ok(bytes)
    }

    fn answer_stream(&self, stream: impl Connection, id: SessionId, line: &Line) -> io::Result<()> {
        let mut input = BufReader::with_capacity(128 << 10, stream.duplicate()?);
        let mut output = BufWriter::with_capacity(128 << 10, stream);
        self.answer_all(&mut input, &mut output, id, line)
    }

    fn answer_all(
        &self,
        input: &mut BufReader<impl Read>,
        output: &mut impl Write,
        id: SessionId,
        line: &Line,
    ) -> io::Result<()> {
        loop {
            if input.buffer().is_empty() {
                output.flush()?;
            }
            let Ok(request) = read_u8(input) else {
                return Ok(());
            };
            let count = usize::from(read_u8(input)?);
            if count > UNITS_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            match request {
                PUT => self.put(line, count, input, output)?,
                GET => self.get(line, count, input, output)?,
                FREE => {
                    let freed = line.free(&read_numbers(input, count)?);
                    output.write_all(&[status(freed)])?;
                }
                CHANGE => self.change(line, count, input, output)?,
                CUT => {
                    let cut = line.cut(&read_numbers(input, count)?);
                    output.write_all(&[status(cut)])?;
                }
                METRICS => {
                    let text = self.metrics();
                    output.write_all(&(text.len() as u32).to_le_bytes())?;
                    output.write_all(text.as_bytes())?;
                }
                BYE => {
                    self.sessions.end(id);
                    output.write_all(&[OK])?;
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }

    fn put(
        &self,
        line: &Line,
        count: usize,
        input: &mut impl Read,
        output: &mut impl Write,
    ) -> io::Result<()> {
        let slots = read_numbers(input, count)?;
        let mut bytes = vec![0; count * UNIT_BYTES];
        input.read_exact(&mut bytes)?;
        let status = status(line.put(&slots, &bytes));
        match status {
            OK => &self.counts.put_units,
            _ => &self.counts.full,
        }
        .fetch_add(count as u64, Ordering::Relaxed);
        let used = line.session.tenant.units.load(Ordering::Relaxed) * UNIT_BYTES as u64;
        output.write_all(&[status])?;
        output.write_all(&used.to_le_bytes())
    }

    fn get(
        &self,
        line: &Line,
        count: usize,
        input: &mut impl Read,
        output: &mut impl Write,
    ) -> io::Result<()> {
        let slots = read_numbers(input, count)?;
        let mut answer = vec![0; 1 + count * UNIT_BYTES];
        answer[0] = status(line.get(&slots, &mut answer[1..]));
        if answer[0] == OK {
            let units = &self.counts.got_units;
            units.fetch_add(count as u64, Ordering::Relaxed);
        } else {
            answer.truncate(1);
        }
        output.write_all(&answer)
    }

    fn change(
        &self,
        line: &Line,
        count: usize,
        input: &mut impl Read,
        output: &mut impl Write,
    ) -> io::Result<()> {
        for _ in 0..count {
            let slot = read_u64(input)?;
            let lines = read_u64(input)?;
            let hash = [read_u64(input)?, read_u64(input)?];
            let mut bytes = vec![0; lines.count_ones() as usize * LINE_BYTES];
            input.read_exact(&mut bytes)?;
            let put = &self.counts.put_lines;
            put.fetch_add(u64::from(lines.count_ones()), Ordering::Relaxed);
            output.write_all(&[status(line.change(slot, lines, hash, &bytes))])?;
        }
        Ok(())
    }

    #[rustfmt::skip]
    fn metrics(&self) -> String {
        let counts = &self.counts;
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut metrics = Metrics::new("pagemill_pager_");
        metrics.gauge("sessions", "Sessions.", self.sessions.len());
        metrics.gauge("connections", "Open connections.", get(&self.connections));
        metrics.gauge("stored_bytes", "Bytes that kept units take up.", self.store.usage().bytes);
        metrics.counter("connections_total", "Connections that were admitted.", get(&counts.connections));
        metrics.counter("refused_total", "Connections that were refused.", get(&counts.refused));
        metrics.counter("put_units_total", "Units that were put.", get(&counts.put_units));
        metrics.counter("put_lines_total", "Lines of 64 bytes that were put.", get(&counts.put_lines));
        metrics.counter("got_units_total", "Units that were got.", get(&counts.got_units));
        metrics.counter("full_units_total", "Units refused for want of room.", get(&counts.full));
        let tenants = self.tenants.iter().map(|(tenant, _)| {
            let bytes = get(&tenant.units) * UNIT_BYTES as u64;
            (format!("{{tenant=\"{}\"}}", tenant.name.escape_default()), bytes)
        });
        metrics.family("tenant_bytes", "gauge", "Bytes that a tenant keeps.", tenants);
        metrics.text()
    }
}

fn status(result: Result<(), Refusal>) -> u8 {
    match result {
        Ok(()) => OK,
        Err(Refusal::Full) => FULL,
        Err(Refusal::Failed) => FAILED,
        Err(Refusal::Differs) => DIFFERS,
        Err(Refusal::Cut) => REFUSED,
    }
}

fn read_numbers(input: &mut impl Read, count: usize) -> io::Result<Vec<u64>> {
    (0..count).map(|_| read_u64(input)).collect()
}
