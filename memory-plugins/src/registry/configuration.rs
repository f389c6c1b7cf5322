//! Validates configurations of strategies against their schemas.

use std::error::Error;

use boon::{CompileError, Compiler, SchemaIndex, Schemas, UrlLoader, ValidationError};
use memory_core::{Hash, WrittenBy};
use serde_json::{Map, Value, json};

use super::PluginInfo;
use crate::{convert::one_line, error::ChooseError};

/// Maximum bytes of a schema.
const LONGEST_SCHEMA: usize = 1 << 20;

/// Configuration text for a strategy: the given one, or an empty one, if the schema allows it. Always empty for a
/// strategy without a schema.
pub(super) fn checked(info: &PluginInfo, given: Option<&str>) -> Result<String, ChooseError> {
    let wrong = |why: String| ChooseError::Configuration { name: info.name.clone(), why };
    let value = match given.map(str::trim) {
        None | Some("") => json!({}),
        Some(text) => serde_json::from_str(text).map_err(|error| wrong(format!("is not JSON: {error}")))?,
    };
    if !value.is_object() {
        return Err(wrong("is not a JSON object".to_owned()));
    }
    let Some(schema) = &info.configuration_schema else {
        let is_empty = matches!(&value, Value::Object(fields) if fields.is_empty());
        return if is_empty { Ok(String::new()) } else { Err(wrong("must go: it takes none".to_owned())) };
    };
    let validator = Validator::new(schema).map_err(|why| ChooseError::BadSchema { name: info.name.clone(), why })?;
    validator.check(&value).map_err(|why| wrong(format!("is not what its schema asks for{why}")))?;
    Ok(value.to_string())
}

/// Name and version of a strategy with this configuration. Because its output may depend on the configuration, `+` and
/// 8 digits of the configuration's hash are appended to the version, unless the configuration is empty.
pub(super) fn identity(info: &PluginInfo, configuration: &str) -> WrittenBy {
    let mut value: Value = serde_json::from_str(configuration).unwrap_or_default();
    value.sort_all_objects();
    let is_empty = value.as_object().is_none_or(Map::is_empty);
    let hash = Hash::of_parts([value.to_string().as_bytes()]).to_string();
    let label = hash.get(..8).filter(|_| !is_empty).map(|hash| format!("+{hash}")).unwrap_or_default();
    WrittenBy::new(info.name.clone(), format!("{}{label}", info.version))
}

/// Validates values against a JSON Schema, without following references to other documents.
pub(crate) struct Validator {
    schemas: Schemas,
    root: SchemaIndex,
}

/// Address of a schema; nothing is loaded from there.
const ADDRESS: &str = "memory:///configuration.json";

impl Validator {
    pub(crate) fn new(schema: &str) -> Result<Self, String> {
        if schema.len() > LONGEST_SCHEMA {
            return Err("it has more than a mebibyte".to_owned());
        }
        let schema: Value = serde_json::from_str(schema).map_err(|error| format!("it is not JSON: {error}"))?;
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(LoadsNothing));
        let said = |error: CompileError| one_line(&error.to_string());
        compiler.add_resource(ADDRESS, schema).map_err(said)?;
        let root = compiler.compile(ADDRESS, &mut schemas).map_err(said)?;
        Ok(Self { schemas, root })
    }

    /// Describes why the schema rejects a value: ` at /words: must be >=1, but got 0; at /name: want string, but got
    /// null`.
    fn check(&self, value: &Value) -> Result<(), String> {
        let Err(error) = self.schemas.validate(value, self.root) else { return Ok(()) };
        let mut said = Vec::new();
        collect(&error, &mut said);
        Err(said.join(";"))
    }
}

/// Collects the first innermost errors, because outer errors add no information.
fn collect(error: &ValidationError<'_, '_>, said: &mut Vec<String>) {
    /// Maximum errors.
    const MOST: usize = 3;
    error.causes.iter().for_each(|cause| collect(cause, said));
    if error.causes.is_empty() && said.len() < MOST {
        let path = error.instance_location.to_string();
        let at = if path.is_empty() { String::new() } else { format!(" at {path}") };
        said.push(format!("{at}: {}", one_line(&error.kind.to_string())));
    }
}

struct LoadsNothing;

impl UrlLoader for LoadsNothing {
    fn load(&self, _url: &str) -> Result<Value, Box<dyn Error>> {
        Err("references to other documents are not followed".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Origin, PluginCapabilities, StrategyKind};

    fn info(schema: &str) -> PluginInfo {
        PluginInfo {
            name: "x".into(),
            version: "1".into(),
            kind: StrategyKind::Scorer,
            description: String::new(),
            configuration_schema: Some(schema.to_owned()).filter(|schema| !schema.is_empty()),
            capabilities: PluginCapabilities::default(),
            origin: Origin::BuiltIn,
            sha256: None,
        }
    }

    const WORDS: &str = r#"{"type": "object", "properties": {"words": {"type": "integer", "minimum": 1}},
                            "required": ["words"], "additionalProperties": false}"#;

    #[test]
    fn a_good_configuration_passes() {
        assert_eq!(checked(&info(WORDS), Some(" {\"words\": 3} ")).unwrap(), r#"{"words":3}"#);
        assert_eq!(checked(&info(r#"{"type": "object"}"#), None).unwrap(), "{}");
        assert_eq!(checked(&info(""), None).unwrap(), "");
        assert_eq!(checked(&info(""), Some("{}")).unwrap(), "");
    }

    #[test]
    fn two_configurations_of_one_strategy_have_two_labels() {
        let label = |configuration: &str| identity(&info(WORDS), configuration).version;
        assert_eq!((label(""), label("{}")), ("1".to_owned(), "1".to_owned()));
        let [one, two] = [r#"{"a":{"c":1,"d":2},"b":3}"#, r#"{"b":3,"a":{"c":1,"d":3}}"#].map(label);
        assert!(one.starts_with("1+") && one.len() == 10 && one != two, "{one} {two}");
        assert_eq!(label(r#"{"b":3,"a":{"d":2,"c":1}}"#), one, "the order of members says nothing");
    }

    #[test]
    fn a_bad_one_is_refused_in_a_line_that_says_where() {
        for (schema, given, said) in [
            (WORDS, Some(r#"{"words": 0}"#), "asks for at /words: must be >=1, but got 0"),
            (WORDS, Some(r#"{"word": 1}"#), "'word'"),
            (WORDS, None, "missing properties 'words'"),
            (WORDS, Some("{words"), "is not JSON"),
            ("", Some(r#"{"words": 1}"#), "must go: it takes none"),
            ("true", Some("[3]"), "is not a JSON object"),
            ("", Some("null"), "is not a JSON object"),
            ("{", None, "schema that cannot be used: it is not JSON"),
            (r#"{"type": 7}"#, None, "schema that cannot be used"),
            (r##"{"$ref": "http://localhost/else.json"}"##, None, "schema that cannot be used"),
            (r##"{"$ref": "file:///etc/hostname"}"##, None, "error loading file:///etc/hostname"),
            (r##"{"$ref": "#"}"##, None, "asks for"),
        ] {
            let error = checked(&info(schema), given).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains('\n'), "{error}");
        }
    }
}
