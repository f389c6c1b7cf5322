//! Commands that erase, mark and name.

use memory::{
    Mark,
    erasing::{EraseOptions, EraseRequest, Receipt},
    ledger::EntryId,
};
use memory_core::text::one_line;

use super::{Input, Session, clear_silently, misused, node, nodes, showing, width};
use crate::{
    commands::{erase, message, receipt},
    markdown::wrap_after,
    output::{counted, shorten},
};

/// Most messages whose first words are shown before they are erased.
const MOST_SHOWN: usize = 5;
/// Most characters of their first words.
const FIRST_WORDS: usize = 60;

pub(super) async fn forget(session: &mut Session<'_>, rest: &str, input: &mut Input) -> anyhow::Result<()> {
    let (what, is_agreed) = match rest.strip_suffix("--yes") {
        Some(what) => (what.trim(), true),
        None => (rest, false),
    };
    if let Ok(id) = what.parse::<EntryId>() {
        return showing::hide(session, id).await;
    }
    let conversation = session.conversation.id().clone();
    let (request, shown) = match what {
        "" => return Err(misused("forget").into()),
        "all" => (EraseRequest::Conversation(conversation), None),
        text => {
            let range = nodes(session, text).await?;
            (EraseRequest::Nodes { conversation, nodes: vec![range] }, Some(range))
        }
    };
    let plan = session.memory.plan_erasure(request).await?;
    erase::preview(session.output, &plan)?;
    if plan.is_empty() {
        return Ok(session.print("nothing to erase")?);
    }
    let range = match shown {
        Some(range) => Some(range),
        None => memory::NodeRange::first_n(session.conversation.overview().await?.nodes),
    };
    if let Some(range) = range {
        let found = session.conversation.messages(range).await?;
        for node in found.iter().take(MOST_SHOWN) {
            let words = format!("{} {}", node.id, shorten(&message::beginning(node), FIRST_WORDS));
            wrap_after("  ", "    ", &one_line(&words), width())
                .iter()
                .try_for_each(|line| session.output.line(line))?;
        }
        if found.len() > MOST_SHOWN {
            session.print(&format!("  and {} more", found.len() - MOST_SHOWN))?;
        }
    }
    if !is_agreed && !input.agrees()? {
        let how = if input.is_script() { ": in a script, end the line with --yes" } else { "" };
        return Ok(session.print(&format!("nothing was erased{how}"))?);
    }
    let erased = session.memory.erase(plan, EraseOptions::default()).await?;
    print_receipt(session, &erased)?;
    // Nothing is left to go back to.
    if what == "all" { clear_silently(session) } else { Ok(()) }
}

fn print_receipt(session: &Session<'_>, erased: &Receipt) -> anyhow::Result<()> {
    if !erased.is_clean() {
        return Ok(receipt::print(session.output, erased)?);
    }
    Ok(session.print(&format!(
        "{} erased for good, and no file or search of the store has their words; `memory receipt show` proves it",
        counted(erased.messages(), "message is", "messages are")
    ))?)
}

pub(super) async fn important(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    let (what, is_on) = match rest.strip_suffix("off") {
        Some(what) => (what.trim(), false),
        None => (rest, true),
    };
    if what.is_empty() {
        session.conversation.mark(Mark::Important, is_on).await?;
        let how = if is_on { "is marked as important; !important off takes it back" } else { "is not marked any more" };
        return Ok(session.print(&format!("this conversation {how}"))?);
    }
    let node = node(session, what).await?;
    session.conversation.pin(node, is_on).await?;
    Ok(session.print(&match is_on {
        true => {
            format!("message {node} stays word for word in every view that it fits; !important {node} off: no more")
        }
        false => format!("message {node} is summarized as others are"),
    })?)
}

pub(super) async fn save(session: &Session<'_>, rest: &str) -> anyhow::Result<()> {
    if session.kept.is_some() {
        return Ok(session.print("nothing of this conversation is kept, and no title: !nopersist off goes back")?);
    }
    let id = session.conversation.id();
    let kept = counted(session.conversation.overview().await?.nodes, "message", "messages");
    if rest.is_empty() {
        return Ok(session.print(&format!("`{id}` has {kept}: each is kept as soon as it is said"))?);
    }
    session.conversation.set_title(rest).await?;
    Ok(session
        .print(&format!("the title of `{id}` is \"{}\": !load finds it; its {kept} are kept", shorten(rest, 80)))?)
}
