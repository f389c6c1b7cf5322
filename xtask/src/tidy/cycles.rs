//! Checks that no more than four files of a crate use each other in a cycle.
//!
//! A file uses another if it names something that the other defines. Re-exports are followed and are not uses. Code for
//! tests is ignored, and so are methods, which name no file.

mod graph;
mod imports;
mod module;
mod names;
mod paths;

use std::collections::BTreeMap;

use self::{graph::Graph, module::Modules};
use super::fault::Fault;
use super::tree::TreeFile;

/// The most files that may all use each other, directly or not.
const MOST: usize = 4;

pub(super) fn check(files: &[TreeFile]) -> Vec<Fault> {
    let texts = files.iter().filter(|file| file.path.ends_with(".rs"));
    let texts: BTreeMap<&str, &str> = texts.map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let is_root = |path: &&str| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    texts.keys().copied().filter(is_root).flat_map(|root| of_crate(&texts, root)).collect()
}

fn of_crate(texts: &BTreeMap<&str, &str>, root: &str) -> Vec<Fault> {
    let modules = match Modules::read(texts, root) {
        Ok(modules) => modules,
        Err((file, error)) => return vec![Fault::new(file, format!("cannot be read as Rust: {error}"))],
    };
    let mut graph = Graph::default();
    for (number, module) in modules.all.iter().enumerate() {
        for path in &module.used {
            if let Some((file, name)) = modules.definition(number, path) {
                graph.add(&module.file, file, name);
            }
        }
    }
    let source = root.rsplit_once('/').map_or("", |(source, _)| source);
    graph.cycles(MOST).iter().map(|cycle| fault(source, cycle.len(), graph.edges(cycle))).collect()
}

fn fault<'g>(source: &str, files: usize, edges: impl Iterator<Item = (&'g str, &'g str, &'g str)>) -> Fault {
    let short = |file: &'g str| file.strip_prefix(source).unwrap_or(file).trim_start_matches('/');
    let edges = edges.map(|(from, to, name)| format!("\n    {} uses {name} of {}", short(from), short(to)));
    let edges = edges.collect::<String>();
    Fault::new(source, format!("{files} files use each other in a circle; move what one of these uses name:{edges}"))
}

#[cfg(test)]
mod tests;
