//! The summaries of a conversation, as far as each covers consecutive messages.

use std::collections::HashMap;

use memory_core::{ConversationId, Level, MessageKey, WrittenBy};
use rusqlite::{Row, types::Value as Key};

use crate::{
    Item, Summarized, TranscriptError, Why,
    out::ItemQueue,
    records::RecordPlace,
    sqlite::{
        cells,
        database::{Database, Tables},
    },
};

const TABLE: &str = "summaries";
/// Strategy name under which the summaries are recorded.
const STRATEGY: &str = "lossless-claw";
const UNKNOWN_MODEL: &str = "unknown";

/// Messages and summaries of a conversation that were emitted.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    /// Keys of the emitted messages, in order.
    keys: Vec<MessageKey>,
    /// For each message row, the range of its messages in `keys`.
    rows: HashMap<String, (usize, usize)>,
    /// For each emitted summary, its level and the range of its messages.
    given: HashMap<String, (Level, usize, usize)>,
    /// Depth and id of the last summary that was read.
    last: Option<(Key, Key)>,
}

/// A row of the table of summaries.
struct SummaryRow {
    depth: Key,
    key: Key,
    id: String,
    kind: Option<String>,
    text: Option<String>,
    model: Option<String>,
}

impl Summaries {
    /// Records a message that a row gave.
    pub(super) fn note(&mut self, row: &Key, key: MessageKey) {
        let end = self.keys.len() + 1;
        self.rows.entry(cells::shown(row)).or_insert((end - 1, end)).1 = end;
        self.keys.push(key);
    }

    /// Records a row that gave no message.
    pub(super) fn note_empty(&mut self, row: &Key) {
        self.rows.insert(cells::shown(row), (self.keys.len(), self.keys.len()));
    }

    /// Emits the next summaries, children before their parents; `false` at the end.
    pub(super) fn give(
        &mut self,
        database: &mut Database,
        tables: &Tables,
        (conversation, id): (&Key, &ConversationId),
        out: &mut ItemQueue,
    ) -> Result<bool, TranscriptError> {
        if !tables.has(TABLE, &["summary_id", "conversation_id", "kind", "content"]) {
            return Ok(false);
        }
        let depth = if tables.has(TABLE, &["depth"]) { "coalesce(depth, 0)" } else { "kind = 'condensed'" };
        let model = tables.column(TABLE, "model");
        let from = format!(
            "SELECT {depth} AS place, summary_id, kind, content, {model} FROM {TABLE} WHERE conversation_id = ?1 AND \
             summary_id IS NOT NULL"
        );
        let order = "ORDER BY place, summary_id LIMIT 64";
        let rows = match &self.last {
            None => database.page(&format!("{from} {order}"), [conversation], SummaryRow::of)?,
            Some((depth_before, before)) => {
                let sql = format!("{from} AND ({depth}, summary_id) > (?2, ?3) {order}");
                database.page(&sql, [conversation, depth_before, before], SummaryRow::of)?
            }
        };
        let Some(last) = rows.last() else { return Ok(false) };
        self.last = Some((last.depth.clone(), last.key.clone()));
        for row in rows {
            out.report.records += 1;
            let covered = match row.kind.as_deref() {
                Some("leaf") => {
                    let linked = linked(database, tables, ("summary_messages", "message_id"), &row.key)?;
                    self.of_messages(&linked)
                }
                Some("condensed") => {
                    let linked = linked(database, tables, ("summary_parents", "parent_summary_id"), &row.key)?;
                    self.of_summaries(linked)
                }
                _ => Err("of an unknown kind"),
            };
            let text = row.text.filter(|text| !text.trim().is_empty()).ok_or("without words");
            match covered.and_then(|covered| Ok((covered, text?))) {
                Ok(((level, from, to, children), text)) => {
                    let messages = (to - from) as u64;
                    let ends = self.keys.get(from).zip(self.keys.get(to - 1));
                    let Some((first, last)) = ends.map(|(first, last)| (first.clone(), last.clone())) else { continue };
                    self.given.insert(row.id.clone(), (level, from, to));
                    let model = row.model.filter(|model| !model.trim().is_empty());
                    let written_by = WrittenBy::new(STRATEGY, model.unwrap_or_else(|| UNKNOWN_MODEL.to_owned()));
                    let (conversation, id) = (id.clone(), row.id);
                    let summary =
                        Summarized { conversation, id, level, first, last, messages, children, text, written_by };
                    out.report.summaries += 1;
                    out.items.push_back(Item::Summarized(summary));
                }
                Err(why) => {
                    let what = format!("summary {why}");
                    out.skip_at(Why::Unfit, &what, RecordPlace::of_line(out.report.records));
                }
            }
        }
        Ok(true)
    }

