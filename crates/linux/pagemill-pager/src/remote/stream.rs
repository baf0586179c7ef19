use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Where a server is: `tcp://HOST:PORT` or `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host and a port.
    Tcp(String),
    /// A socket file.
    Unix(PathBuf),
}

/// Text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} is no address of a page server: write tcp://HOST:PORT or unix:PATH")]
pub struct AddressError {
    text: String,
}

impl Address {
    /// Whether bytes to it stay on this computer. Of a host that has no address, connecting says more.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp(host) => match host.to_socket_addrs() {
                Ok(mut found) => found.all(|address| address.ip().is_loopback()),
                Err(_) => true,
            },
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let error = || AddressError {
            text: text.to_owned(),
        };
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let host = text.strip_prefix("tcp://").ok_or_else(error)?;
        let (name, port) = host.rsplit_once(':').ok_or_else(error)?;
        port.parse::<u16>().map_err(|_| error())?;
        if name.is_empty() {
            return Err(error());
        }
        Ok(Self::Tcp(host.to_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host) => write!(f, "tcp://{host}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// One end of a connection, as far as a server knows it. [`Stream`] is the kernel's; a test may have a simulated one.
pub trait Connection: Read + Write + Sized {
    /// From now on a read or a write fails that waits for longer than `patience`.
    ///
    /// # Errors
    /// The connection broke.
    fn prepare(&self, patience: Option<Duration>) -> io::Result<()>;

    /// The same end once more.
    ///
    /// # Errors
    /// No descriptor is left.
    fn duplicate(&self) -> io::Result<Self>;
}

/// A connection of either kind.
#[derive(Debug)]
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Where connections of either kind come in.
#[derive(Debug)]
pub enum Incoming {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Stream {
    /// Connects; waits at most `patience`, also for each read and write later.
    pub fn connect(address: &Address, patience: Duration) -> io::Result<Self> {
        let stream = match address {
            Address::Unix(path) => Self::Unix(UnixStream::connect(path)?),
            Address::Tcp(host) => {
                let mut last = io::Error::from(io::ErrorKind::NotFound);
                let connected = host.to_socket_addrs()?.find_map(|address| {
                    let stream = TcpStream::connect_timeout(&address, patience);
                    stream.map_err(|error| last = error).ok()
                });
                Self::Tcp(connected.ok_or(last)?)
            }
        };
        stream.prepare(Some(patience))?;
        Ok(stream)
    }

    /// Ends the connection for both sides.
    pub fn shut_down(&self) {
        let both = std::net::Shutdown::Both;
        // It may be at its end already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(both),
            Self::Unix(stream) => stream.shutdown(both),
        };
    }
}

impl Connection for Stream {
    fn prepare(&self, patience: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(patience)?;
                stream.set_write_timeout(patience)
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(patience)?;
                stream.set_write_timeout(patience)
            }
        }
    }

    fn duplicate(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }
}

impl Incoming {
    pub fn bind(address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Tcp(host) => Self::Tcp(TcpListener::bind(host)?),
            Address::Unix(path) => Self::Unix(UnixListener::bind(path)?),
        })
    }

    pub fn accept(&self) -> io::Result<Stream> {
        Ok(match self {
            Self::Tcp(listener) => Stream::Tcp(listener.accept()?.0),
            Self::Unix(listener) => Stream::Unix(listener.accept()?.0),
        })
    }

    /// The address that clients use, with the port that the system chose for port 0.
    pub fn address(&self, asked: &Address) -> Address {
        match self {
            Self::Tcp(listener) => listener
                .local_addr()
                .map_or_else(|_| asked.clone(), |found| Address::Tcp(found.to_string())),
            Self::Unix(_) => asked.clone(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
