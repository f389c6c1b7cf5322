//! The conformance kit, over plugins that keep the contract and plugins that break it.
#![expect(clippy::unwrap_used, reason = "whatever fails here fails a test")]

use std::time::Duration;

use memory_plugins::conformance::{Check, CheckOptions, Verdict, check};

use crate::support::{OFFICIAL, library};

/// Broken checks, and true if the kit finds none.
fn faults(name: &str, conduct: Option<&str>) -> (Vec<Check>, bool) {
    let mut options = CheckOptions::default();
    options.deadline = Duration::from_secs(60);
    options.configuration = conduct.map(|conduct| format!(r#"{{"conduct":"{conduct}"}}"#));
    let (mut begun, mut broken) = (Vec::new(), Vec::new());
    let sound = check(&library(name), &options, &mut |check| begun.push(check), &mut |check, verdict| {
        if matches!(verdict, Verdict::Broken(_)) {
            broken.push(check);
        }
    });
    assert_eq!(begun, Check::ALL);
    (broken, sound.unwrap())
}

#[test]
fn the_official_plugins_keep_the_contract() {
    for name in OFFICIAL {
        assert_eq!(faults(name, None), (Vec::new(), true), "{name}");
    }
    assert_eq!(faults("memory_plugin_fixture_misjudges", None), (Vec::new(), true));
}

#[test]
fn what_breaks_the_contract_is_named() {
    let (broken, sound) = faults("memory_plugin_fixture_misbehaves", Some("panic"));
    assert!(!sound && broken.contains(&Check::Contract) && broken.contains(&Check::Panics), "{broken:?}");
    let (broken, _) = faults("memory_plugin_fixture_misbehaves", Some("write too much"));
    assert!(broken.contains(&Check::Contract) && !broken.contains(&Check::Panics), "{broken:?}");
    let (broken, _) = faults("memory_plugin_fixture_misbehaves", Some("say nothing"));
    assert!(broken.contains(&Check::Unicode) && !broken.contains(&Check::Panics), "{broken:?}");
    let (broken, _) = faults("memory_plugin_fixture_misjudges", Some("not a number"));
    assert!(broken.contains(&Check::Huge), "{broken:?}");
}
