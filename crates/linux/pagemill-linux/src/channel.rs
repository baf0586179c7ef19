//! Unix sockets that keep messages apart and carry descriptors and credentials.

use std::ffi::CStr;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    accept_with, bind, connect, listen, recvmsg, sendmsg, socket_with,
};

use crate::{OsError, Result};

/// Most descriptors in one message.
pub const DESCRIPTORS_MAX: usize = 64;

/// Who is at the other end, as the kernel knows it since the connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Process; 0 where it lives in a namespace that this process does not see.
    pub process: i32,
    /// User.
    pub user: u32,
    /// Group.
    pub group: u32,
}

/// One message as it came.
#[derive(Debug)]
pub struct Received {
    /// Bytes of the message; 0 where the other end has closed.
    pub bytes: usize,
    /// Descriptors that came with it.
    pub descriptors: Vec<OwnedFd>,
    /// Whether the message, or its descriptors, did not fit.
    pub is_cut: bool,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
}

/// Where connections come in. The socket file is removed when this is dropped.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    path: PathBuf,
}

fn new_socket() -> std::result::Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

impl Channel {
    /// Connects to the socket file `path`.
    ///
    /// # Errors
    /// No process listens there, or this user may not connect.
    pub fn connect(path: &Path) -> Result<Self> {
        let failed = |error: Errno| OsError::new(format!("connect to {}", path.display()), error);
        let socket = new_socket().map_err(failed)?;
        connect(&socket, &SocketAddrUnix::new(path).map_err(failed)?).map_err(failed)?;
        Ok(Self { socket })
    }

    /// Who is at the other end.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn peer(&self) -> Result<Peer> {
        let mut credentials = libc::ucred {
            pid: 0,
            uid: u32::MAX,
            gid: u32::MAX,
        };
        let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `bytes` bytes to a structure of that size. The safe wrapper is of no use:
        // it declares the process number as never 0, which it is for a peer in another namespace.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut credentials).cast(),
                &raw mut bytes,
            )
        };
        if result != 0 {
            let error = std::io::Error::last_os_error();
            return Err(OsError::new("learn who is at the other end", error));
        }
        Ok(Peer {
            process: credentials.pid,
            user: credentials.uid,
            group: credentials.gid,
        })
    }

    /// Sends one message with descriptors, at most [`DESCRIPTORS_MAX`] of them, without waiting for room.
    ///
    /// # Errors
    /// The other end has closed, or has left so much unread that there is no room (`WouldBlock`).
    pub fn send(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<()> {
        let failed = |error| OsError::new(format!("send {} bytes", message.len()), error);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let fits =
            descriptors.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        if !fits {
            return Err(failed(Errno::TOOBIG));
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let parts = [IoSlice::new(message)];
        sendmsg(&self.socket, &parts, &mut ancillary, flags).map_err(failed)?;
        Ok(())
    }

    /// Takes the next message; with `wait`, waits for it.
    ///
    /// # Errors
    /// Nothing has come (`WouldBlock`, only without `wait`), or the connection broke.
    pub fn receive(&self, buffer: &mut [u8], wait: bool) -> Result<Received> {
        let failed = |error| OsError::new("receive a message", error);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut flags = RecvFlags::CMSG_CLOEXEC;
        if !wait {
            flags |= RecvFlags::DONTWAIT;
        }
        let mut parts = [IoSliceMut::new(buffer)];
        let mut next = || {
            rustix::io::retry_on_intr(|| recvmsg(&self.socket, &mut parts, &mut ancillary, flags))
        };
        let message = match next() {
            // Told once, before what was sent last: the other end left with our message unread.
            Err(Errno::CONNRESET) => next(),
            taken => taken,
        };
        let message = message.map_err(failed)?;
        let cut = ReturnFlags::TRUNC | ReturnFlags::CTRUNC;
        let mut descriptors = Vec::new();
        for part in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = part {
                descriptors.extend(sent);
            }
        }
        Ok(Received {
            bytes: message.bytes,
            descriptors,
            is_cut: message.flags.intersects(cut),
        })
    }
}

