//! Exports encrypted to recipients of age (<https://age-encryption.org/v1>), with the feature `age`.

use std::{
    io::{self, Write},
    path::Path,
};

use clap::Args as ClapArgs;
use memory_store::{ExportFile, ReadLimits};

use crate::failure::Usage;

/// First bytes of a file of age, in binary and as text.
const BEGINNINGS: [&[u8]; 2] = [b"age-encryption.org/v1\n", b"-----BEGIN AGE ENCRYPTED FILE-----"];

/// True if a file begins as one of age does.
pub(crate) fn is_sealed(beginning: &[u8]) -> bool {
    BEGINNINGS.iter().any(|of_age| beginning.starts_with(of_age))
}

/// Recipients who can decrypt an export.
#[derive(Debug, ClapArgs)]
pub(crate) struct Recipients {
    /// Encrypt each file to this recipient of age, `age1…`; may be repeated
    #[cfg(feature = "age")]
    #[arg(long = "recipient", value_name = "AGE1", requires = "output", value_parser = recipient)]
    recipients: Vec<age::x25519::Recipient>,
}

/// Keys that decrypt imported files.
#[derive(Debug, ClapArgs)]
pub(crate) struct Identities {
    /// The file of identities (`age-keygen`) that decrypts exports made with --recipient; may be repeated
    #[cfg(feature = "age")]
    #[arg(long = "identity", value_name = "FILE")]
    identities: Vec<std::path::PathBuf>,
}

/// The output of an export.
pub(crate) enum Sealed<'a> {
    Plain(&'a mut dyn Write),
    #[cfg(feature = "age")]
    ForRecipients(Box<age::stream::StreamWriter<&'a mut dyn Write>>),
}

impl Write for Sealed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            #[cfg(feature = "age")]
            Self::ForRecipients(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            #[cfg(feature = "age")]
            Self::ForRecipients(out) => out.flush(),
        }
    }
}

impl Sealed<'_> {
    /// Writes the end, without which a file of age is damaged.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            #[cfg(feature = "age")]
            Self::ForRecipients(out) => out.finish()?.flush(),
        }
    }
}

#[cfg(not(feature = "age"))]
impl Recipients {
    /// Extension that an encrypted file has after its own.
    pub(crate) const fn extension(&self) -> &'static str {
        ""
    }

    /// The output that the recipients can read.
    pub(crate) fn seal<'a>(&self, out: &'a mut dyn Write) -> anyhow::Result<Sealed<'a>> {
        Ok(Sealed::Plain(out))
    }
}

#[cfg(not(feature = "age"))]
impl Identities {
    /// An export for recipients of age.
    pub(crate) fn open(&self, file: &Path, _: ReadLimits) -> anyhow::Result<ExportFile> {
        let file = file.display();
        let why = "this program was built without the feature `age`";
        Err(Usage(format!("{file} is encrypted with age, and {why}: decrypt it with `age --decrypt` first")).into())
    }
}

#[cfg(feature = "age")]
mod with_age {
    use age::{
        Decryptor, Encryptor, Identity, IdentityFile, Recipient, armor::ArmoredReader, stream::StreamWriter, x25519,
    };
    use anyhow::Context as _;
    use memory_files::{Links, open};

    use super::*;

    /// Most bytes of a file of identities.
    const LONGEST: u64 = 1 << 20;

    /// Parses a recipient.
    pub(super) fn recipient(text: &str) -> Result<x25519::Recipient, String> {
        text.parse().map_err(|why| format!("{why}: a recipient is what `age-keygen -y` prints, `age1…`"))
    }

    impl Recipients {
        /// Extension that an encrypted file has after its own.
        pub(crate) fn extension(&self) -> &'static str {
            if self.recipients.is_empty() { "" } else { ".age" }
        }

        /// The output that the recipients can read.
        pub(crate) fn seal<'a>(&self, out: &'a mut dyn Write) -> anyhow::Result<Sealed<'a>> {
            if self.recipients.is_empty() {
                return Ok(Sealed::Plain(out));
            }
            let recipients = self.recipients.iter().map(|one| one as &dyn Recipient);
            let writer: StreamWriter<_> = Encryptor::with_recipients(recipients)?.wrap_output(out)?;
            Ok(Sealed::ForRecipients(Box::new(writer)))
        }
    }

    impl Identities {
        /// An export for recipients of age.
        pub(crate) fn open(&self, file: &Path, limits: ReadLimits) -> anyhow::Result<ExportFile> {
            let name = file.display().to_string();
            if self.identities.is_empty() {
                return Err(Usage(format!("{name} is encrypted with age: name its key by --identity FILE")).into());
            }
            let mut identities: Vec<Box<dyn Identity>> = Vec::new();
            for path in &self.identities {
                let text = memory_files::read_to_string(path, Links::Follow, LONGEST)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                let read = IdentityFile::from_buffer(text.as_bytes()).map_err(anyhow::Error::from);
                let read = read.and_then(|file| Ok(file.into_identities()?));
                identities.extend(read.with_context(|| format!("{} holds no identities of age", path.display()))?);
            }
            let sealed = open(file, Links::Follow).with_context(|| format!("cannot read {name}"))?;
            let decryptor = Decryptor::new_buffered(ArmoredReader::new(sealed));
            let clear = decryptor.and_then(|of| of.decrypt(identities.iter().map(|one| &**one)));
            let mut clear = clear.with_context(|| format!("cannot decrypt {name}"))?;
            Ok(ExportFile::spool(&name, &mut clear, limits)?)
        }
    }
}

#[cfg(feature = "age")]
use with_age::recipient;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_age_are_recognized_by_their_beginning() {
        assert!(is_sealed(b"age-encryption.org/v1\n-> X25519 abc"));
        assert!(is_sealed(b"-----BEGIN AGE ENCRYPTED FILE-----\n"));
        assert!(!is_sealed(b"{\"format\":\"memory\"}"));
    }
}
