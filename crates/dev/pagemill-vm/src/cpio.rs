//! The archive format that the kernel unpacks at boot (`newc`), byte for byte the same for the same contents.

/// An archive in the making.
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
/// When every file was changed last: always the same, and not 0, of which `gzip` complains. In 2004.
const MODIFIED_S: u32 = 1 << 30;

impl Archive {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            bytes: Vec::new(),
            entries: 0,
        }
    }

    /// Adds a folder. Parents come before children.
    pub fn folder(&mut self, path: &str) {
        self.entry(path, FOLDER | 0o755, (0, 0), &[]);
    }

    /// Adds a file that all users may read and run.
    pub fn file(&mut self, path: &str, contents: &[u8]) {
        self.entry(path, FILE | 0o755, (0, 0), contents);
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.entry(path, CHARACTER_DEVICE | 0o600, (major, minor), &[]);
    }

    /// Ends it.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), contents: &[u8]) {
        self.entries += 1;
        let bytes = u32::try_from(contents.len()).expect("a guest's file is under 4 GiB");
        let path_bytes = u32::try_from(path.len() + 1).expect("a path is short");
        // Inode, mode, owner, group, links, time, size, device of the file system, device, length of the path, checksum.
        let fields = [
            self.entries,
            mode,
            0,
            0,
            1,
            MODIFIED_S,
            bytes,
            0,
            0,
            device.0,
            device.1,
            path_bytes,
            0,
        ];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08X}").bytes());
        }
        self.bytes.extend(path.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests;
