//! Sources of the keys of encrypted stores.

use std::{
    fmt, fs,
    io::Read as _,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use memory_core::port::StoreError;
use memory_files::{Links, open};
pub use memory_store::{EncryptionChange, EncryptionChanged, MasterKey, change_encryption, must_open_again};
use zeroize::Zeroizing;

/// Bytes of a key.
const KEY: usize = 32;
/// Most bytes that a command may print.
const MOST_PRINTED: u64 = 4096;
/// Longest time for a command, which may ask a person for a passphrase.
const MOST_TIME: Duration = Duration::from_secs(60);
/// Pause between two checks for the end of a command.
const PAUSE: Duration = Duration::from_millis(2);

/// Source of the key of an encrypted store.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// A key.
    Key(MasterKey),
    /// A file of 32 random bytes.
    File(PathBuf),
    /// A command of the shell that prints the key: 32 bytes, or 64 hexadecimal digits.
    Command(String),
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(_) => f.write_str("Key(..)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            // A command may hold a password.
            Self::Command(_) => f.write_str("Command(..)"),
        }
    }
}

impl KeySource {
    /// The key in 64 hexadecimal digits; `None` for any other text.
    #[must_use]
    pub fn from_hex(digits: &str) -> Option<Self> {
        of_hex(digits.trim().as_bytes()).map(|key| Self::Key(MasterKey::from_bytes(*key)))
    }

    /// Reads the key for a store.
    ///
    /// # Errors
    /// [`StoreError::Key`] with the reason: the file is missing or is no key, or the command failed.
    pub fn read(&self, store: &Path) -> Result<MasterKey, StoreError> {
        let failed = |why: String| StoreError::Key { place: store.into(), why };
        match self {
            Self::Key(key) => Ok(key.clone()),
            Self::File(path) => {
                let shown = path.display();
                let mut bytes = Zeroizing::new(Vec::new());
                let read = open(path, Links::Follow).and_then(|file| file.take(1 + KEY as u64).read_to_end(&mut bytes));
                read.map_err(|error| failed(format!("its key file {shown} cannot be read: {error}")))?;
                warn_of_place(path, store);
                let key = <[u8; KEY]>::try_from(bytes.as_slice());
                key.map(MasterKey::from_bytes).map_err(|_| {
                    let length = fs::metadata(path).map_or(bytes.len() as u64, |file| file.len());
                    failed(format!(
                        "its key file {shown} has {length} bytes, and a key is {KEY} random bytes: \
                         `head -c {KEY} /dev/urandom > FILE` makes a new one"
                    ))
                })
            }
            Self::Command(command) => {
                let printed =
                    printed(command, MOST_TIME).map_err(|why| failed(format!("the command for its key {why}")))?;
                let hex = || of_hex(printed.trim_ascii());
                let key = <[u8; KEY]>::try_from(printed.as_slice()).ok().map(Zeroizing::new).or_else(hex);
                key.map(|key| MasterKey::from_bytes(*key)).ok_or_else(|| {
                    failed(format!("the command for its key printed neither {KEY} bytes nor 64 hexadecimal digits"))
                })
            }
        }
    }
}

/// Warns of a key file that others can read, or that is copied with its store.
fn warn_of_place(file: &Path, store: &Path) {
    let shown = file.display();
    if fs::metadata(file).is_ok_and(|there| there.is_file() && there.permissions().mode() & 0o077 > 0) {
        tracing::warn!("other users may have access to the key file {shown}: `chmod 600 {shown}`");
    }
    let within = |file: PathBuf| fs::canonicalize(store).is_ok_and(|store| file.starts_with(store));
    if fs::canonicalize(file).is_ok_and(within) {
        tracing::warn!("the key file {shown} is in the store that it opens: whoever copies the store has its key");
    }
}

