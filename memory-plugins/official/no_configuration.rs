//! Rejects configurations; a module of each official plugin that takes none.

use memory_plugin_abi::v1::Failure;

/// Rejects any configuration that is not empty.
pub(crate) fn check(configuration: &str) -> Result<(), Failure> {
    if matches!(configuration.trim(), "" | "{}") {
        Ok(())
    } else {
        Err(Failure::configuration("this strategy takes no configuration; remove it"))
    }
}
