//! Refuses configurations; a module of each official plugin that takes none.

use memory_plugin_abi::v1::Failure;

/// Refuses any configuration but an empty one.
pub(crate) fn check(configuration: &str) -> Result<(), Failure> {
    if matches!(configuration.trim(), "" | "{}") {
        Ok(())
    } else {
        Err(Failure::configuration("this strategy takes no configuration; remove it"))
    }
}