/// The output of a command of the shell, whose errors the user sees.
fn printed(command: &str, at_most: Duration) -> Result<Zeroizing<Vec<u8>>, String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped());
    // A command that asks at the terminal must stay in the group that may read from there.
    let has_terminal = fs::File::open("/dev/tty").is_ok();
    if !has_terminal {
        shell.process_group(0);
    }
    let mut child = shell.spawn().map_err(|error| format!("could not be started: {error}"))?;
    let end = Instant::now() + at_most;
    let (sender, read) = mpsc::channel();
    let out = child.stdout.take();
    thread::spawn(move || {
        let mut printed = Zeroizing::new(Vec::new());
        let read = out.map_or(Ok(0), |out| out.take(MOST_PRINTED).read_to_end(&mut printed));
        drop(sender.send(read.map(|_| printed)));
    });
    let late = || format!("took longer than {} seconds and was stopped", at_most.as_secs());
    let Ok(read) = read.recv_timeout(at_most) else {
        stop(&mut child, !has_terminal);
        return Err(late());
    };
    let ended = loop {
        match child.try_wait().map_err(|error| format!("could not be waited for: {error}"))? {
            Some(ended) => break ended,
            None if Instant::now() >= end => {
                stop(&mut child, !has_terminal);
                return Err(late());
            }
            None => thread::sleep(PAUSE),
        }
    };
    match read {
        Err(error) => Err(format!("could not be read: {error}")),
        Ok(_) if !ended.success() => Err(format!("failed ({ended})")),
        Ok(printed) => Ok(printed),
    }
}

/// Ends a command, with all that it started if it has a process group of its own.
fn stop(child: &mut Child, has_group: bool) {
    let group = format!("-{}", child.id());
    if has_group {
        let killed = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        tracing::debug!(?killed, "the command for a key is stopped");
    }
    drop(child.kill());
    drop(child.wait());
}

fn of_hex(digits: &[u8]) -> Option<Zeroizing<[u8; KEY]>> {
    let mut key = Zeroizing::new([0; KEY]);
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() != KEY || !rest.is_empty() {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(pairs) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_from_a_file_a_command_or_digits_and_an_error_says_what_is_wrong() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let (bytes, hex) = ([0xA7; KEY], "a7".repeat(KEY));
        let expected = MasterKey::from_bytes(bytes);
        fs::write(&path, bytes).unwrap();
        let shown = path.display();
        let sources = [
            KeySource::File(path.clone()),
            KeySource::Command(format!("cat '{shown}'")),
            KeySource::Command(format!("echo {hex}")),
            KeySource::from_hex(&format!("{hex}\n")).unwrap(),
        ];
        for source in sources {
            assert_eq!(source.read(Path::new("store")).unwrap(), expected, "{source:?}");
        }
        assert_eq!(KeySource::from_hex("a7"), None);
        assert_eq!(KeySource::from_hex(&format!("+1{}", "a7".repeat(31))), None);
        fs::write(&path, [1; 33]).unwrap();
        for (source, says) in [
            (KeySource::File(path.clone()), "has 33 bytes"),
            (KeySource::File(directory.path().join("none")), "cannot be read"),
            (KeySource::Command("exit 3".into()), "failed"),
            (KeySource::Command("echo secret".into()), "printed neither"),
        ] {
            let error = source.read(Path::new("store")).unwrap_err();
            assert!(error.to_string().contains(says) && !error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_command_that_takes_too_long_is_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let left = directory.path().join("left");
        // The first closes its output, and the second has a child that keeps it open.
        for command in ["exec >&-; sleep 30", &format!("(sleep 1; touch '{}') & sleep 30", left.display())] {
            let start = Instant::now();
            let why = printed(command, Duration::from_millis(300)).unwrap_err();
            assert!(why.contains("longer than") && start.elapsed() < Duration::from_secs(10), "{why}");
        }
        if fs::File::open("/dev/tty").is_err() {
            thread::sleep(Duration::from_millis(1500));
            assert!(!left.exists(), "its child went on");
        }
    }
}
