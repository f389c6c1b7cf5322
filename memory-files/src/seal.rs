//! Keys, and sealing of bytes: XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) under keys that HKDF (RFC 5869) derives.

use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use chacha20::{R20, hchacha};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, Tag, UnboundKey},
    error::Unspecified,
    hkdf::{HKDF_SHA256, Prk, Salt},
};
use zeroize::Zeroize;

/// Bytes of a nonce. They are random: two of 2⁸⁰ nonces of 24 bytes are equal with a probability below 2⁻³², however
/// many processes draw them.
pub const NONCE: usize = 24;
/// Bytes of an authentication tag.
pub const TAG: usize = 16;

/// A key of 32 bytes, which is overwritten in memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct SealKey([u8; 32]);

impl SealKey {
    /// A key of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A random key.
    ///
    /// # Errors
    /// If the system provides no randomness.
    pub fn random() -> io::Result<Self> {
        random().map(Self)
    }

    /// The bytes of the key.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key that HKDF-SHA256 derives from this one, for the purpose that the parts name together.
    #[must_use]
    pub fn derive(&self, purpose: &[&[u8]]) -> Self {
        Deriving::of(self).derive(purpose)
    }

    /// Encrypts `bytes` in place, bound to `place`; returns the tag. A nonce is used once.
    #[must_use]
    pub fn seal(&self, nonce: &[u8; NONCE], place: &[u8], bytes: &mut [u8]) -> [u8; TAG] {
        let sealed = self
            .cipher(nonce)
            .and_then(|(cipher, nonce)| cipher.seal_in_place_separate_tag(nonce, Aad::from(place), bytes));
        // Sealing fails for more bytes than a stream has, 256 GiB. A tag of zeros then opens nothing.
        let mut tag = [0; TAG];
        sealed.into_iter().for_each(|sealed| tag.copy_from_slice(sealed.as_ref()));
        tag
    }

    /// Decrypts `bytes` in place; `false` if they are not what was sealed at `place`, and then they are of no use.
    #[must_use]
    pub fn open(&self, nonce: &[u8; NONCE], place: &[u8], bytes: &mut [u8], tag: &[u8; TAG]) -> bool {
        let opened = self.cipher(nonce).and_then(|(cipher, nonce)| {
            cipher.open_in_place_separate_tag(nonce, Aad::from(place), Tag::from(*tag), bytes, 0..).map(drop)
        });
        opened.is_ok()
    }

    /// The cipher under the key that HChaCha20 makes of the first part of the nonce, and the rest of the nonce.
    fn cipher(&self, nonce: &[u8; NONCE]) -> Result<(LessSafeKey, Nonce), Unspecified> {
        let [first @ .., a, b, c, d, e, f, g, h] = *nonce;
        let mut key = hchacha::<R20>((&self.0).into(), (&first).into());
        let cipher = UnboundKey::new(&CHACHA20_POLY1305, &key).map(LessSafeKey::new);
        key.zeroize();
        Ok((cipher?, Nonce::assume_unique_for_key([0, 0, 0, 0, a, b, c, d, e, f, g, h])))
    }
}

impl Drop for SealKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(..)")
    }
}

/// A key from which many others are derived, with the first step of HKDF done once.
#[derive(Clone)]
pub struct Deriving(Prk);

impl Deriving {
    /// Derivation from `key`.
    #[must_use]
    pub fn of(key: &SealKey) -> Self {
        Self(Salt::new(HKDF_SHA256, &[]).extract(&key.0))
    }

    /// The key for the purpose that the parts name together.
    #[must_use]
    pub fn derive(&self, purpose: &[&[u8]]) -> SealKey {
        let mut key = [0; 32];
        let derived = self.0.expand(purpose, HKDF_SHA256).and_then(|derived| derived.fill(&mut key));
        debug_assert!(derived.is_ok(), "HKDF gives up to 8160 bytes");
        SealKey(key)
    }
}

impl fmt::Debug for Deriving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deriving(..)")
    }
}

/// Random bytes from the operating system.
///
/// # Errors
/// If the system provides no randomness.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Keys of a store by their epochs, shared by all that read and write its files. Without a key nothing is encrypted.
#[derive(Clone, Default)]
pub struct KeySet(Arc<RwLock<Epochs>>);

/// The keys of a [`KeySet`].
#[derive(Default)]
struct Epochs {
    keys: BTreeMap<u32, SealKey>,
    current: u32,
}

impl KeySet {
    /// True if the set has no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read().keys.is_empty()
    }

    /// The epoch whose key encrypts what is written now; 0 if nothing is encrypted.
    #[must_use]
    pub fn current(&self) -> u32 {
        self.read().current
    }

    /// Number of keys.
    #[must_use]
    pub fn count(&self) -> usize {
        self.read().keys.len()
    }

    /// The key of an epoch.
    #[must_use]
    pub fn get(&self, epoch: u32) -> Option<SealKey> {
        self.read().keys.get(&epoch).cloned()
    }

    /// Replaces all keys.
    pub fn set(&self, keys: BTreeMap<u32, SealKey>, current: u32) {
        *self.write() = Epochs { keys, current };
    }

    fn read(&self) -> RwLockReadGuard<'_, Epochs> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Epochs> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet({:?})", self.read().keys.keys())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Golden bytes: what was sealed stays readable.
    #[test]
    fn sealed_bytes_and_derived_keys_never_change() {
        let key = SealKey::new([7; 32]);
        let mut bytes = *b"To Bergen?";
        let tag = key.seal(&[9; NONCE], b"trip 1", &mut bytes);
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        // As an implementation of our own in Python computes them.
        assert_eq!(hex(&bytes), "ea1dc2c819d81e079a2d");
        assert_eq!(hex(&tag), "cea16ad76d97a07fe07296bdf3d90058");
        let derived = "87ed0aa939da1933f87acd5201f237aa16cf2518ac029e04d1fd3878d2e6cc58";
        assert_eq!(hex(key.derive(&[b"one ", b"purpose"]).bytes()), derived);
    }

    #[test]
    fn only_what_was_sealed_opens_and_only_in_its_place() {
        let key = SealKey::random().unwrap();
        let nonce = random().unwrap();
        let mut sealed = b"To Bergen?".to_vec();
        let tag = key.seal(&nonce, b"1", &mut sealed);
        assert_ne!(sealed, b"To Bergen?");
        let open = |key: &SealKey, place: &[u8], bytes: &[u8], tag: &[u8; TAG]| {
            let mut bytes = bytes.to_vec();
            key.open(&nonce, place, &mut bytes, tag).then_some(bytes)
        };
        assert_eq!(open(&key, b"1", &sealed, &tag).as_deref(), Some(&b"To Bergen?"[..]));
        assert_eq!(open(&key, b"2", &sealed, &tag), None);
        assert_eq!(open(&SealKey::random().unwrap(), b"1", &sealed, &tag), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(open(&key, b"1", &changed, &tag), None);
        }
        assert_eq!(open(&key, b"1", &sealed, &[0; TAG]), None);
        assert_eq!(key.derive(&[b"one ", b"purpose"]), key.derive(&[b"one purpose"]));
        assert_ne!(key.derive(&[b"one"]), key.derive(&[b"two"]));
    }

    #[test]
    fn nothing_shows_a_key() {
        let set = KeySet::default();
        set.set([(3, SealKey::new([0x5A; 32]))].into(), 3);
        assert_eq!(format!("{set:?} {:?}", set.get(3)), "KeySet([3]) Some(SealKey(..))");
    }
}
