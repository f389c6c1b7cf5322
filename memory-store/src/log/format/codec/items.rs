//! The lists of an event, and the nodes that it names.

use bincode::{
    BorrowDecode, Encode,
    de::{BorrowDecoder, Decode},
    enc::Encoder,
    error::{DecodeError, EncodeError},
};
use memory_core::NodeId;

use super::wire::CodecError;

/// Most entries of a list in an event: children, topics, tags.
const MAX_ITEMS: usize = 1 << 16;

/// A list of at most [`MAX_ITEMS`]. No memory is reserved for items before they are read, because a claimed length is
/// not trusted.
pub(super) struct Items<T>(pub(super) Vec<T>);

impl<T: Encode> Encode for Items<T> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        self.0.encode(encoder)
    }
}

impl<'de, C, T: BorrowDecode<'de, C>> BorrowDecode<'de, C> for Items<T> {
    fn borrow_decode<D: BorrowDecoder<'de, Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let count = u64::decode(decoder)?;
        if count > MAX_ITEMS as u64 {
            return Err(DecodeError::Other("a list of an event has too many items"));
        }
        (0..count).map(|_| T::borrow_decode(decoder)).collect::<Result<_, _>>().map(Self)
    }
}

pub(super) fn bounded(items: usize) -> Result<(), CodecError> {
    if items <= MAX_ITEMS {
        Ok(())
    } else {
        Err(CodecError(format!("a list of an event has at most {MAX_ITEMS} items")))
    }
}

pub(super) fn node_id(position: u64) -> Result<NodeId, CodecError> {
    NodeId::new(position).ok_or_else(|| "a record names node 0".into())
}