    /// Messages that a leaf covers.
    fn of_messages(&self, messages: &[String]) -> Result<Covered, Unfit> {
        let runs: Option<Vec<_>> = messages.iter().map(|message| self.rows.get(message).copied()).collect();
        let mut runs = runs.ok_or("of messages that are not there")?;
        // An empty row is consecutive to its neighbours wherever it is.
        runs.retain(|(from, to)| from < to);
        runs.sort_unstable();
        let (from, to) = tiled(&runs)?;
        Ok((Level::Summary, from, to, Vec::new()))
    }

    /// Messages that a summary of summaries covers.
    fn of_summaries(&self, mut children: Vec<String>) -> Result<Covered, Unfit> {
        let given: Option<Vec<_>> = children.iter().map(|child| self.given.get(child)).collect();
        let given = given.ok_or("of a summary that is not taken over")?;
        let is_leaf = |(level, ..): &&(Level, usize, usize)| *level == Level::Summary;
        let level = if given.iter().all(is_leaf) { Level::Meta } else { Level::Archive };
        let mut runs: Vec<_> = given.into_iter().map(|(_, from, to)| (*from, *to)).collect();
        runs.sort_unstable();
        children.sort_by_key(|child| self.given.get(child).map(|(_, from, to)| (*from, *to)));
        let (from, to) = tiled(&runs)?;
        Ok((level, from, to, children))
    }
}

/// Why a summary covers no consecutive messages.
type Unfit = &'static str;

/// Level of a summary, the range of messages that it covers, and the summaries that it merges.
type Covered = (Level, usize, usize, Vec<String>);

/// The range that consecutive runs cover together.
fn tiled(runs: &[(usize, usize)]) -> Result<(usize, usize), Unfit> {
    let Some(((from, _), (_, to))) = runs.first().zip(runs.last()) else { return Err("of nothing") };
    let is_tiled = runs.windows(2).all(|pair| matches!(pair, [(_, end), (next, _)] if end == next));
    if is_tiled { Ok((*from, *to)) } else { Err("of messages with others between them") }
}

/// Ids that a table links to a summary.
fn linked(
    database: &mut Database,
    tables: &Tables,
    (table, column): (&str, &str),
    summary: &Key,
) -> Result<Vec<String>, TranscriptError> {
    if !tables.has(table, &["summary_id", column]) {
        return Ok(Vec::new());
    }
    let from = format!("SELECT {column} FROM {table} WHERE summary_id = ?1 AND {column} IS NOT NULL");
    let read = |row: &Row<'_>| row.get::<_, Key>(0);
    let (mut all, mut last): (Vec<String>, Option<Key>) = (Vec::new(), None);
    loop {
        let page = database.page_of(&from, summary, (column, last.as_ref()), read)?;
        let Some(end) = page.last() else { return Ok(all) };
        last = Some(end.clone());
        all.extend(page.iter().map(cells::shown));
    }
}

impl SummaryRow {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (depth, key) = (row.get(0)?, row.get(1)?);
        let id = cells::text(row, 1)?.unwrap_or_default();
        let (kind, text, model) = (cells::text(row, 2)?, cells::text(row, 3)?, cells::text(row, 4)?);
        Ok(Self { depth, key, id, kind, text, model })
    }
}
