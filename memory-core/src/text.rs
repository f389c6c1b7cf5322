//! Text: cut, numbered, compared and made safe to show.

mod char_boundary;
mod first_words;
mod grouped;
mod look;
mod nearest;
mod surrogates;
mod visible;

pub use char_boundary::{ceil_char_boundary, floor_char_boundary};
pub use first_words::FirstWords;
pub use grouped::grouped;
pub use look::Look;
pub use nearest::nearest;
pub use surrogates::{mend_surrogates, without_half_surrogates};
pub use visible::{is_hidden, lines, one_line, visible_json};
