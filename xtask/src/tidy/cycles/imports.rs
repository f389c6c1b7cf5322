//! The imports of a `use` declaration.

use syn::UseTree;

/// One leaf of a `use` declaration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// Its name in this module; `None` for a glob and for `as _`.
    pub(super) name: Option<String>,
    pub(super) path: Vec<String>,
    pub(super) is_glob: bool,
}

impl Import {
    /// All leaves of a declaration.
    pub(super) fn all(tree: &UseTree) -> Vec<Self> {
        let mut all = Vec::new();
        add(tree, &[], &mut all);
        all
    }
}

fn add(tree: &UseTree, before: &[String], all: &mut Vec<Import>) {
    let with = |name: &syn::Ident| {
        let mut path = before.to_vec();
        if name != "self" || path.is_empty() {
            path.push(name.to_string());
        }
        path
    };
    let mut leaf = |path: Vec<String>, name: Option<String>| all.push(Import { name, path, is_glob: false });
    match tree {
        UseTree::Path(tree) => add(&tree.tree, &with(&tree.ident), all),
        UseTree::Name(tree) => {
            let path = with(&tree.ident);
            leaf(path.clone(), path.last().cloned());
        }
        UseTree::Rename(tree) => leaf(with(&tree.ident), Some(tree.rename.to_string()).filter(|name| name != "_")),
        UseTree::Glob(_) => all.push(Import { name: None, path: before.to_vec(), is_glob: true }),
        UseTree::Group(group) => group.items.iter().for_each(|tree| add(tree, before, all)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leaf_has_its_path_and_its_name() {
        let declared: syn::ItemUse = syn::parse_str("use a::{self, b::{C as D, E as _}, f::*, g};").unwrap();
        let all = Import::all(&declared.tree);
        let said: Vec<_> = all.iter().map(|i| (i.path.join("::"), i.name.as_deref(), i.is_glob)).collect();
        let expected = [
            ("a", Some("a"), false),
            ("a::b::C", Some("D"), false),
            ("a::b::E", None, false),
            ("a::f", None, true),
            ("a::g", Some("g"), false),
        ];
        assert_eq!(said, expected.map(|(path, name, is_glob)| (path.to_owned(), name, is_glob)));
    }
}
