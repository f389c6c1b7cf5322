//! Every format, from files in the shapes that its program writes.

mod chat_exports;
mod claude_code;
mod codex;
mod folders;
mod hostile;
mod lists;
mod support;
