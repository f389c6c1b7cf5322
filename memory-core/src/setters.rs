//! Setters named as the fields of a struct: the one dialect of builders.

/// Setters of fields, in an `impl`: `Options::default().budget(4_000).question("...")`.
///
/// - `field: Type` takes the value; `const field: Type` can be called in constants.
/// - `into field: Type` takes `impl Into<Type>`.
/// - `some field: Type` sets a field of type `Option<Type>` to a value; `some into` takes `impl Into<Type>` for it.
/// - `field: Type` and `some field: Type` may have a doc comment, for a private field.
///
/// Only for the crates of this workspace; the macro may change in any version.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    (@ [$($constant:ident)?] $field:ident ($parameter:ty) $value:expr) => {
        #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
        #[must_use]
        pub $($constant)? fn $field(mut self, $field: $parameter) -> Self {
            self.$field = $value;
            self
        }
    };
    () => {};
    ($(#[$doc:meta])+ some $field:ident: $of:ty $(, $($rest:tt)*)?) => {
        $(#[$doc])+
        #[must_use]
        pub fn $field(mut self, $field: $of) -> Self {
            self.$field = Some($field);
            self
        }
        $($crate::setters! { $($rest)* })?
    };
    ($(#[$doc:meta])+ $field:ident: $of:ty $(, $($rest:tt)*)?) => {
        $(#[$doc])+
        #[must_use]
        pub fn $field(mut self, $field: $of) -> Self {
            self.$field = $field;
            self
        }
        $($crate::setters! { $($rest)* })?
    };
    (const some $field:ident: $of:ty $(, $($rest:tt)*)?) => {
        $crate::setters! { @ [const] $field ($of) Some($field) }
        $($crate::setters! { $($rest)* })?
    };
    (const $field:ident: $of:ty $(, $($rest:tt)*)?) => {
        $crate::setters! { @ [const] $field ($of) $field }
        $($crate::setters! { $($rest)* })?
    };
    (some into $field:ident: $of:ty $(, $($rest:tt)*)?) => {
        $crate::setters! { @ [] $field (impl Into<$of>) Some($field.into()) }
        $($crate::setters! { $($rest)* })?
    };
    (some $field:ident: $of:ty $(, $($rest:tt)*)?) => {
        $crate::setters! { @ [] $field ($of) Some($field) }
        $($crate::setters! { $($rest)* })?
    };
    (into $field:ident: $of:ty $(, $($rest:tt)*)?) => {
        $crate::setters! { @ [] $field (impl Into<$of>) $field.into() }
        $($crate::setters! { $($rest)* })?
    };
    ($field:ident: $of:ty $(, $($rest:tt)*)?) => {
        $crate::setters! { @ [] $field ($of) $field }
        $($crate::setters! { $($rest)* })?
    };
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "the setters of a private struct")]
mod tests {
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Options {
        limit: u32,
        names: Vec<String>,
        title: Option<String>,
        least: Option<f32>,
        speaker: String,
        told: bool,
        told_to: Option<String>,
    }

    impl Options {
        crate::setters! {
            const limit: u32,
            names: Vec<String>,
            some into title: String,
            const some least: f32,
            into speaker: String,
            /// Sets `told`, with a comment of its own.
            told: bool,
            /// Sets `told_to`, with a comment of its own.
            some told_to: String,
        }
    }

    #[test]
    fn each_setter_sets_its_field() {
        let set = Options::default().limit(3).names(vec!["a".into()]).title("b").least(0.5).speaker("c").told(true);
        let set = set.told_to("d".into());
        let expected = Options {
            limit: 3,
            names: vec!["a".into()],
            title: Some("b".into()),
            least: Some(0.5),
            speaker: "c".into(),
            told: true,
            told_to: Some("d".into()),
        };
        assert_eq!(set, expected);
    }
}
