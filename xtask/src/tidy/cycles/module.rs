//! The modules of a crate, read from its root as the compiler finds them, without those of tests.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Attribute, Item, ItemMod, Meta, Visibility, visit::Visit};

use super::{imports::Import, paths::Paths};

/// A module in its own file or in braces.
#[derive(Default)]
pub(super) struct Module {
    /// Its file.
    pub(super) file: String,
    pub(super) parent: Option<usize>,
    pub(super) children: BTreeMap<String, usize>,
    /// Names that are defined in it.
    pub(super) items: BTreeSet<String>,
    /// The meanings of imported names; one name may be both a module and a function.
    pub(super) imports: BTreeMap<String, Vec<Vec<String>>>,
    pub(super) globs: Vec<Vec<String>>,
    /// Paths that are used, including those of private imports.
    pub(super) used: Vec<Vec<String>>,
}

/// All modules of a crate, its root first. A module whose file is not among the texts is ignored.
pub(super) struct Modules<'t> {
    texts: &'t BTreeMap<&'t str, &'t str>,
    pub(super) all: Vec<Module>,
}

impl<'t> Modules<'t> {
    /// Reads a crate from its root file.
    ///
    /// # Errors
    /// When a file is not valid Rust; the error gives the file and the reason.
    pub(super) fn read(texts: &'t BTreeMap<&'t str, &'t str>, root: &str) -> Result<Self, (String, syn::Error)> {
        let mut modules = Self { texts, all: Vec::new() };
        let directory = root.rsplit_once('/').map_or("", |(directory, _)| directory);
        modules.read_file(root, directory, None)?;
        Ok(modules)
    }

    fn read_file(
        &mut self,
        file: &str,
        directory: &str,
        parent: Option<usize>,
    ) -> Result<Option<usize>, (String, syn::Error)> {
        let Some(text) = self.texts.get(file) else { return Ok(None) };
        let parsed = syn::parse_file(text).map_err(|error| (file.to_owned(), error))?;
        self.add(file, directory, parent, &parsed.items).map(Some)
    }

    fn add(
        &mut self,
        file: &str,
        directory: &str,
        parent: Option<usize>,
        items: &[Item],
    ) -> Result<usize, (String, syn::Error)> {
        let id = self.all.len();
        self.all.push(Module::default());
        let mut module = Module { file: file.to_owned(), parent, ..Module::default() };
        for item in items.iter().filter(|item| !attributes(item).iter().any(is_for_tests)) {
            match item {
                Item::Mod(child) => {
                    if let Some(number) = self.child(file, directory, id, child)? {
                        module.children.insert(child.ident.to_string(), number);
                    }
                }
                Item::Use(declared) => {
                    let is_private = matches!(declared.vis, Visibility::Inherited);
                    Import::all(&declared.tree).into_iter().for_each(|import| module.import(import, is_private));
                }
                _ => {
                    module.items.extend(name(item));
                    let mut paths = Paths::default();
                    paths.visit_item(item);
                    module.used.append(&mut paths.0);
                }
            }
        }
        if let Some(place) = self.all.get_mut(id) {
            *place = module;
        }
        Ok(id)
    }

    fn child(
        &mut self,
        file: &str,
        directory: &str,
        parent: usize,
        child: &ItemMod,
    ) -> Result<Option<usize>, (String, syn::Error)> {
        let inner = format!("{directory}/{}", child.ident);
        match &child.content {
            Some((_, items)) => self.add(file, &inner, Some(parent), items).map(Some),
            None => self.read_file(&format!("{inner}.rs"), &inner, Some(parent)),
        }
    }
}

impl Module {
    fn import(&mut self, import: Import, is_private: bool) {
        let Import { name, path, is_glob } = import;
        if is_glob {
            self.globs.push(path);
            return;
        }
        if is_private {
            self.used.push(path.clone());
        }
        if let Some(name) = name {
            self.imports.entry(name).or_default().push(path);
        }
    }
}

fn is_for_tests(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string().replace(' ', "");
            condition == "test" || condition.starts_with("all(test,")
        }
        _ => false,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}
