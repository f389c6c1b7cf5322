//! The process in which a plugin is checked.

use std::{
    io::{self, Read},
    os::{
        fd::AsFd,
        unix::{net::UnixStream, process::parent_id},
    },
    time::Duration,
};

use anyhow::{Context, ensure};
use memory_plugins::conformance::{Check, CheckOptions, Verdict, check};
use serde_json::json;

use super::{
    Args,
    signed::{KEY, Signature},
};

/// Runs the checks and signs each result.
///
/// Standard input is the socket to the parent. The key is read from it before the library is opened, so the plugin
/// cannot read it there.
pub(super) fn run(args: &Args, parent: u32) -> anyhow::Result<()> {
    end_with_parent();
    ensure!(parent_id() == parent, "`--here` is for `memory plugins check` itself");
    let channel = io::stdin().as_fd().try_clone_to_owned().context("no socket to the parent")?;
    let mut channel = UnixStream::from(channel);
    let mut key = [0; KEY];
    channel.read_exact(&mut key).context("no key from the parent")?;
    let mut signature = Signature::new(key);
    let mut options = CheckOptions::default();
    options.deadline = Duration::from_secs(args.deadline.max(1).into());
    options.configuration.clone_from(&args.configuration);
    let mut end = |check: Check, verdict: &Verdict| {
        let (verdict, why) = match verdict {
            Verdict::Kept => ("kept", ""),
            Verdict::Skipped(why) => ("skipped", *why),
            Verdict::Broken(why) => ("broken", why.as_str()),
        };
        let verdict = json!({"check": check.name(), "verdict": verdict, "why": why});
        if signature.write(&verdict, &channel).is_err() {
            // The parent no longer waits for the other checks.
            std::process::exit(1);
        }
    };
    if let Err(error) = check(&args.file, &options, &mut |_| {}, &mut end) {
        signature.write(&json!({"error": error.to_string()}), &channel)?;
    }
    Ok(())
}

/// Has the system end this process when its parent ends in any way.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    {
        #[expect(unsafe_code, reason = "a call of the system's library")]
        // SAFETY: the function takes numbers and touches no memory of ours.
        let done = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        if done != 0 {
            tracing::warn!(error = %io::Error::last_os_error(), "a plugin that hangs may outlive this command");
        }
    }
}
