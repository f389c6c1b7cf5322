//! The paths that the code of an item names.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{
    Attribute, Expr, ExprCall, ItemUse, Macro, Path, Visibility,
    visit::{self, Visit},
};

use super::imports::Import;

/// Collects paths. A single name in lower case counts only where it is called, because it may be a variable elsewhere.
#[derive(Default)]
pub(super) struct Paths(pub(super) Vec<Vec<String>>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast Path) {
        self.add(path, false);
        visit::visit_path(self, path);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(function) = call.func.as_ref() {
            self.add(&function.path, true);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.add(&call.path, true);
        self.scan(call.tokens.clone());
    }

    fn visit_item_use(&mut self, declared: &'ast ItemUse) {
        self.0.extend(Import::all(&declared.tree).into_iter().map(|import| import.path));
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

impl Paths {
    fn add(&mut self, path: &Path, is_called: bool) {
        self.add_names(path.segments.iter().map(|segment| segment.ident.to_string()).collect(), is_called);
    }

    fn add_names(&mut self, names: Vec<String>, is_called: bool) {
        let is_certain = |first: &String| is_called || names.len() > 1 || first.starts_with(char::is_uppercase);
        if names.first().is_some_and(is_certain) {
            self.0.push(names);
        }
    }

    /// Collects paths from unparsed tokens.
    fn scan(&mut self, tokens: TokenStream) {
        let (mut names, mut dots, mut colons, mut is_member) = (Vec::new(), 0, 0, false);
        for token in tokens {
            if let TokenTree::Ident(name) = &token {
                if colons != 2 || names.is_empty() {
                    self.finish(&mut names, is_member, false);
                    // `.name`, but not `..name`; and `::name` after a token that is not a name.
                    is_member = dots == 1 || colons == 2;
                }
                names.push(name.to_string());
                (dots, colons) = (0, 0);
                continue;
            }
            match token {
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Punct(mark) => {
                    self.finish(&mut names, is_member, mark.as_char() == '!');
                    dots = if mark.as_char() == '.' { dots + 1 } else { 0 };
                    colons = 0;
                }
                TokenTree::Group(group) => {
                    self.finish(&mut names, is_member, group.delimiter() == Delimiter::Parenthesis);
                    self.scan(group.stream());
                    (dots, colons) = (0, 0);
                }
                TokenTree::Ident(_) | TokenTree::Literal(_) => (dots, colons) = (0, 0),
            }
        }
        self.finish(&mut names, is_member, false);
    }

    fn finish(&mut self, names: &mut Vec<String>, is_member: bool, is_called: bool) {
        let names = std::mem::take(names);
        if !is_member {
            self.add_names(names, is_called);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<String> {
        let mut paths = Paths::default();
        paths.visit_file(&syn::parse_file(code).unwrap());
        paths.0.iter().map(|names| names.join("::")).collect()
    }

    #[test]
    fn types_traits_patterns_and_calls_are_paths() {
        let code = "fn f(a: a::A<B>) where B: c::C { match d() { e::E { .. } => f::g(a), h => h } }";
        for path in ["a::A", "B", "c::C", "d", "e::E", "f::g"] {
            assert!(paths(code).contains(&path.to_owned()), "{path}: {:?}", paths(code));
        }
        assert!(!paths(code).contains(&"h".to_owned()));
    }

    #[test]
    fn visibilities_attributes_and_fields_are_none() {
        assert_eq!(paths("#[a::b] pub(in crate::c) struct S { d: E }"), ["E"]);
        assert_eq!(paths("fn f() { let e = 1; e.g.h(); }"), [""; 0]);
    }

    #[test]
    fn a_use_within_a_function_counts() {
        assert_eq!(paths("fn f() { use crate::a::{B, c as d}; }"), ["crate::a::B", "crate::a::c"]);
    }

    #[test]
    fn macros_are_searched_by_tokens() {
        let found = paths("fn f() { m!(a, b.c(), d(1), e::F, [..g::H], I { j: k }, Vec::<L>::new(), n!(\"o::p\")); }");
        assert_eq!(found, ["m", "d", "e::F", "g::H", "I", "Vec", "L", "n"]);
    }
}
