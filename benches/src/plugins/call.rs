//! A call through the interface against a direct one.

use std::{hint::black_box, time::Instant};

use abi_stable::{library::lib_header_from_path, sabi_trait::TD_Opaque};
use anyhow::{Result, anyhow, ensure};
use memory_plugin_abi::{
    testing::{TestHost, source},
    v1::{Failure, Level, PluginModule_Ref, SummarizerPlugin, SummaryHost, SummaryHost_TO, SummaryJob, Written},
};
use memory_plugin_fixture_misbehaves::Misbehaves;

use super::library::{MESSAGE, fixture};
use crate::{
    figure::Figure,
    rounds::{Entrant, Samples, interleave},
};

/// Calls of a round.
const CALLS: u32 = 200_000;

/// The same function behind a vtable of this program.
trait Direct {
    fn summarize(&self, job: &SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure>;
}

impl Direct for Misbehaves {
    fn summarize(&self, job: &SummaryJob<'_>, host: &dyn SummaryHost) -> Result<Written, Failure> {
        SummarizerPlugin::summarize(self, job, host)
    }
}

pub(super) fn overhead() -> Result<Figure> {
    let header = lib_header_from_path(&fixture()?).map_err(|error| anyhow!("{error}"))?;
    let module: PluginModule_Ref = header.init_root_module().map_err(|error| anyhow!("{error}"))?;
    let behind = module.new_summarizer()("{}".into()).into_result().map_err(|error| anyhow!("{}", error.message))?;
    let direct: Box<dyn Direct> = Box::new(Misbehaves::new("{}").map_err(|error| anyhow!("{}", error.message))?);
    let host = TestHost::default();
    let sources = [source(1, MESSAGE)];
    let job = SummaryJob { sources: (&sources[..]).into(), max_tokens: 20, level: Level::SUMMARY };
    let [[through], [directly]] = interleave([
        Entrant::new("through the interface", ["ns"], || {
            time(|| behind.summarize(black_box(job), SummaryHost_TO::from_ptr(&host, TD_Opaque)).into_result())
        }),
        Entrant::new("directly", ["ns"], || time(|| direct.summarize(black_box(&job), &host))),
    ])?;
    let difference =
        through.values.iter().zip(&directly.values).map(|(through, directly)| through - directly).collect();
    let note = format!(
        "the same function called through the interface, its guard against panics included, less called by `dyn`: \
         {:.0} ns less {:.0} ns",
        crate::stats::Spread::of(&through.values).median,
        crate::stats::Spread::of(&directly.values).median,
    );
    let samples = Samples { name: "memory-plugin-abi".to_owned(), unit: "ns", values: difference };
    Ok(Figure::absolute("abi_call_overhead_ns", &samples, note))
}

/// Nanoseconds a call.
fn time(mut call: impl FnMut() -> Result<Written, Failure>) -> Result<[f64; 1]> {
    let start = Instant::now();
    let mut bytes = 0;
    for _ in 0..CALLS {
        bytes += black_box(call()).map_err(|error| anyhow!("{}", error.message))?.text.len();
    }
    let took = start.elapsed();
    ensure!(bytes == CALLS as usize * "fine".len(), "the answers are not those that were asked for");
    Ok([took.as_secs_f64() * 1e9 / f64::from(CALLS)])
}
