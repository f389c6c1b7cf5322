//! `memory chat`: a conversation with a chat model in the terminal, kept by the memory.

mod agent;
mod ahead;
mod bang;
mod footer;
mod input;
mod live;
mod session;
mod signals;
mod waiting;

use clap::Args as ClapArgs;
use memory::{Access, Builder};

pub(super) use self::{
    agent::{AgentArgs, begun},
    ahead::is_ready,
    footer::learned,
    live::Live,
    signals::Signals,
};
use self::{
    input::{Entered, Input},
    session::{Flow, Session},
};
use crate::{failure::Usage, globals::Globals, terminal::HeldLog};

/// Talks with a chat model in the terminal; every message is kept before the next step.
///
/// A line is a message, and one that ends with \ goes on in the next. `!help` lists the commands of a chat, `exit` leaves it.
/// Ctrl-C interrupts an answer and keeps what came; twice leaves. Nothing is lost if the program is killed: --continue
/// takes the turn up where it was.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Continue a conversation: `last`, its name or the beginning of it, or its title [default: begin a new one]
    #[arg(long = "continue", value_name = "last|ID")]
    again: Option<String>,
    /// The same, as the first argument or by -c; a new name begins one
    #[arg(value_name = "CONVERSATION", conflicts_with = "again")]
    conversation: Option<String>,
    #[command(flatten)]
    agent: AgentArgs,
}

pub(crate) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<()> {
    if globals.output.json {
        return Err(Usage("a chat is for people: `memory ask --json` is for programs".to_owned()).into());
    }
    let store = globals.store()?;
    let access = if store.join("FORMAT").exists() { Access::Update } else { Access::Write };
    let config = args.agent.config(globals, store, access);
    let memory = Builder::of(config).open()?;
    let model = args.agent.model(&memory)?;
    let mut session = Session::begin(memory, model, &args.agent, globals)?;
    match (&args.again, &args.conversation) {
        (Some(name), _) => session.load(name).await?,
        (None, Some(name)) => session.load_or_begin(name).await?,
        (None, None) => {}
    }
    session.greet()?;
    let mut input = Input::open(session.said_before().await?)?;
    let signals = Signals::listen()?;
    // Lines of the log would stand in the middle of an answer, and of a line that is edited.
    let _held = HeldLog::begin();
    let went_on = session.go_on(&signals).await;
    session.reported(went_on)?;
    // The next Ctrl-C leaves after one at the prompt, which a line may have begun again.
    let mut is_warned = false;
    loop {
        session.before_input().await?;
        let flow = match input.next(&session.typed(), session.kept.is_some())? {
            Entered::End => Flow::Leave,
            Entered::Interrupt if is_warned => Flow::Leave,
            Entered::Interrupt => {
                is_warned = true;
                globals.output.line("(Ctrl-C again leaves)")?;
                continue;
            }
            Entered::Text(text) => session.entered(&text, &mut input, &signals).await?,
        };
        is_warned = false;
        if flow == Flow::Leave || signals.interruptions() > 1 {
            break;
        }
    }
    session.leave(input.is_script()).await
}
