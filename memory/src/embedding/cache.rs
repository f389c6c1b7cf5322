//! The embedding cache of a store, and the key that hashes its texts.

use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use memory_core::port::Embedder;
use memory_embed::{CacheKey, CachedEmbedder, EmbeddingCache};
use memory_files::Links;
use memory_store::LogStore;

use crate::Config;

/// Name of the key's file in the store's directory. `docs/format.md` defines its bytes.
const KEY: &str = "KEY";

const FIRST_LINE: &str = "memory-key 1";
/// Limit on the bytes of a key file, above its real size.
const LARGEST: u64 = 4096;

/// Puts `embedder` behind the embedding cache of the store that `config` names, unless the cache is turned off.
///
/// Without a key there is no cache; everything else works.
pub(crate) fn cached(config: &Config, store: &LogStore, embedder: Arc<dyn Embedder>) -> Arc<dyn Embedder> {
    let may_write = store.may_write();
    if config.embedding_cache_bytes == 0 {
        return embedder;
    }
    let key = match key(&config.store, may_write) {
        Ok(Some(key)) => key,
        Ok(None) => return embedder,
        Err(error) => {
            tracing::warn!(path = %config.store.join(KEY).display(), %error, "the store has no key: embeddings are not kept");
            return embedder;
        }
    };
    let cache = cache(config, store, key).max_bytes(config.embedding_cache_bytes);
    Arc::new(CachedEmbedder::new(embedder, Arc::new(cache)))
}

/// The embedding cache of the store as derived data. Without the store's key it can be measured and emptied, but no
/// text can be found in it.
pub(crate) fn derived(config: &Config, store: &LogStore) -> EmbeddingCache {
    let key = key(&config.store, false).ok().flatten().unwrap_or_default();
    cache(config, store, key)
}

/// A secret of the store for one purpose; `None` if the store has no key yet and may not be written.
pub(crate) fn secret(store: &Path, purpose: &str, may_write: bool) -> io::Result<Option<[u8; 32]>> {
    Ok(key(store, may_write)?.map(|key| blake3::derive_key(purpose, &key)))
}

fn cache(config: &Config, store: &LogStore, key: [u8; 32]) -> EmbeddingCache {
    let directory = config.store.join("cache").join("embeddings");
    let cache = EmbeddingCache::new(directory, &CacheKey::new(key)).encrypted_with(store.file_keys());
    if store.may_write() { cache } else { cache.read_only() }
}

/// A random key.
pub(crate) fn new_key() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    Ok(key)
}

/// The key of a store, which is created if it is missing and `may_write`. A damaged key is replaced by a new one: the
/// embeddings that were cached under the old key are lost, which is harmless.
fn key(store: &Path, may_write: bool) -> io::Result<Option<[u8; 32]>> {
    let path = store.join(KEY);
    let is_damaged = match memory_files::read(&path, Links::Refuse, LARGEST) {
        Ok(bytes) => match decode(&bytes) {
            Some(key) => return Ok(Some(key)),
            None => true,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    if !may_write {
        return Ok(None);
    }
    let key = new_key()?;
    // Temporary files, and so the key, are readable only by their owner.
    let mut file = tempfile::Builder::new().prefix(".key-").tempfile_in(store)?;
    file.write_all(encode(&key).as_bytes())?;
    file.as_file().sync_all()?;
    if is_damaged {
        file.persist(&path).map_err(|error| error.error)?;
        return Ok(Some(key));
    }
    match file.persist_noclobber(&path) {
        Ok(_) => Ok(Some(key)),
        // Another process created the key first.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Ok(decode(&memory_files::read(&path, Links::Refuse, LARGEST)?))
        }
        Err(error) => Err(error.error),
    }
}

fn encode(key: &[u8; 32]) -> String {
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let body = format!("{FIRST_LINE}\nkey {digits}\n");
    let crc = crc32c::crc32c(body.as_bytes());
    format!("{body}crc32c {crc:08x}\n")
}

fn decode(bytes: &[u8]) -> Option<[u8; 32]> {
    let text = str::from_utf8(bytes).ok()?;
    let digits = text.lines().nth(1)?.strip_prefix("key ")?.as_bytes();
    let mut key = [0; 32];
    let (pairs, _) = digits.as_chunks::<2>();
    for (byte, pair) in key.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    (encode(&key) == text).then_some(key)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_store_has_one_key_for_ever() {
        let store = tempfile::tempdir().unwrap();
        assert_eq!(key(store.path(), false).unwrap(), None);
        let first = key(store.path(), true).unwrap().unwrap();
        assert_eq!(key(store.path(), true).unwrap(), Some(first));
        assert_eq!(key(store.path(), false).unwrap(), Some(first));
        let other = tempfile::tempdir().unwrap();
        assert_ne!(key(other.path(), true).unwrap(), Some(first));
        assert_eq!(fs::read_dir(store.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn a_key_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let store = tempfile::tempdir().unwrap();
        key(store.path(), true).unwrap();
        let mode = fs::metadata(store.path().join(KEY)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }

    #[test]
    fn a_damaged_key_is_replaced() {
        let store = tempfile::tempdir().unwrap();
        let first = key(store.path(), true).unwrap().unwrap();
        let whole = fs::read(store.path().join(KEY)).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert_eq!(decode(&damaged), None, "byte {at}");
            assert_eq!(decode(&whole[..at]), None, "cut at {at}");
        }
        fs::write(store.path().join(KEY), &whole[..20]).unwrap();
        assert_eq!(key(store.path(), false).unwrap(), None);
        let second = key(store.path(), true).unwrap().unwrap();
        assert_ne!(first, second);
        assert_eq!(key(store.path(), true).unwrap(), Some(second));
    }
}
