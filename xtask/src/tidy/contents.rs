//! Checks that no file of the tree holds a path of a particular machine, a package registry's host or a secret.

use anyhow::Result;
use regex::Regex;

use super::{Fault, TreeFile};

/// A rule, whose pattern is written so that it does not match its own source text.
struct Rule {
    what: &'static str,
    pattern: &'static str,
    /// Files that must hold such text.
    exempt: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        what: "an absolute path of a machine",
        pattern: r"(?m)(?:^|file://|[^A-Za-z0-9_.~})/-])/(?:work|root|home|Users)/",
        exempt: &[],
    },
    Rule {
        what: "the host of a package registry or model hub; its client knows it",
        pattern: concat!(
            r"(?i-u)\b(?:crates\.io|pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)",
            r"|deb\.debian\.org|proxy\.golang\.org|huggingface\.co)\b",
        ),
        // Cargo writes the index of each package to these.
        exempt: &[
            "Cargo.lock",
            "memory/outside/Cargo.lock",
            "memory-capture/outside/Cargo.lock",
            "memory-store/fuzz/Cargo.lock",
        ],
    },
    Rule { what: "an AWS key id", pattern: r"(?-u)\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", exempt: &[] },
    Rule { what: "a private key", pattern: r"-----BEGIN (?:[A-Z0-9 ]+ )?PRIVATE KEY-----", exempt: &[] },
    Rule { what: "a bearer token", pattern: r"(?i-u)\bbearer\s+[\w.~+/-]{20,}", exempt: &[] },
    Rule {
        what: "an access token of a code host or model provider",
        pattern: r"(?-u)\b(?:gh[pousr]_\w{36,}|github_pat_\w{36,}|hf_[A-Za-z0-9]{30,}|sk-[\w-]{32,})",
        exempt: &[],
    },
];

pub(super) fn check(files: &[TreeFile]) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for rule in RULES {
        let pattern = Regex::new(rule.pattern)?;
        for file in files {
            if !rule.exempt.contains(&file.path.as_str()) {
                faults.extend(matches(rule, &pattern, file));
            }
        }
    }
    Ok(faults)
}

/// Faults of a file, without the matched text, because a secret must not be logged either.
fn matches(rule: &Rule, pattern: &Regex, file: &TreeFile) -> Vec<Fault> {
    pattern
        .find_iter(&file.text)
        .map(|found| {
            let before = file.text.get(..found.end()).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            Fault::new(format!("{}:{line}", file.path), format!("holds {}", rule.what))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_in(path: &str, text: &str) -> Vec<String> {
        let file = TreeFile { path: path.to_owned(), text: text.to_owned() };
        let faults = check(&[file]).unwrap();
        faults.iter().map(Fault::to_string).collect()
    }

    fn assert_found(text: &str, what: &str) {
        let faults = faults_in("docs/page.md", text);
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        assert!(faults[0].contains(what), "{text}: {faults:?}");
    }

    fn assert_clean(text: &str) {
        assert_eq!(faults_in("docs/page.md", text), [""; 0], "{text}");
    }

    // The samples are assembled here, so that this file passes its own check.

    #[test]
    fn machine_paths_are_found_and_relative_ones_are_not() {
        for top in ["work", "root", "home", "Users"] {
            assert_found(&format!("/{top}/somebody"), "absolute path");
            assert_found(&format!("let p = \"/{top}/x\";"), "absolute path");
            assert_found(&format!("PATH=/usr/bin:/{top}/bin"), "absolute path");
            assert_found(&format!("file:///{top}/x"), "absolute path");
            assert_clean(&format!("../{top}/x and src/{top}/x and $HOME/{top}/x"));
            assert_clean(&format!("format!(\"{{dir}}/{top}/x\") and ~/{top}/x"));
        }
    }

    #[test]
    fn registry_hosts_are_found_except_in_the_lock_file() {
        for (name, end) in [
            ("crates", "io"),
            ("static.crates", "io"),
            ("PyPI", "org"),
            ("files.pythonhosted", "org"),
            ("registry.npmjs", "org"),
            ("deb.debian", "org"),
            ("huggingface", "co"),
        ] {
            assert_found(&format!("https://{name}.{end}/x"), "registry");
        }
        let line = format!("source = \"registry+https://example/crates.{}-index\"", "io");
        assert_eq!(faults_in("Cargo.lock", &line), [""; 0]);
        assert_eq!(faults_in("docs/Cargo.lock", &line).len(), 1);
        assert_clean("the crates in our tree, and PyPI by name");
    }

    #[test]
    fn secrets_are_found() {
        assert_found(&format!("id = AKIA{}", "A1".repeat(8)), "AWS key id");
        assert_found(&format!("id = ASIA{}", "A1".repeat(8)), "AWS key id");
        for kind in ["", "RSA ", "OPENSSH "] {
            let header = format!("-----BEGIN {kind}PRIVATE {}-----", "KEY");
            assert_found(&header, "private key");
        }
        let token = "abc123".repeat(6);
        assert_found(&format!("Authorization: Bearer {token}"), "bearer token");
        assert_found(&format!("ghp_{token}"), "access token");
        assert_found(&format!("sk-{token}"), "access token");
        assert_found(&format!("hf_{token}"), "access token");
    }

    #[test]
    fn talk_of_secrets_is_not_a_secret() {
        assert_clean("AKIA and a number; the bearer token is required; Bearer {token}");
        assert_clean("-----BEGIN CERTIFICATE-----");
    }

    #[test]
    fn a_fault_names_the_line_and_keeps_the_secret_to_itself() {
        let secret = format!("AKIA{}", "A1".repeat(8));
        let faults = faults_in("a.txt", &format!("one\ntwo\n{secret}\n"));
        assert_eq!(faults, ["a.txt:3: holds an AWS key id"]);
    }

    #[test]
    fn each_rule_passes_its_own_source() {
        assert_eq!(faults_in("contents.rs", include_str!("contents.rs")), [""; 0]);
    }
}
