//! Compressed input, unpacked while it is read.

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::TraceError;

/// Bytes that are looked at to recognize a file.
const HEAD_BYTES: u64 = 64 << 10;
const BUFFER_BYTES: usize = 256 << 10;
/// How often a file may be compressed: there are files that unpack to themselves.
const DEPTH_MAX: u32 = 2;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// What it is called.
    pub name: &'static str,
    /// The command that unpacks it; the file's name follows.
    pub command: &'static str,
}

const GZIP: Compression = Compression {
    name: "gzip",
    command: "gzip -dk",
};
const ZSTD: Compression = Compression {
    name: "zstd",
    command: "zstd -d",
};

impl Compression {
    /// How a file that starts with `head` is compressed, if it is.
    pub fn of(head: &[u8]) -> Option<Self> {
        let other = |name, command| Some(Self { name, command });
        match head {
            [0x1F, 0x8B, 8, ..] => Some(GZIP),
            // A frame, or one that is to be skipped.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(ZSTD),
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => other("xz", "xz -dk"),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => other("bzip2", "bzip2 -dk"),
            [0x04, 0x22, 0x4D, 0x18, ..] | [0x02, 0x21, 0x4C, 0x18, ..] => other("lz4", "lz4 -d"),
            [b'P', b'K', 3, 4, ..] => other("zip", "unzip"),
            [b'7', b'z', 0xBC, 0xAF, 0x27, 0x1C, ..] => other("7-Zip", "7z x"),
            _ => None,
        }
    }
}

/// The first bytes of what a file holds unpacked, and all of it.
pub type Unpacked<'a> = (Vec<u8>, Box<dyn BufRead + 'a>);

/// Unpacks `input`, be it a trace or not, if it is compressed by gzip or zstd.
///
/// # Errors
/// It cannot be read, or is compressed otherwise.
pub fn unpacked<'a>(input: impl Read + 'a) -> Result<Unpacked<'a>, TraceError> {
    let mut known = peeked(input)?;
    for _ in 0..DEPTH_MAX {
        known = match Compression::of(&known.0) {
            None => return Ok(known),
            Some(GZIP) => peeked(MultiGzDecoder::new(known.1))?,
            Some(ZSTD) => peeked(Zstd::new(known.1))?,
            Some(other) => return Err(TraceError::Compressed(other)),
        };
    }
    Compression::of(&known.0).map_or(Ok(known), |again| Err(TraceError::Compressed(again)))
}

fn peeked<'a>(mut input: impl Read + 'a) -> io::Result<Unpacked<'a>> {
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let all = Cursor::new(head.clone()).chain(BufReader::with_capacity(BUFFER_BYTES, input));
    Ok((head, Box::new(all)))
}

/// The frames of a file of zstd, one after the other.
struct Zstd<R> {
    input: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(input: R) -> Self {
        Self {
            input,
            decoder: FrameDecoder::new(),
            is_in_frame: false,
        }
    }

    /// Starts the next frame with data; at the end of the file there is none.
    fn start(&mut self) -> io::Result<()> {
        while !self.is_in_frame && !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => self.is_in_frame = true,
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped = io::copy(&mut self.input.by_ref().take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => {
                    return Err(io::Error::new(
                        ErrorKind::InvalidData,
                        format!("zstd: {error}"),
                    ));
                }
            }
        }
        Ok(())
    }

    fn check(&self) -> io::Result<()> {
        match self.decoder.get_checksum_from_data() {
            Some(sum) if self.decoder.get_calculated_checksum() != Some(sum) => {
                Err(io::Error::new(
                    ErrorKind::InvalidData,
                    "zstd: a frame has another checksum than it says",
                ))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.start()?;
            if !self.is_in_frame || buffer.is_empty() {
                return Ok(0);
            }
            while self.decoder.can_collect() < buffer.len() && !self.decoder.is_finished() {
                let wanted = BlockDecodingStrategy::UptoBytes(buffer.len());
                self.decoder
                    .decode_blocks(&mut self.input, wanted)
                    .map_err(|error| {
                        io::Error::new(ErrorKind::InvalidData, format!("zstd: {error}"))
                    })?;
            }
            let bytes = self.decoder.read(buffer)?;
            if bytes > 0 {
                return Ok(bytes);
            }
            self.check()?;
            self.is_in_frame = false;
        }
    }
}
