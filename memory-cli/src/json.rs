//! Schemas of the commands' output with `--json`, from which `docs/json.md` is made.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};

use crate::{
    cli::ErrorLine,
    commands::{
        add, append, backup, completions, config, demo, disable, doctor, encrypt, erase, export, facts, find, hook,
        import, index, man, message, model, note, pin, plugins, quarantine, receipt, replay, restore, retention,
        search, sessions, show, stats, vacuum, verify_proof, watch,
    },
    output::{Noted, Of},
};

/// Schema (draft 2020-12) of each answer, by the command that prints it, in the order of the names.
#[must_use]
pub fn schemas() -> Vec<(&'static str, Schema)> {
    use memory_core::port::{ChatRequest, Verification};
    use memory_hooks::{
        DerivedState, Ledger, LedgerEntry, LevelPage, ListedConversation, Listing, Prompt, Reminder, RepairedSummary,
        ResummarizeReport, SummaryPage,
    };

    let all = vec![
        ("Errors", of::<ErrorLine<'_>>()),
        ("add", of::<add::Answer>()),
        ("append", of::<append::Answer<'_>>()),
        ("backup", of::<memory_store::BackupReport>()),
        ("backup --lost", of::<backup::Lost<'_>>()),
        ("backup --verify", of::<backup::Checked<'_>>()),
        ("browse", of::<Noted<'_, Of<'_, LevelPage>>>()),
        ("completions", of::<completions::Answer>()),
        ("config check", of::<config::Check<'_>>()),
        ("config init", of::<config::MadeFile>()),
        ("config path", of::<config::FileLocation>()),
        ("config show", of::<config::show::Answer<'_>>()),
        ("context", of::<Of<'_, Prompt>>()),
        ("context --messages", of::<ChatRequest>()),
        ("decrypt", of::<encrypt::Answer>()),
        ("demo", of::<demo::Answer<'_>>()),
        ("disable", of::<disable::Answer>()),
        ("doctor", of::<doctor::Answer<'_>>()),
        ("doctor (no store)", of::<doctor::NoStore<'_>>()),
        ("enable", of::<disable::Answer>()),
        ("encrypt", of::<encrypt::Answer>()),
        ("erase", of::<erase::Answer<'_>>()),
        ("expand", of::<message::Detail<'_>>()),
        ("expand (a run)", of::<Noted<'_, Of<'_, show::Answer<'_>>>>()),
        ("expand (a summary)", of::<Of<'_, SummaryPage>>()),
        ("export", of::<export::Answer<memory_store::Exported>>()),
        ("export --format", of::<export::Answer<export::written::Done>>()),
        ("facts add", of::<LedgerEntry>()),
        ("facts correct", of::<LedgerEntry>()),
        ("facts disable", of::<LedgerEntry>()),
        ("facts enable", of::<LedgerEntry>()),
        ("facts erase", of::<erase::Answer<'_>>()),
        ("facts history", of::<facts::Chain>()),
        ("facts list", of::<Ledger>()),
        ("facts search", of::<Ledger>()),
        ("find", of::<Noted<'_, find::Answer<'_>>>()),
        ("forget", of::<erase::Answer<'_>>()),
        ("fork", of::<ListedConversation>()),
        ("hook claude-code", of::<hook::ReminderAnswer>()),
        ("hook codex", of::<hook::ReminderAnswer>()),
        ("hook install", of::<hook::install::Answer<'_>>()),
        ("hook uninstall", of::<hook::install::Answer<'_>>()),
        ("import", of::<import::Answer<'_>>()),
        ("index", of::<index::Answer<'_>>()),
        ("list", of::<Noted<'_, &Listing>>()),
        ("man", of::<man::Page>()),
        ("man --to", of::<man::Pages>()),
        ("mark", of::<ListedConversation>()),
        ("model compare", of::<model::compare::Answer<'_>>()),
        ("model convert", of::<model::convert::Answer>()),
        ("model fetch", of::<model::fetch::Answer<'_>>()),
        ("model list", of::<model::list::Answer<'_>>()),
        ("model migrate", of::<model::migrate::Answer<'_>>()),
        ("model test", of::<model::test::Answer<'_>>()),
        ("model test (a chat model)", of::<model::chat::Answer>()),
        ("note", of::<note::Answer>()),
        ("pin", of::<pin::Answer<'_>>()),
        ("plugins check", of::<plugins::check::Answer<'_>>()),
        ("plugins info", of::<plugins::list::Strategy<'_>>()),
        ("plugins list", of::<plugins::list::Answer<'_>>()),
        ("provenance", of::<quarantine::Sources>()),
        ("quarantine", of::<memory_hooks::Quarantine>()),
        ("quarantine --list", of::<quarantine::Listed>()),
        ("receipt list", of::<receipt::Answer<'_>>()),
        ("receipt show", of::<memory::erasing::Receipt>()),
        ("receipt verify", of::<memory::erasing::ReceiptCheck>()),
        ("replay", of::<Of<'_, replay::Answer<'_>>>()),
        ("replay --check", of::<Of<'_, replay::Replayed<'_>>>()),
        ("restore", of::<restore::Restored<'_>>()),
        ("resume", of::<Of<'_, Reminder>>()),
        ("resummarize", of::<Of<'_, ResummarizeReport>>()),
        ("retention run", of::<memory::retention::RetentionReport>()),
        ("retention set", of::<retention::Answer<'_>>()),
        ("retention show", of::<retention::Answer<'_>>()),
        ("search", of::<Noted<'_, search::Answer<'_>>>()),
        ("sessions archive", of::<sessions::Archived<'_>>()),
        ("sessions create", of::<ListedConversation>()),
        ("sessions list", of::<Listing>()),
        ("sessions show", of::<sessions::show::Answer<'_>>()),
        ("sessions unarchive", of::<sessions::Archived<'_>>()),
        ("set", of::<ListedConversation>()),
        ("show", of::<Noted<'_, Of<'_, show::Answer<'_>>>>()),
        ("show --state", of::<DerivedState>()),
        ("stats", of::<stats::Answer<'_>>()),
        ("stats --over-time", of::<stats::over_time::Answer<'_>>()),
        ("summaries dissolve", of::<Of<'_, RepairedSummary>>()),
        ("summaries list", of::<Of<'_, SummaryPage>>()),
        ("summaries rewrite", of::<Of<'_, RepairedSummary>>()),
        ("tag", of::<ListedConversation>()),
        ("title", of::<ListedConversation>()),
        ("vacuum", of::<vacuum::Answer<'_>>()),
        ("verify", of::<Noted<'_, &Verification>>()),
        ("verify-proof", of::<verify_proof::Inclusion<'_>>()),
        ("verify-proof (of a history)", of::<verify_proof::Consistency<'_>>()),
        ("watch", of::<watch::Grown<'_>>()),
    ];
    #[cfg(feature = "chat")]
    let all = with_chat(all);
    all
}

/// The schemas with those of a build with chat models.
#[cfg(feature = "chat")]
fn with_chat(mut all: Vec<(&'static str, Schema)>) -> Vec<(&'static str, Schema)> {
    use crate::commands::ask;
    all.extend([("ask", of::<ask::Answer<'_>>()), ("demo --chat", of::<demo::needle::Answer>())]);
    all.sort_unstable_by_key(|(command, _)| *command);
    all
}

fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}
