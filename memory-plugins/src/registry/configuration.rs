//! Configurations of strategies, checked against their schemas.

use serde_json::{Value, json};

use super::PluginInfo;
use crate::{convert::one_line, error::ChooseError};

/// The most bytes of a schema that are looked at.
const LONGEST_SCHEMA: usize = 1 << 20;

/// The text that the strategy is made from: the configuration that was given, or an empty one, if its schema allows it.
/// Empty for a strategy that has no schema.
pub(super) fn checked(info: &PluginInfo, given: Option<&str>) -> Result<String, ChooseError> {
    let wrong = |why: String| ChooseError::Configuration { name: info.name.clone(), why };
    let value = match given.map(str::trim) {
        None | Some("") => json!({}),
        Some(text) => serde_json::from_str(text).map_err(|error| wrong(format!("is not JSON: {error}")))?,
    };
    let Some(schema) = &info.configuration_schema else {
        let is_empty = matches!(&value, Value::Object(fields) if fields.is_empty());
        return if is_empty { Ok(String::new()) } else { Err(wrong("must go: it takes none".to_owned())) };
    };
    let validator = validator(schema).map_err(|why| ChooseError::BadSchema { name: info.name.clone(), why })?;
    if let Err(error) = validator.validate(&value) {
        let path = error.instance_path().to_string();
        let at = if path.is_empty() { String::new() } else { format!(" at {path}") };
        return Err(wrong(format!("is not what its schema asks for{at}: {}", one_line(&error.to_string()))));
    }
    Ok(value.to_string())
}

/// What checks configurations against a schema. References to other documents are not followed.
pub(crate) fn validator(schema: &str) -> Result<jsonschema::Validator, String> {
    if schema.len() > LONGEST_SCHEMA {
        return Err("it has more than a mebibyte".to_owned());
    }
    let schema: Value = serde_json::from_str(schema).map_err(|error| format!("it is not JSON: {error}"))?;
    jsonschema::validator_for(&schema).map_err(|error| one_line(&error.to_string()))
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
            digest: None,
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
    fn a_bad_one_is_refused_in_a_line_that_says_where() {
        for (schema, given, said) in [
            (WORDS, Some(r#"{"words": 0}"#), "asks for at /words: 0 is less than the minimum of 1"),
            (WORDS, Some(r#"{"word": 1}"#), "'word'"),
            (WORDS, None, "\"words\" is a required property"),
            (WORDS, Some("{words"), "is not JSON"),
            ("", Some(r#"{"words": 1}"#), "must go: it takes none"),
            ("{", None, "schema that cannot be used: it is not JSON"),
            (r#"{"type": 7}"#, None, "schema that cannot be used"),
            (r##"{"$ref": "http://localhost/else.json"}"##, None, "schema that cannot be used"),
        ] {
            let error = checked(&info(schema), given).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains('\n'), "{error}");
        }
    }
}
