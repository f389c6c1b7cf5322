//! Use of the memory in a prompt.

use memory_core::MemoryUsed;

use super::{Piece, PieceKind, Prompt};

impl Prompt {
    /// Parts of the memory in the prompt besides verbatim messages of the history: recalled messages, standing lines
    /// and summaries, by the ids of their pieces.
    #[must_use]
    pub fn used(&self) -> MemoryUsed {
        let of = |is: fn(PieceKind) -> bool| self.pieces.iter().filter(move |piece| is(piece.kind));
        let count = |is: fn(PieceKind) -> bool| of(is).count() as u64;
        let mut conversations: Vec<_> = self.pieces.iter().filter_map(|piece| piece.conversation.clone()).collect();
        conversations.sort_unstable();
        conversations.dedup();
        MemoryUsed::new(of(is_remembered).map(Piece::id).collect())
            .recalled(count(|kind| kind == PieceKind::Recalled))
            .standing(count(|kind| matches!(kind, PieceKind::Standing | PieceKind::Entry)))
            .summaries(count(|kind| matches!(kind, PieceKind::Summary(_))))
            .conversations(conversations)
    }
}

fn is_remembered(kind: PieceKind) -> bool {
    matches!(kind, PieceKind::Recalled | PieceKind::Standing | PieceKind::Entry | PieceKind::Summary(_))
}
