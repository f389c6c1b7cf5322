//! One value as the bytes of a record, through bincode, and back.

use bincode::{
    BorrowDecode, Encode,
    config::{Configuration, Limit, LittleEndian, Varint},
    enc::write::Writer,
    error::{DecodeError, EncodeError},
};

use crate::log::format::frame::{MAX_RECORD, RECORD_HEADER, finish_record};

/// Bytes that decoding one record may claim, memory for its lists included. Without a limit a few corrupt bytes ask for
/// more memory than there is and end the process.
const LIMIT: usize = 2 * MAX_RECORD;

/// Little-endian, integers in 1 to 9 bytes.
pub(super) const CONFIG: Config =
    bincode::config::standard().with_little_endian().with_variable_int_encoding().with_limit::<LIMIT>();

pub(super) type Config = Configuration<LittleEndian, Varint, Limit<LIMIT>>;

/// Version of each record's first wire type. A changed type gets the next number and keeps the old one readable.
pub(super) const VERSION: u8 = 1;

/// Version of a view that shows other conversations.
pub(super) const VIEW_ELSEWHERE: u8 = 2;

/// Version of a view that shows something between messages of its history.
pub(super) const VIEW_ATTACHED: u8 = 3;

/// The number of each kind of record. Reserved: 8 fact, 9 embedding model registered, 12 checkpoint marker.
pub(super) mod kind {
    pub(crate) const OPENED: u8 = 1;
    pub(crate) const MESSAGE: u8 = 2;
    pub(crate) const SUMMARY: u8 = 3;
    pub(crate) const IMPORTANCE: u8 = 4;
    pub(crate) const PIN: u8 = 5;
    pub(crate) const TITLE: u8 = 6;
    pub(crate) const TAGS: u8 = 7;
    pub(crate) const VIEW: u8 = 10;
    pub(crate) const ERASED: u8 = 11;
    pub(crate) const LOST: u8 = 13;
    pub(crate) const FORKED: u8 = 14;
    pub(crate) const OWNED: u8 = 15;
    pub(crate) const NOTE: u8 = 16;
    pub(crate) const ERASED_MESSAGE: u8 = 17;
    pub(crate) const ERASED_EVENT: u8 = 18;
    pub(crate) const DISABLED: u8 = 19;

    /// All that this version reads.
    pub(crate) const KNOWN: [u8; 16] = [
        OPENED,
        MESSAGE,
        SUMMARY,
        IMPORTANCE,
        PIN,
        TITLE,
        TAGS,
        VIEW,
        ERASED,
        LOST,
        FORKED,
        OWNED,
        NOTE,
        ERASED_MESSAGE,
        ERASED_EVENT,
        DISABLED,
    ];

    /// The newest version of a known kind that this version reads.
    pub(crate) const fn newest(kind: u8) -> u8 {
        if kind == VIEW { super::VIEW_ATTACHED } else { super::VERSION }
    }
}

/// Why bytes with a right checksum cannot be decoded by this version, or why a value cannot be encoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CodecError(pub(crate) String);

impl From<&str> for CodecError {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

pub(super) fn encode<T: Encode>(kind: u8, value: &T) -> Result<Vec<u8>, CodecError> {
    let mut record = Vec::new();
    encode_onto(&mut record, [kind, VERSION], value)?;
    Ok(record)
}

/// Appends a whole record of this kind and version to `out`. On failure `out` is as it was.
pub(super) fn encode_onto<T: Encode>(out: &mut Vec<u8>, sort: [u8; 2], value: &T) -> Result<(), CodecError> {
    struct Onto<'a>(&'a mut Vec<u8>);

    impl Writer for Onto<'_> {
        fn write(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }
    }

    let start = out.len();
    out.extend_from_slice(&[0; RECORD_HEADER]);
    out.extend_from_slice(&sort);
    let encoded = bincode::encode_into_writer(value, Onto(out), CONFIG);
    let length = out.len() - start;
    let finished = encoded.map_err(|error| CodecError(error.to_string())).and_then(|()| {
        out.get_mut(start..)
            .and_then(finish_record)
            .ok_or_else(|| CodecError(format!("it takes {length} bytes, and a record has at most {MAX_RECORD}")))
    });
    if finished.is_err() {
        out.truncate(start);
    }
    finished
}

/// One value that takes all of `bytes`.
pub(super) fn whole<'a, T: BorrowDecode<'a, ()>>(bytes: &'a [u8]) -> Result<T, CodecError> {
    match bincode::borrow_decode_from_slice(bytes, CONFIG) {
        Ok((value, read)) if read == bytes.len() => Ok(value),
        Ok(_) => Err(CodecError("a record has bytes after its end".into())),
        Err(error) => Err(undecodable(error)),
    }
}

#[cold]
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn undecodable(error: DecodeError) -> CodecError {
    CodecError(format!("a record cannot be decoded: {error}"))
}
