//! The macros that make a crate a plugin.

/// Exports a type that implements [`SummarizerPlugin`](crate::v1::SummarizerPlugin) as the summarizer of this library.
/// Use it once in a `cdylib` crate; the strategy's version is the crate's.
///
/// The name is checked at compile time: 1 to 64 of `a-z 0-9 - _ .`
///
/// ```text
/// memory_plugin_abi::export_summarizer! {
///     plugin: MySummarizer,
///     name: "my-summarizer",
///     description: "What it does, in a sentence.",
///     configuration_schema: r#"{"type": "object"}"#,   // may be left out
///     capabilities: Capabilities::CANCELLABLE,         // may be left out
/// }
/// ```
#[macro_export]
macro_rules! export_summarizer {
    ($($fields:tt)*) => { $crate::__export! { summarizer_module, $($fields)* } };
}

/// Exports a type that implements [`ScorerPlugin`](crate::v1::ScorerPlugin) as the importance scorer of this library,
/// with the arguments of [`export_summarizer!`](crate::export_summarizer).
#[macro_export]
macro_rules! export_scorer {
    ($($fields:tt)*) => { $crate::__export! { scorer_module, $($fields)* } };
}

/// Expansion of abi_stable's `export_root_module` attribute, so that a plugin's manifest need not list that crate.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    (
        $module:ident, plugin: $plugin:ty, name: $name:expr, description: $description:expr
        $(, configuration_schema: $schema:expr)? $(, capabilities: $capabilities:expr)? $(,)?
    ) => {
        const _: () = {
            assert!($crate::is_name($name), "a plugin's name is 1 to 64 of a-z, 0-9, '-', '_' and '.'");

            // `cfg!` is evaluated in the plugin's crate, which expands this macro.
            const UNWINDS: $crate::v1::Capabilities = if ::core::cfg!(panic = "unwind") {
                $crate::v1::Capabilities::UNWINDS
            } else {
                $crate::v1::Capabilities::NONE
            };

            fn module() -> $crate::v1::PluginModule_Ref {
                $crate::v1::$module::<$plugin>($crate::v1::Identity {
                    name: $crate::__private::RStr::from_str($name),
                    version: $crate::__private::RStr::from_str(::core::env!("CARGO_PKG_VERSION")),
                    description: $crate::__private::RStr::from_str($description),
                    configuration_schema: $crate::__private::RStr::from_str($crate::__or!(""; $($schema)?)),
                    capabilities: UNWINDS.with($crate::__or!($crate::v1::Capabilities::NONE; $($capabilities)?)),
                })
            }

            extern "C" fn erased_module() -> $crate::__private::RootModuleResult {
                $crate::__private::__call_root_module_loader(module)
            }

            // SAFETY: the name is abi_stable's own for this static, and `erased_module` returns the erased form of
            // the module type named here.
            #[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
            static HEADER: $crate::__private::LibHeader = unsafe {
                $crate::__private::LibHeader::from_constructor::<$crate::v1::PluginModule_Ref>(
                    erased_module,
                    $crate::__private::CheckTypeLayout::Yes,
                )
            };
        };
    };
}

/// The value, or the default if there is none.
#[doc(hidden)]
#[macro_export]
macro_rules! __or {
    ($default:expr;) => {
        $default
    };
    ($default:expr; $value:expr) => {
        $value
    };
}

/// True if a plugin name is valid: 1 to 64 of `a-z 0-9 - _ .`
#[must_use]
pub const fn is_name(name: &str) -> bool {
    let mut rest = name.as_bytes();
    if rest.is_empty() || rest.len() > 64 {
        return false;
    }
    while let [first, others @ ..] = rest {
        if !matches!(first, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.') {
            return false;
        }
        rest = others;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_can_be_written_anywhere() {
        assert!(is_name("key-words_2.0") && is_name(&"x".repeat(64)));
        for bad in ["", "Upper", "a b", "a/b", "é", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn the_exported_name_is_the_one_that_abi_stable_looks_for() {
        let macro_text = include_str!("export.rs");
        let wanted = format!("export_name = \"{}\"", abi_stable::library::ROOT_MODULE_LOADER_NAME);
        assert!(macro_text.contains(&wanted), "the macro must say {wanted}");
    }
}
