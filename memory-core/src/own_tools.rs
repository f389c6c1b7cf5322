//! Names of the tools by which a model reads this memory.

/// Tools by which a model reads or notes something in this memory, without a client's prefix.
///
/// Their calls repeat questions and their results repeat messages, so neither is a hit of a search: the messages that
/// they quote are.
pub const OWN_TOOLS: [&str; 14] = [
    "browse_hierarchy",
    "context",
    "expand_node",
    "find",
    "get_conversation_stats",
    "get_recent_nodes",
    "list_conversations",
    "list_facts",
    "resume",
    "scratchpad_append",
    "scratchpad_read",
    "scratchpad_set",
    "search_memory",
    "show_summaries",
];

/// Names that other servers use as well: with a prefix they are ours only if it names a memory.
const COMMON: [&str; 4] = ["context", "find", "list_conversations", "resume"];

/// True if a tool's name is one of [`OWN_TOOLS`], with or without a client's prefix that ends in a sign, such as
/// `mcp__memory__search_memory`.
///
/// ```
/// assert!(memory_core::is_own_tool("search_memory"));
/// assert!(memory_core::is_own_tool("mcp__memory__find"));
/// assert!(!memory_core::is_own_tool("mcp__files__find"));
/// ```
#[must_use]
pub fn is_own_tool(name: &str) -> bool {
    OWN_TOOLS.iter().any(|own| {
        name.strip_suffix(own).is_some_and(|prefix| {
            let is_joined = prefix.ends_with(|c: char| !c.is_alphanumeric());
            prefix.is_empty() || is_joined && (!COMMON.contains(own) || prefix.to_ascii_lowercase().contains("memory"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_in_a_sign() {
        for name in ["expand_node", "mcp__mem__expand_node", "memory.search_memory", "Memory_find", "m-scratchpad_set"]
        {
            assert!(is_own_tool(name), "{name}");
        }
        for name in ["research_memory", "slack__list_conversations", "refind", "find_file", "Bash", ""] {
            assert!(!is_own_tool(name), "{name}");
        }
        assert!(OWN_TOOLS.is_sorted() && COMMON.iter().all(|name| OWN_TOOLS.contains(name)));
    }
}
