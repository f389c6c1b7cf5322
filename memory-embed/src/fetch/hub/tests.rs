//! Tests of fetching from a stub hub.

mod stub;

use tempfile::TempDir;

use self::stub::{COMMIT, Fault, Hub, ID, repository};
use super::*;

fn store() -> (TempDir, ModelStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = ModelStore::at(directory.path().join("models"));
    (directory, store)
}

fn fetch(store: &ModelStore, options: &HubOptions) -> Result<HubReport, FetchError> {
    fetch_from_hub(store, ID, options, &mut |_| {})
}

fn weights(store: &ModelStore) -> Vec<u8> {
    fs::read(store.root().join(ID).join("model.safetensors")).unwrap()
}

#[test]
fn a_model_is_fetched_with_what_it_is_made_of_and_nothing_else() {
    let ((directory, store), hub) = (store(), Hub::start(repository(), Fault::None));
    let mut names = Vec::new();
    let report = fetch_from_hub(&store, ID, &hub.options(), &mut |event| {
        if let FetchEvent::DownloadingFile { name, bytes } = event {
            names.push(format!("{name} {bytes}"));
        }
    })
    .unwrap();
    assert!(report.downloaded && report.has_weights && report.commit == COMMIT, "{report:?}");
    assert_eq!(report.directory, store.root().join(ID));
    assert_eq!(weights(&store), repository()["model.safetensors"]);
    let mut there: Vec<_> = fs::read_dir(&report.directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    there.sort();
    // Two of them have the same bytes, and so the same checksum.
    assert_eq!(fs::read(report.directory.join("1_Pooling/config.json")).unwrap(), b"{}");
    assert_eq!(fs::read(report.directory.join("tokenizer.json")).unwrap(), b"{}");
    let expected = ["1_Pooling", "config.json", "hub.json", "model.safetensors", "modules.json", "tokenizer.json"];
    assert_eq!(there, expected);
    assert!(names.contains(&"model.safetensors 300000".to_owned()) && names.len() == 4, "{names:?}");
    // Nothing is left of the downloads, and nothing was written next to the store.
    assert_eq!(fs::read_dir(store.root().join(".hub")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn what_is_there_is_not_asked_for_again() {
    let ((_directory, store), hub) = (store(), Hub::start(repository(), Fault::None));
    fetch(&store, &hub.options()).unwrap();
    let asked = hub.requests().len();
    assert!(!fetch(&store, &hub.options()).unwrap().downloaded);
    assert!(!fetch(&store, &hub.options().revision(COMMIT)).unwrap().downloaded);
    assert_eq!(hub.requests().len(), asked);
    assert!(fetch(&store, &hub.options().revision("v1")).unwrap().downloaded);
    assert!(fetch(&store, &hub.options().revision("v1").force(true)).unwrap().downloaded);

    let path = store.root().join(ID).join("model.safetensors");
    let mut damaged = weights(&store);
    damaged[5] ^= 1;
    fs::write(&path, damaged).unwrap();
    assert!(fetch(&store, &hub.options().revision("v1")).unwrap().downloaded);
    assert_eq!(weights(&store), repository()["model.safetensors"]);
}

#[test]
fn a_download_that_breaks_off_goes_on_where_it_ended() {
    let ((_directory, store), hub) = (store(), Hub::start(repository(), Fault::BreaksOff));
    fetch(&store, &hub.options()).unwrap();
    assert_eq!(weights(&store), repository()["model.safetensors"]);
    // Each range is requested at the repository, which redirects.
    let starts = hub.downloads("/large/model.safetensors");
    assert_eq!(starts, [0, 150_000]);
}

#[test]
fn a_later_fetch_goes_on_where_the_last_one_ended() {
    let (_directory, store) = store();
    let broken = Hub::start(repository(), Fault::AlwaysBreaksOff);
    let error = fetch(&store, &broken.options()).unwrap_err();
    assert!(matches!(&error, FetchError::Hub { what, .. } if what == "model.safetensors"), "{error}");
    assert!(!store.root().join(ID).exists(), "nothing is in place before all of it is whole");
    let hub = Hub::start(repository(), Fault::None);
    fetch(&store, &hub.options()).unwrap();
    assert_eq!(weights(&store), repository()["model.safetensors"]);
    assert!(hub.downloads("/large/model.safetensors").iter().all(|start| *start > 150_000));
    assert!(hub.downloads("tokenizer.json").is_empty(), "what was whole is not fetched again");
}

#[test]
fn wrong_bytes_are_fetched_anew_once_and_then_refused() {
    let ((_directory, store), hub) = (store(), Hub::start(repository(), Fault::WrongOnce));
    fetch(&store, &hub.options()).unwrap();
    assert_eq!(weights(&store), repository()["model.safetensors"]);
    assert_eq!(hub.downloads("/large/model.safetensors"), [0, 0]);

    let before = fs::read(store.root().join(ID).join("hub.json")).unwrap();
    let wrong = Hub::start(repository(), Fault::Wrong);
    let error = fetch(&store, &wrong.options().force(true)).unwrap_err();
    assert!(
        matches!(&error, FetchError::Checksum { what, .. } if what == "model.safetensors of tests/tiny"),
        "{error}"
    );
    assert_eq!(weights(&store), repository()["model.safetensors"]);
    assert_eq!(fs::read(store.root().join(ID).join("hub.json")).unwrap(), before);
}

#[test]
fn a_hub_that_knows_no_ranges_is_asked_for_all_of_it() {
    let ((_directory, store), hub) = (store(), Hub::start(repository(), Fault::IgnoresRanges));
    fetch(&store, &hub.options()).unwrap();
    assert_eq!(weights(&store), repository()["model.safetensors"]);
}

#[test]
fn what_the_hub_has_not_got_is_named() {
    let ((_directory, store), hub) = (store(), Hub::start(repository(), Fault::None));
    let error = fetch(&store, &hub.options().revision("v9")).unwrap_err();
    assert!(matches!(&error, FetchError::NotOnHub { revision, .. } if revision == "v9"), "{error}");
    let error = fetch_from_hub(&store, "tests/other", &hub.options(), &mut |_| {}).unwrap_err();
    assert!(matches!(&error, FetchError::NotOnHub { id, .. } if id == "tests/other"), "{error}");
    let closed = Hub::start(repository(), Fault::Status(401));
    let error = fetch(&store, &closed.options()).unwrap_err();
    assert!(matches!(&error, FetchError::NotAllowed { .. }) && error.to_string().contains("HF_TOKEN"), "{error}");
    let broken = Hub::start(repository(), Fault::Status(500));
    assert!(matches!(fetch(&store, &broken.options()).unwrap_err(), FetchError::Hub { .. }));
    let nobody = HubOptions::default().endpoint("http://127.0.0.1:1");
    assert!(matches!(fetch(&store, &nobody).unwrap_err(), FetchError::Hub { .. }));
}

#[test]
fn answers_that_no_hub_gives_are_errors() {
    for fault in [Fault::RedirectsNowhere, Fault::ChecksumIsPath] {
        let ((directory, store), hub) = (store(), Hub::start(repository(), fault));
        let error = fetch(&store, &hub.options()).unwrap_err();
        assert!(matches!(&error, FetchError::Hub { what, .. } if what == "model.safetensors"), "{fault:?}: {error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{fault:?}");
    }
}

#[test]
fn nobody_but_the_hub_is_given_the_token() {
    for (fault, asked) in [(Fault::None, 1), (Fault::Elsewhere, 1), (Fault::ElsewhereOfKnownSize, 0)] {
        let ((_directory, store), hub) = (store(), Hub::start(repository(), fault));
        let downloads = store.root().join(DOWNLOADS);
        let endpoint = hub.options().endpoint;
        let mut repository = Repository::connect(&downloads, ID, "main", endpoint, Some("secret".to_owned()));
        repository.list().unwrap();
        repository.get("model.safetensors", &mut |bytes| assert_eq!(bytes, 300_000)).unwrap();
        let seen = hub.requests();
        let (large, of_hub): (Vec<_>, Vec<_>) = seen.iter().partition(|seen| seen.path.starts_with("/large/"));
        assert!(of_hub.iter().all(|seen| seen.token.as_deref() == Some("Bearer secret")), "{fault:?}: {seen:?}");
        let is_elsewhere = fault != Fault::None;
        assert!(large.iter().all(|seen| seen.token.is_none() == is_elsewhere), "{fault:?}: {seen:?}");
        let metadata = large.iter().filter(|seen| seen.is_metadata).count();
        assert_eq!((metadata, large.len() - metadata), (asked, 1), "{fault:?}: {seen:?}");
    }
}

#[test]
fn nor_is_another_port_of_the_hubs_host() {
    let (_directory, store) = store();
    let other = Hub::start(repository(), Fault::None);
    let hub = Hub::start(repository(), Fault::OnPort(other.port()));
    let (downloads, token) = (store.root().join(DOWNLOADS), Some("secret".to_owned()));
    let mut repository = Repository::connect(&downloads, ID, "main", hub.options().endpoint, token);
    repository.list().unwrap();
    repository.get("model.safetensors", &mut |_| {}).unwrap();
    assert!(hub.requests().iter().all(|seen| seen.token.is_some()));
    assert!(
        other.requests().iter().all(|seen| seen.token.is_none()) && other.requests().len() == 2,
        "{:?}",
        other.requests()
    );
}

#[test]
fn a_hub_that_says_nothing_is_an_error() {
    let ((_directory, store), hub) = (store(), Hub::start(repository(), Fault::Silent));
    let downloads = store.root().join(DOWNLOADS);
    let mut repository = Repository::connect(&downloads, ID, "main", hub.options().endpoint, None);
    repository.list_timeout = std::time::Duration::from_millis(50);
    let error = repository.list().unwrap_err();
    assert!(matches!(&error, FetchError::Hub { source, .. } if source.to_string().contains("no answer")), "{error:?}");
}

#[test]
fn files_come_from_a_server_without_ranges_and_may_be_empty() {
    let mut files = repository();
    files.insert("modules.json".to_owned(), Vec::new());
    for fault in [Fault::KnowsNoRanges, Fault::None] {
        let ((_directory, store), hub) = (store(), Hub::start(files.clone(), fault));
        fetch(&store, &hub.options()).unwrap();
        assert_eq!(weights(&store), files["model.safetensors"]);
        assert_eq!(fs::read(store.root().join(ID).join("modules.json")).unwrap(), b"");
    }
}

#[test]
fn no_more_is_taken_than_there_should_be() {
    let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::start(repository(), Fault::Endless));
    let part = directory.path().join("weights.part");
    let error = download::download(&hub.large("model.safetensors"), None, &part, 300_000, request::STALLED_AFTER);
    assert!(matches!(error, Err(request::RequestError::WrongRange)), "{error:?}");
    assert_eq!(fs::metadata(&part).unwrap().len(), 300_001);
}

#[test]
fn a_server_that_stops_sending_is_asked_again() {
    let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::start(repository(), Fault::Stalls));
    let part = directory.path().join("weights.part");
    let stalled = std::time::Duration::from_millis(100);
    download::download(&hub.large("model.safetensors"), None, &part, 300_000, stalled).unwrap();
    assert_eq!(fs::read(&part).unwrap(), repository()["model.safetensors"]);
    assert_eq!(hub.downloads("/large/model.safetensors"), [0, 150_000]);
}

#[test]
fn a_configuration_may_leave_its_fields_empty() {
    let mut files = repository();
    files.insert("config.json".to_owned(), br#"{"model_type": "bert", "architectures": null}"#.to_vec());
    let ((_directory, store), hub) = (store(), Hub::start(files, Fault::None));
    assert!(fetch(&store, &hub.options()).unwrap().has_weights);
}

#[test]
fn a_model_for_something_else_is_refused_before_it_is_downloaded() {
    let mut files = repository();
    let config = br#"{"model_type": "bert", "architectures": ["BertForTokenClassification"]}"#;
    files.insert("config.json".to_owned(), config.to_vec());
    // The files of sentence-transformers mark an encoder of any architecture.
    let ((_directory, encoders), hub) = (store(), Hub::start(files.clone(), Fault::None));
    assert!(fetch(&encoders, &hub.options()).unwrap().has_weights);
    files.retain(|name, _| !name.contains("modules") && !name.contains("Pooling"));
    let ((_directory, store), hub) = (store(), Hub::start(files, Fault::None));
    let error = fetch(&store, &hub.options()).unwrap_err();
    assert!(error.to_string().contains("BertForTokenClassification"), "{error}");
    assert!(hub.downloads("/large/model.safetensors").is_empty());
}

#[test]
fn a_cross_encoder_is_fetched_as_a_graph() {
    let mut files = repository();
    let config = br#"{"model_type": "bert", "architectures": ["BertForSequenceClassification"]}"#;
    files.insert("config.json".to_owned(), config.to_vec());
    let ((_directory, store), hub) = (store(), Hub::start(files.clone(), Fault::None));
    let report = fetch(&store, &hub.options()).unwrap();
    assert!(!report.has_weights && report.directory.join("onnx/model.onnx").is_file());
    assert!(!report.directory.join("model.safetensors").exists());

    files.remove("onnx/model.onnx");
    let without = Hub::start(files, Fault::None);
    let error = fetch(&store, &without.options().force(true)).unwrap_err();
    assert!(matches!(&error, FetchError::Incomplete { missing, .. } if missing == "onnx/model.onnx"), "{error}");
}

#[test]
fn a_model_of_another_family_is_fetched_as_its_authors_graph() {
    let mut files = repository();
    files.insert("config.json".to_owned(), br#"{"model_type": "modernbert"}"#.to_vec());
    let ((_directory, store), hub) = (store(), Hub::start(files, Fault::None));
    let report = fetch(&store, &hub.options()).unwrap();
    assert!(!report.has_weights && report.directory.join("onnx/model.onnx").is_file());
}

#[test]
fn what_makes_no_model_is_refused_by_the_missing_file() {
    for missing in ["config.json", "tokenizer.json"] {
        let mut files = repository();
        files.remove(missing);
        let ((_directory, store), hub) = (store(), Hub::start(files, Fault::None));
        let error = fetch(&store, &hub.options()).unwrap_err();
        assert!(matches!(&error, FetchError::Incomplete { missing: named, .. } if named == missing), "{error}");
    }
}

#[test]
fn an_id_is_not_a_path() {
    for id in ["", "tiny", "a/b/c", "../x", "a/..", "/etc/passwd", "a/b\n", "a b/c", "a/-b", "a/.b"] {
        let (_directory, store) = store();
        let error = fetch_from_hub(&store, id, &HubOptions::default(), &mut |_| {}).unwrap_err();
        assert!(matches!(error, FetchError::Id { .. }), "{id}: {error}");
        assert!(!store.root().exists());
    }
}
