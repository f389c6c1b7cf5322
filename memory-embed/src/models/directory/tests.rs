//! Tests of reading configurations, as sentence-transformers writes them.

use std::fs;

use tempfile::TempDir;

use super::*;

const MODULES: &str = r#"[
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}
]"#;

const MEAN: &str = r#"{"word_embedding_dimension": 384, "pooling_mode_cls_token": false,
    "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false}"#;

fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    directory
}

fn read(files: &[(&str, &str)]) -> Result<ModelDirectory, ModelError> {
    ModelDirectory::read(directory(files).path())
}

#[test]
fn a_sentence_transformers_directory_is_read() {
    let model = read(&[
        ("modules.json", MODULES),
        ("1_Pooling/config.json", MEAN),
        ("config.json", r#"{"model_type": "bert", "hidden_size": 384, "max_position_embeddings": 512}"#),
        ("sentence_bert_config.json", r#"{"max_seq_length": 128, "do_lower_case": true}"#),
        ("tokenizer_config.json", r#"{"model_max_length": 512}"#),
    ])
    .unwrap();
    assert_eq!((model.max_tokens, model.pooling, model.dimensions), (128, Pooling::Mean, Some(384)));
    assert!(model.normalizes && model.lower_case);
    assert_eq!((model.backend, model.prompts), (Backend::Onnx, Prompts::default()));
}

#[test]
fn a_bare_encoder_has_the_defaults() {
    let model = read(&[("config.json", r#"{"model_type": "mpnet", "max_position_embeddings": 514}"#)]).unwrap();
    assert_eq!((model.max_tokens, model.pooling, model.normalizes), (512, Pooling::Mean, false));
    let model = read(&[("config.json", "{}"), ("tokenizer_config.json", r#"{"model_max_length": 1e30}"#)]).unwrap();
    assert_eq!(model.max_tokens, DEFAULT_MAX_TOKENS);
}

#[test]
fn prompts_are_those_of_queries_and_documents() {
    let prompts =
        |json: &str| read(&[("config.json", "{}"), ("config_sentence_transformers.json", json)]).unwrap().prompts;
    assert_eq!(
        prompts(r#"{"prompts": {"query": "query: ", "passage": "passage: "}}"#),
        Prompts { query: "query: ".to_owned(), document: "passage: ".to_owned() }
    );
    assert_eq!(
        prompts(r#"{"prompts": {"query": "Q ", "other": "O "}, "default_prompt_name": "other"}"#),
        Prompts { query: "Q ".to_owned(), document: "O ".to_owned() }
    );
    assert_eq!(prompts(r#"{"default_prompt_name": null}"#), Prompts::default());
}

#[test]
fn e5_of_a_hub_has_the_prompts_of_its_description() {
    let prompts = |id: &str, more: &str| {
        let record = format!(r#"{{"id": "{id}", "commit": "c0ffee"}}"#);
        read(&[("config.json", "{}"), ("hub.json", &record), ("config_sentence_transformers.json", more)])
            .unwrap()
            .prompts
    };
    let of_e5 = Prompts { query: "query: ".to_owned(), document: "passage: ".to_owned() };
    for id in ["intfloat/multilingual-e5-small", "intfloat/e5-base-v2"] {
        assert_eq!(prompts(id, "{}"), of_e5, "{id}");
    }
    for id in ["intfloat/e5-mistral-7b-instruct", "intfloat/multilingual-e5-large-instruct", "other/e5-small"] {
        assert_eq!(prompts(id, "{}"), Prompts::default(), "{id}");
    }
    let stated = prompts("intfloat/e5-small", r#"{"prompts": {"query": "Q "}}"#);
    assert_eq!(stated, Prompts { query: "Q ".to_owned(), ..Prompts::default() });
}

#[test]
fn each_way_of_pooling_is_read_and_others_are_refused() {
    let pooling = |json: &str| {
        read(&[("config.json", "{}"), ("modules.json", MODULES), ("1_Pooling/config.json", json)])
            .map(|model| model.pooling)
    };
    assert_eq!(pooling(r#"{"pooling_mode_cls_token": true}"#).unwrap(), Pooling::Cls);
    assert_eq!(pooling(r#"{"pooling_mode_max_tokens": true}"#).unwrap(), Pooling::Max);
    assert_eq!(pooling(r#"{"pooling_mode": "cls"}"#).unwrap(), Pooling::Cls);
    for refused in [
        r#"{"pooling_mode_lasttoken": true}"#,
        r#"{"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true}"#,
        r#"{"pooling_mode_mean_tokens": true, "include_prompt": false}"#,
    ] {
        assert!(matches!(pooling(refused), Err(ModelError::Config { .. })), "{refused}");
    }
}

#[test]
fn a_module_that_is_not_run_here_is_refused_by_name() {
    let modules = MODULES.replace("models.Normalize", "models.Dense");
    let error =
        read(&[("config.json", "{}"), ("modules.json", &modules), ("1_Pooling/config.json", MEAN)]).unwrap_err();
    let ModelError::Config { path, source } = error else { panic!("{error}") };
    assert!(path.ends_with("modules.json") && source.to_string().contains("Dense"));
}

#[test]
fn damaged_and_missing_files_are_named() {
    assert!(matches!(read(&[]), Err(ModelError::Missing { path, .. }) if path.ends_with("config.json")));
    let error = read(&[("config.json", "{}"), ("modules.json", "[{")]).unwrap_err();
    assert!(matches!(error, ModelError::Config { path, .. } if path.ends_with("modules.json")));
    let error = read(&[("config.json", "{}"), ("modules.json", MODULES)]).unwrap_err();
    assert!(matches!(error, ModelError::Missing { path, .. } if path.ends_with("1_Pooling/config.json")));
}

#[test]
fn a_static_model_is_known_by_its_type() {
    let config = r#"{"model_type": "model2vec", "hidden_dim": 256, "normalize": true}"#;
    let model = read(&[("config.json", config)]).unwrap();
    assert_eq!((model.backend, model.dimensions), (Backend::Static, Some(256)));
}

#[test]
fn a_pooling_module_cannot_lie_outside_the_directory() {
    let files = ConfigFiles { root: Path::new("model") };
    assert_eq!(files.path("../../etc/config.json"), Path::new("model/etc/config.json"));
    assert_eq!(files.path("/etc/config.json"), Path::new("model/etc/config.json"));
}
