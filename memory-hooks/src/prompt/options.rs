//! Options of a prompt: its budget, and the shares of it.

use memory_core::{ConversationId, Filter, Timestamp, port::Conversations};

/// Options of a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PromptOptions {
    /// The most tokens of the whole prompt, the question and the instructions included. A hard ceiling.
    pub budget: u32,
    /// The application's own instructions, which [`Prompt::messages`](crate::Prompt::messages) puts first, as the
    /// system's words. The text of a prompt and its record do not hold them.
    pub instructions: Option<String>,
    /// The history's share of the budget, 0..=1, that recall leaves to it if not everything fits verbatim; 0 by
    /// default: the history is its end and its coarsest view, and is refined with the room that recall does not need. A
    /// manager that shows in the history what others recall takes its own share.
    pub history_share: f32,
    /// The most hits that recall considers.
    pub recall_limit: usize,
    /// Messages shown before and after each hit.
    pub radius: u64,
    /// The share of recall's room that the simplest question gets, 0..=1. The more complex a question, the nearer its
    /// share is to 1. At 1, the default, every question gets all.
    pub least_share: f32,
    /// Conversations to recall from next to this one; none by default. Their messages stand under headings of their
    /// own. If this one has an owner, they must be the same owner's. With others, a quarter of the budget is kept for
    /// recall; a conversation that fits only without it is not shown verbatim as a whole.
    pub scope: Conversations,
    /// True if recall also searches earlier conversations that the question mentions by title or time, at most three,
    /// with a [`Notice::MentionFollowed`](memory_core::port::Notice::MentionFollowed) for each. Off by default, since
    /// the prompt is recorded in this conversation and may be passed on with it. Conversations of another owner are
    /// never followed.
    pub follow_mentions: bool,
    /// True, by default, if recall also searches the documents that were added
    /// ([`Mark::Document`](memory_core::Mark::Document)) for the conversation's owner. A running agent
    /// ([`Conversation::turn`](crate::Conversation::turn)) searches only its own conversation.
    pub documents: bool,
    /// Filter of the messages that may be recalled. The history is not filtered: it covers everything.
    pub filter: Filter,
    /// Time of the question, which the model sees; by default the present, by the clock. A replay or an evaluation sets
    /// the time of the last message.
    pub now: Option<Timestamp>,
    /// True if the model has a tool that gives a whole message by its number (`expand_node`), which the prompt then
    /// mentions where it leaves something out. Off by default.
    pub expands: bool,
    /// Largest share of the budget, 0..=1, that a running agent ([`Conversation::turn`](crate::Conversation::turn))
    /// recalls for one message of the user; of a small budget 200 tokens, or a quarter if that is less. Recalled
    /// messages stay, so a larger share fills the window sooner, and the window moves more often.
    pub turn_share: f32,
    /// Share of the budget, 0..=1, that the history of a running agent keeps when it does not fit any more. A smaller
    /// share moves the window, and loses a provider's cache, less often, and leaves less history after that, and more
    /// room for recall.
    pub window_floor: f32,
    /// True if a model judges which of the shown summaries matter for the question; the turns under them are then shown
    /// verbatim next to the history, in at most half of recall's room. Off by default. The model is that of
    /// [`MemoryBuilder::judge`](crate::MemoryBuilder::judge); its failure only adds a
    /// [`Notice::NotJudged`](memory_core::port::Notice::NotJudged).
    pub smart_context: bool,
    /// True if the view is recorded, so that it can be shown again later. A view that cannot be recorded, as in a
    /// read-only store, is still shown.
    pub record: bool,
}

impl Default for PromptOptions {
    fn default() -> Self {
        Self {
            budget: 4_000,
            instructions: None,
            history_share: 0.0,
            recall_limit: 200,
            radius: 0,
            least_share: 1.0,
            scope: Conversations::Only(Vec::new()),
            follow_mentions: false,
            documents: true,
            filter: Filter::default(),
            now: None,
            expands: false,
            turn_share: 0.05,
            window_floor: 0.3,
            smart_context: false,
            record: true,
        }
    }
}

impl PromptOptions {
    /// Most tokens that a running agent recalls for one message of the user.
    pub(crate) fn turn_room(&self) -> u32 {
        /// Room for some messages even if the budget is small.
        const LEAST: u32 = 200;
        share_of(self.budget, self.turn_share).max(LEAST.min(self.budget / 4))
    }

    /// The default options with this budget.
    #[must_use]
    pub fn new(budget: u32) -> Self {
        Self { budget, ..Self::default() }
    }

    memory_core::setters! {
        some into instructions: String,
        const history_share: f32,
        const recall_limit: usize,
        const radius: u64,
        const least_share: f32,
        scope: Conversations,
        const follow_mentions: bool,
        const documents: bool,
        filter: Filter,
        into now: Option<Timestamp>,
        const expands: bool,
        const turn_share: f32,
        const window_floor: f32,
        const smart_context: bool,
        const record: bool,
    }

    /// True if messages of other conversations may be recalled.
    pub(crate) fn reaches_others(&self) -> bool {
        !matches!(&self.scope, Conversations::Only(others) if others.is_empty())
    }

    /// The same options with these conversations in the scope, too.
    pub(crate) fn also_of(&self, conversations: impl Iterator<Item = ConversationId>) -> Self {
        let scope = match &self.scope {
            Conversations::All => Conversations::All,
            Conversations::Only(named) => {
                let mut all = named.clone();
                all.extend(conversations.filter(|one| !named.contains(one)));
                Conversations::Only(all)
            }
        };
        Self { scope, ..self.clone() }
    }

    /// Tokens that are kept for other conversations in the scope, even if this one fits verbatim.
    pub(crate) fn elsewhere_tokens(&self) -> u32 {
        if self.reaches_others() { share_of(self.budget, ELSEWHERE) } else { 0 }
    }

    /// The same options for a text that leaves room for `tokens` next to it.
    pub(crate) fn without(&self, tokens: u32) -> Self {
        Self { budget: self.budget.saturating_sub(tokens), ..self.clone() }
    }
}

/// The most tokens of a history next to a question of `question` tokens.
///
/// The limit depends on the question only in steps, so that the history stays the same from question to question where
/// nothing is recalled. The reserve for the question is a thirty-second of the budget and at least 64 tokens, and
/// doubles until the question fits.
pub(crate) fn history_ceiling(budget: u32, question: u32) -> u32 {
    let mut reserve = budget.div_ceil(32).max(64);
    while reserve < question && reserve < budget {
        reserve = reserve.saturating_mul(2);
    }
    budget.saturating_sub(reserve)
}

/// Share of a budget that a conversation that fits verbatim leaves to recall from others.
const ELSEWHERE: f32 = 0.25;

/// A share of a budget.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
pub(crate) fn share_of(budget: u32, share: f32) -> u32 {
    (f64::from(budget) * f64::from(share)) as u32
}
