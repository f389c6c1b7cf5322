//! `memory encrypt` and `memory decrypt`: change how a store is encrypted, in place.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueHint};
use memory::encryption::{EncryptionChange, EncryptionChanged, KeySource, MasterKey, change_encryption};
use memory_store::{LogOptions, LogStore};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Access, failure::Usage, globals::Globals};

/// The variable with the passphrase that `--new-passphrase` locks the store with.
const NEW_PASSPHRASE: &str = "MEMORY_NEW_PASSPHRASE";

/// Encrypts the store in place, with the key that `--key-file` or another option names.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Give an encrypted store new keys of its own, and write all of it again with them; the key that opens it stays
    #[arg(long, conflicts_with = "new_key_file")]
    rotate: bool,
    /// Lock an encrypted store with the key in this file, instead of the one that opens it now
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    new_key_file: Option<PathBuf>,
    /// Lock an encrypted store with the passphrase in the variable `MEMORY_NEW_PASSPHRASE`, instead of the key that opens
    /// it now
    #[arg(long, conflicts_with_all = ["rotate", "new_key_file"])]
    new_passphrase: bool,
}

/// Decrypts the store in place.
#[derive(Debug, ClapArgs)]
pub(crate) struct DecryptArgs {}

/// A store whose encryption was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// The store's directory.
    store: String,
    /// True if it is encrypted now.
    encrypted: bool,
    /// True if the same change had been interrupted, and was completed.
    completed: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    if let Some(file) = &args.new_key_file {
        let new = KeySource::File(file.clone()).read(&globals.store()?)?;
        return change(globals, &EncryptionChange::NewMasterKey(new), "another key opens the store now");
    }
    if args.new_passphrase {
        let given = std::env::var(NEW_PASSPHRASE).ok().filter(|given| !given.is_empty());
        let new = given.ok_or_else(|| Usage(format!("no new passphrase is given: {NEW_PASSPHRASE} gives it")))?;
        let new = MasterKey::from_passphrase(new);
        return change(globals, &EncryptionChange::NewMasterKey(new), "another passphrase opens the store now");
    }
    if args.rotate {
        return change(globals, &EncryptionChange::NewKeys, "the store has new keys, and the same key opens it");
    }
    let done = "the store is encrypted: keep its key, without which it cannot be read again";
    change(globals, &EncryptionChange::Encrypt, done)
}

pub(crate) fn decrypt(globals: &Globals) -> anyhow::Result<()> {
    change(globals, &EncryptionChange::Decrypt, "the store is not encrypted any more")
}

fn change(globals: &Globals, change: &EncryptionChange, done: &str) -> anyhow::Result<()> {
    globals.check_sees_all()?;
    let config = globals.config(Access::Existing)?;
    let Some(key) = &config.key else {
        let why = "no key is named: give --key-file FILE or MEMORY_KEY_FILE (`head -c 32 /dev/urandom > FILE` makes a \
                   key), --key-command or MEMORY_KEY_COMMAND, MEMORY_KEY or MEMORY_PASSPHRASE";
        return Err(Usage(why.to_owned()).into());
    };
    let key = key.read(&config.store)?;
    let options = LogOptions::default().lock_timeout(config.lock_timeout);
    let output = globals.output;
    let bar = output.bar("rewriting");
    let changed = change_encryption(&config.store, options, Some(&key), change, &bar)?;
    bar.finish();
    let completed = changed == EncryptionChanged::Completed;
    if output.json {
        let encrypted = LogStore::is_encrypted_at(&config.store);
        return Ok(output.value(&Answer { store: config.store.display().to_string(), encrypted, completed })?);
    }
    let done =
        if completed { format!("the change that was interrupted was completed: {done}") } else { done.to_owned() };
    Ok(output.line(&done)?)
}
