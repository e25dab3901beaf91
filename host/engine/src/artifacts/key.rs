//! The secret key of this installation.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::private_file::{ANYONE_ELSE, replace_file};

pub(super) const MAC_BYTES: usize = 32;
pub(super) const KEY_BYTES: usize = 32;

/// The key of the MACs. It implements no `Debug`, so it cannot be printed.
pub(super) struct MacKey {
    blank: Hmac<Sha256>,
}

impl MacKey {
    /// Reads the key from this file, or creates it. A damaged key, or one that another user could read or replace, is
    /// replaced: it protects only a cache, which can be rebuilt.
    pub(super) fn read_or_create(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if is_ours(&metadata) => return Self::read(File::open(path)?),
            Ok(_) => {
                tracing::warn!(
                    path = %path.display(),
                    "the key of the compiled modules is not a file of 32 bytes that only this user can access; it is replaced, and \
                     modules are compiled again"
                );
                // A folder of this name was not created by the service, so it stays and the call fails.
                fs::remove_file(path)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut key = [0; KEY_BYTES];
        // Uses the system call, since `/dev` may not exist.
        rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())?;
        replace_file(path, &[&key])?;
        Self::read(key.as_slice())
    }

    fn read(mut from: impl io::Read) -> io::Result<Self> {
        let mut key = [0; KEY_BYTES];
        from.read_exact(&mut key)?;
        Ok(Self { blank: Hmac::new_from_slice(&key).map_err(io::Error::other)? })
    }

    /// Returns the MAC of the concatenated parts. All parts but the last must have a fixed length.
    pub(super) fn mac(&self, parts: &[&[u8]]) -> [u8; MAC_BYTES] {
        self.over(parts).finalize().into_bytes().into()
    }

    /// Verifies the MAC of these parts in constant time.
    pub(super) fn verifies(&self, mac: &[u8], parts: &[&[u8]]) -> bool {
        self.over(parts).verify_slice(mac).is_ok()
    }

    fn over(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.blank.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac
    }
}

fn is_ours(metadata: &fs::Metadata) -> bool {
    metadata.is_file()
        && metadata.len() == KEY_BYTES as u64
        && metadata.permissions().mode() & ANYONE_ELSE == 0
        && metadata.uid() == rustix::process::geteuid().as_raw()
}
