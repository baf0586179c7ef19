use std::fmt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Least length: shorter ones are guessed.
const BYTES_MIN: usize = 16;

/// A secret that a tenant shares with the server. It never goes over the wire.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the token in {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is too short to be a secret.
    #[error(
        "the token has {bytes} bytes: use {BYTES_MIN} or more, such as `openssl rand -hex 32` makes"
    )]
    Short {
        /// Its length.
        bytes: usize,
    },
}

impl Token {
    /// A secret, without blanks around it.
    ///
    /// # Errors
    /// It is too short.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let bytes = text.trim().as_bytes();
        if bytes.len() < BYTES_MIN {
            let bytes = bytes.len();
            return Err(TokenError::Short { bytes });
        }
        Ok(Self(bytes.to_vec()))
    }

    /// No secret, for a server that nothing connects to.
    pub(super) fn empty() -> Self {
        Self(Vec::new())
    }

    /// The secret in a file.
    ///
    /// # Errors
    /// It cannot be read, or is too short.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let text = std::fs::read_to_string(path).map_err(|source| TokenError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::new(&text)
    }

    /// Proves to the peer that chose `challenge` that this side has the token: HMAC-SHA-256 (RFC 2104).
    pub(super) fn proof(&self, challenge: &[u8], tenant: &str) -> [u8; 32] {
        const BLOCK: usize = 64;
        let mut key = [0; BLOCK];
        if self.0.len() > BLOCK {
            key[..32].copy_from_slice(&Sha256::digest(&self.0));
        } else {
            key[..self.0.len()].copy_from_slice(&self.0);
        }
        let inner = Sha256::new()
            .chain_update(key.map(|byte| byte ^ 0x36))
            .chain_update(challenge)
            .chain_update(tenant)
            .finalize();
        let outer = Sha256::new()
            .chain_update(key.map(|byte| byte ^ 0x5c))
            .chain_update(inner);
        outer.finalize().into()
    }

    /// Whether a proof is right. Takes the same time wherever it is wrong.
    pub(super) fn accepts(&self, proof: &[u8; 32], challenge: &[u8], tenant: &str) -> bool {
        let right = self.proof(challenge, tenant);
        let difference = right.iter().zip(proof).fold(0, |all, (a, b)| all | (a ^ b));
        difference == 0
    }
}

#[cfg(test)]
mod tests;