/// Takes the one descriptor that the process listening at `path` sends to each client. Allocates nothing, so that an allocator can call it.
///
/// # Errors
/// No process listens there, no message arrives within a second, or it holds no descriptor.
pub fn fetch_descriptor(path: &CStr) -> std::result::Result<OwnedFd, Errno> {
    const PATIENCE: Timespec = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let socket = new_socket()?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    let mut polled = [PollFd::new(&socket, PollFlags::IN)];
    if poll(&mut polled, Some(&PATIENCE))? == 0 {
        return Err(Errno::TIMEDOUT);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    recvmsg(&socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let sent = ancillary.drain().find_map(|part| match part {
        RecvAncillaryMessage::ScmRights(mut sent) => sent.next(),
        _ => None,
    });
    sent.ok_or(Errno::BADF)
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Listener {
    /// Listens at `path`. A socket file without a listener is replaced.
    ///
    /// # Errors
    /// A process listens there already, or the folder is not writable.
    pub fn bind(path: &Path, mode: u32) -> Result<Self> {
        let failed = |error: Errno| OsError::new(format!("listen at {}", path.display()), error);
        if path.exists() {
            if Channel::connect(path).is_ok() {
                return Err(failed(Errno::ADDRINUSE).with_hint(
                    "another daemon serves there: stop it, or choose another --socket",
                ));
            }
            remove_socket(path)?;
        }
        let socket = new_socket().map_err(failed)?;
        bind(&socket, &SocketAddrUnix::new(path).map_err(failed)?).map_err(failed)?;
        let listener = Self {
            socket,
            path: path.to_owned(),
        };
        let mode = rustix::fs::Mode::from_raw_mode(mode);
        rustix::fs::chmod(path, mode).map_err(failed)?;
        listen(&listener.socket, 64).map_err(failed)?;
        Ok(listener)
    }

    /// Takes the next connection.
    ///
    /// # Errors
    /// The connection broke before, or this process has too many open files.
    pub fn accept(&self) -> Result<Channel> {
        let socket = accept_with(&self.socket, SocketFlags::CLOEXEC)
            .map_err(|error| OsError::new("accept a connection", error))?;
        Ok(Channel { socket })
    }
}

/// Removes a socket file, and nothing that is not one.
fn remove_socket(path: &Path) -> Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let failed = |error| OsError::new(format!("replace {}", path.display()), error);
    let kind = std::fs::symlink_metadata(path).map_err(failed)?.file_type();
    if !kind.is_socket() {
        return Err(failed(std::io::ErrorKind::AlreadyExists.into())
            .with_hint("it is no socket: choose another --socket"));
    }
    std::fs::remove_file(path).map_err(failed)
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // The file may be gone already; a stale one is replaced by the next daemon.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Waits until one of `descriptors` has something to read or was closed at the other end; says which.
///
/// # Errors
/// The kernel refuses, which it does for too many descriptors.
pub fn wait_readable(descriptors: &[BorrowedFd<'_>], limit: Option<Duration>) -> Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> = descriptors
        .iter()
        .map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN))
        .collect();
    let limit = limit.map(|limit| Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: i64::from(limit.subsec_nanos()),
    });
    match poll(&mut polled, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(OsError::new("wait for messages", error)),
    }
    Ok(polled.iter().map(|fd| !fd.revents().is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_last_is_heard_though_nothing_was_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listener = Listener::bind(&path, 0o600).expect("bound");
        let client = Channel::connect(&path).expect("connected");
        client.send(b"never read", &[]).expect("sent");
        let server = listener.accept().expect("accepted");
        server.send(b"no", &[]).expect("sent");
        drop(server);
        let mut buffer = [0; 16];
        let received = client.receive(&mut buffer, true).expect("received");
        assert_eq!(&buffer[..received.bytes], b"no");
        let end = client.receive(&mut buffer, true).expect("the end");
        assert_eq!(end.bytes, 0);
    }
}
