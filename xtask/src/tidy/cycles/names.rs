//! Resolves a path to the file that defines what it names.

use super::module::{Module, Modules};

/// The most imports of imports that are followed; more of them are a cycle.
const FOLLOWED: usize = 16;

/// The target of a path.
#[derive(Clone, Copy)]
enum Found<'m> {
    Module(usize),
    /// An item that a module defines under this name.
    Item(&'m Module, &'m str),
}

impl Modules<'_> {
    /// The file that defines what a path of a module names, and its name there; `None` for a module and for items of
    /// other crates.
    pub(super) fn definition(&self, module: usize, path: &[String]) -> Option<(&str, &str)> {
        match self.resolve(module, path, FOLLOWED)? {
            Found::Item(module, name) => Some((&module.file, name)),
            Found::Module(_) => None,
        }
    }

    fn resolve(&self, module: usize, path: &[String], follow: usize) -> Option<Found<'_>> {
        let mut at = module;
        for (place, name) in path.iter().enumerate() {
            at = match name.as_str() {
                "crate" => 0,
                "self" => at,
                "super" => self.all.get(at)?.parent?,
                name => match self.look_up(at, name, place + 1 == path.len(), follow)? {
                    Found::Module(module) => module,
                    item @ Found::Item(..) => return Some(item),
                },
            };
        }
        Some(Found::Module(at))
    }

    /// The meaning of a name in a module. Within a path a module is preferred, at its end anything else.
    fn look_up(&self, at: usize, name: &str, is_last: bool, follow: usize) -> Option<Found<'_>> {
        let follow = follow.checked_sub(1)?;
        let module = self.all.get(at)?;
        let child = module.children.get(name).map(|child| Found::Module(*child));
        if !is_last && child.is_some() {
            return child;
        }
        if let Some(name) = module.items.get(name) {
            return Some(Found::Item(module, name));
        }
        let imports = module.imports.get(name).into_iter().flatten();
        let imported: Vec<_> = imports.filter_map(|path| self.resolve(at, path, follow)).collect();
        let is_wanted = |found: &&Found<'_>| is_last == matches!(found, Found::Item(..));
        let imported = imported.iter().find(is_wanted).or(imported.first()).copied();
        let through_glob = || {
            module.globs.iter().find_map(|glob| match self.resolve(at, glob, follow)? {
                Found::Module(other) if other != at => self.look_up(other, name, is_last, follow),
                _ => None,
            })
        };
        imported.or(child).or_else(through_glob)
    }
}
