"""Borrow clean huge pages from pagemill's pool. Python 3.9 or later, no other package.

    from pagemill_zero import Client

    with Client() as pool:
        with pool.lease(64 << 20) as lease:
            for memory in lease.map():      # mmap objects, one a file, all zeroes
                memory[0] = 1

A lease ends when it is closed, when its client is closed, and when the process ends.
"""

import array
import json
import mmap
import os
import socket

DEFAULT_SOCKET = "/run/pagemill/zero.sock"
MESSAGE_BYTES_MAX = 64 << 10
DESCRIPTORS_MAX = 64


class Refused(Exception):
    """The pool said no. `reason` is one word, such as `exhausted` or `quota`."""

    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason


class Closed(Exception):
    """The pool has closed the connection."""


class Lease:
    """Borrowed files. `descriptors` and `lengths` (bytes) belong together."""

    def __init__(self, client, number, descriptors, lengths):
        self.number = number
        self.descriptors = descriptors
        self.lengths = lengths
        self._client = client
        self._maps = []

    @property
    def bytes(self):
        """Bytes of all files together."""
        return sum(self.lengths)

    def map(self, populate=True):
        """Maps every file, and returns the `mmap` objects."""
        flags = mmap.MAP_SHARED
        if populate:
            flags |= getattr(mmap, "MAP_POPULATE", 0x8000)
        pairs = zip(self.descriptors, self.lengths)
        maps = [mmap.mmap(descriptor, length, flags=flags) for descriptor, length in pairs]
        self._maps.extend(maps)
        return maps

    def close(self):
        """Unmaps what `map` gave, closes the files, and gives the memory back."""
        for mapped in self._maps:
            mapped.close()
        for descriptor in self.descriptors:
            os.close(descriptor)
        self._maps, self.descriptors = [], []
        if self.number is not None:
            number, self.number = self.number, None
            self._client._ask({"op": "return", "lease": number})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Client:
    """A connection to the pool."""

    def __init__(self, path=None):
        path = path or os.environ.get("PAGEMILL_ZERO_SOCKET", DEFAULT_SOCKET)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.connect(path)

    def lease(self, size, page_bytes=2 << 20, single_file=False, wait_ms=0, wait_for="any"):
        """Borrows at least `size` bytes, at once or not at all.

        Raises `Refused` where the pool has too little, and has not more after `wait_ms`. `wait_for="cleaning"` waits only
        while pages that the pool is clearing are enough.
        """
        self._send(
            {
                "op": "lease",
                "bytes": size,
                "page_bytes": page_bytes,
                "single_file": single_file,
                "wait_ms": wait_ms,
                "wait_for": wait_for,
            }
        )
        descriptors, lengths = [], []
        more = True
        while more:
            answer, received = self._receive()
            descriptors.extend(received)
            lengths.extend(answer["files"])
            more = answer["more"]
        if len(descriptors) != len(lengths):
            raise OSError("descriptors were lost: this process has too many open files")
        return Lease(self, answer["lease"], descriptors, lengths)

    def status(self):
        """How the pool stands, as a dictionary."""
        return self._ask({"op": "status"})

    def metrics(self):
        """The same in the text format of Prometheus."""
        return self._ask({"op": "metrics"})["text"]

    def close(self):
        """Ends the connection, and with it all its leases."""
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _ask(self, message):
        self._send(message)
        return self._receive()[0]

    def _send(self, message):
        self._socket.send(json.dumps(message).encode())

    def _receive(self):
        room = socket.CMSG_SPACE(DESCRIPTORS_MAX * array.array("i").itemsize)
        data, ancillary, _, _ = self._socket.recvmsg(
            MESSAGE_BYTES_MAX, room, socket.MSG_CMSG_CLOEXEC
        )
        if not data:
            raise Closed("the pool closed the connection")
        descriptors = array.array("i")
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                whole = len(payload) - len(payload) % descriptors.itemsize
                descriptors.frombytes(payload[:whole])
        answer = json.loads(data)
        if answer["reply"] == "refused":
            raise Refused(answer["reason"], answer["message"])
        return answer, list(descriptors)
