//! Compares the layout of version 1, type by type, with the one recorded when it was frozen.
//!
//! A difference means that this host refuses existing plugins: undo the change, or make a version 2. The recorded file
//! and the golden plugins of `memory-plugins/tests/golden` are never regenerated.
#![cfg(target_pointer_width = "64")]

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::Path,
};

use abi_stable::{StableAbi, library::RootModule, type_layout::TypeLayout};
use memory_plugin_abi::v1::PluginModule_Ref;

/// The layout of every type that a plugin's module reaches, each with its full name before it.
fn layouts() -> BTreeSet<String> {
    let (mut found, mut seen) = (BTreeSet::new(), HashSet::new());
    let mut open: Vec<&'static TypeLayout> = vec![PluginModule_Ref::LAYOUT];
    while let Some(layout) = open.pop() {
        // Not by name: the vtables of two traits have the same one.
        if !seen.insert(std::ptr::from_ref(layout)) {
            continue;
        }
        let name = layout.full_type();
        let mut text =
            format!("{name}: size {} align {} {:?}\n", layout.size(), layout.alignment(), layout.repr_attr());
        let fields = layout.get_fields().map(|fields| fields.to_vec()).unwrap_or_default();
        for field in &fields {
            let functions: Vec<_> = field.function_range().iter().map(|function| function.to_string()).collect();
            let kind = if functions.is_empty() { field.full_type().to_string() } else { functions.join(" ") };
            text += &format!("    {}: {}\n", field.name(), kind.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        found.insert(text);
        open.extend(fields.iter().map(|field| field.layout()));
        open.extend(layout.phantom_fields().iter().map(|field| field.layout()));
        open.extend(layout.shared_vars().type_layouts().iter().map(|layout| layout()));
    }
    found
}

#[test]
fn the_layout_is_the_frozen_one() {
    let mut text = format!("interface {}\n", PluginModule_Ref::VERSION_STRINGS);
    for layout in layouts() {
        text += &format!("\n{layout}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/layout-v1.txt");
    let frozen = fs::read_to_string(&path).unwrap();
    let differs = text.lines().zip(frozen.lines()).find(|(now, then)| now != then);
    assert!(text == frozen, "version 1 is frozen; the first line that differs, now and then: {differs:?}");
}

/// `abi_stable` compares the package versions of types: with another major version, a host would refuse every existing
/// plugin, whatever the layout.
#[test]
fn the_package_keeps_the_major_version_of_the_interface() {
    let versions = [env!("CARGO_PKG_VERSION").to_owned(), PluginModule_Ref::VERSION_STRINGS.to_string()];
    assert!(versions.iter().all(|version| version.starts_with("1.")), "{versions:?}");
}

#[test]
fn the_layout_reaches_what_crosses_the_border() {
    let layouts = layouts();
    for name in ["SummaryJob", "Source", "ScoreJob", "Written", "Failure", "Identity", "Capabilities"] {
        assert!(layouts.iter().any(|reached| reached.starts_with(name)), "{name}");
    }
    let mentions = |what: &str| layouts.iter().any(|layout| layout.contains(what));
    for method in ["summarize:", "score:", "count_tokens:", "is_cancelled:", "log:", "embed:"] {
        assert!(mentions(method), "{method}");
    }
}
