//! The sources of a merged summary: messages for a META, child summaries for an ARCHIVE.

use std::collections::BTreeMap;

use memory_core::{DISABLED, ERASED, Level, Node, NodeId, NodeRange, Summary, SummaryMetadata, port::SummarySource};
use memory_strategies::{Ended, StandingKind, StandingLine};

use super::writing::{CHUNK, Writer, dated, is_of_a_lost_message};
use crate::{MemoryError, learned::Learned, prompt::learning, render, snapshot_cache::Snapshot};

/// Most bytes of a message that is read again; a longer one is represented by its SUMMARY. So the sources of a META
/// stay bounded, and one long text does not outweigh a group of short ones.
const LONGEST_READ_AGAIN: usize = 8 << 10;
/// Messages after those of a summary in which a change may be about one of its sentences.
const SOON: u64 = 128;
/// Messages in memory at once, whatever their length.
const AT_ONCE: usize = 8;

impl Writer<'_> {
    /// The sources of a summary of this level over `children`, in their order: one for each child, so that sources and
    /// children cover the same messages.
    ///
    /// A META is written from the messages, since each level of spans of spans moves further from the original words. A
    /// message that is too long or lost is represented by its SUMMARY. A message excluded from summaries is blank. If
    /// no message is available, the texts of the children are used.
    ///
    /// The sources follow from recorded data: the input hashes of the children come from the messages, so a META needs
    /// no hash of its own for them.
    pub(super) async fn merged_sources(
        &self,
        level: Level,
        children: &[Summary],
    ) -> Result<Vec<SummarySource>, MemoryError> {
        let told = children.iter().map(|child| {
            let mut told = self.told(child);
            if hidden_text(child).is_some() {
                told.text.clear();
            }
            told
        });
        if level != Level::Meta {
            let mut told: Vec<_> = told.collect();
            let ended = self.ended(children).await?;
            told.iter_mut().for_each(|told| told.text = ended.left_out_of(&told.text));
            return Ok(told);
        }
        let mut said = self.said(children).await?;
        if said.values().all(|source| source.text.trim().is_empty()) {
            return Ok(told.collect());
        }
        let sources = children.iter().zip(told).map(|(child, mut told)| match said.remove(&child.body.span.first()) {
            Some(said) => said.metadata(told.metadata),
            // "(lost)" between messages adds nothing.
            None => {
                if is_of_a_lost_message(&child.body) {
                    told.text.clear();
                }
                told
            }
        });
        Ok(sources.collect())
    }

    /// The sentences under summaries that messages under later ones changed: decisions that another one replaced, and
    /// whatever a change soon after the summary's messages is about.
    async fn ended(&self, children: &[Summary]) -> Result<Ended, MemoryError> {
        let Some(span) = children.iter().map(|child| child.body.span).reduce(NodeRange::hull) else {
            return Ok(Ended::default());
        };
        let snapshot = Snapshot::read(self.ports, self.conversation).await?;
        let Learned { lines, changes, speakers, .. } =
            learning::learned(self.ports, self.conversation, &snapshot).await?;
        let mut ended = Ended::among(speakers.iter().map(String::as_str));
        let of_span = lines.from(span.first()).take_while(|line| line.node <= span.last());
        let is_replaced = |line: &&StandingLine| {
            let by = line.first_replaced_by().filter(|(by, _)| *by <= span.last());
            by.is_some() && line.standing.kind == StandingKind::Decision
        };
        let replaced: Vec<_> = of_span.filter(is_replaced).collect();
        let nodes: Vec<_> = replaced.iter().map(|line| NodeRange::single(line.node)).collect();
        self.read_each(&nodes, CHUNK, |node| {
            let text = node.message.text();
            let of_node = replaced.get(replaced.partition_point(|line| line.node < node.id)..).unwrap_or_default();
            for line in of_node.iter().take_while(|line| line.node == node.id) {
                ended.add(&dated(node, line.standing.said_in(&text)));
            }
        })
        .await?;
        for child in children {
            let last = child.body.span.last();
            let soon = last.get().saturating_add(SOON).min(span.last().get());
            let behind = |node: u64| changes.partition_point(|(by, _)| by.get() <= node);
            let later = changes.get(behind(last.get())..behind(soon)).unwrap_or_default();
            ended.add_changed_of(&child.body.text, later.iter().map(|(_, sentence)| sentence.as_str()));
        }
        Ok(ended)
    }

    /// Reads nodes that are not hidden, so many at once.
    async fn read_each(
        &self,
        nodes: &[NodeRange],
        at_once: usize,
        mut take: impl FnMut(&Node),
    ) -> Result<(), MemoryError> {
        for chunk in nodes.chunks(at_once) {
            for run in NodeRange::merge(chunk.to_vec()) {
                let read = self.ports.store.readable_nodes(self.conversation, run).await?;
                read.nodes.iter().filter(|node| !node.is_hidden()).for_each(&mut take);
            }
        }
        Ok(())
    }

    /// A summary as a source.
    fn told(&self, child: &Summary) -> SummarySource {
        let metadata = child.body.metadata.clone().topics(self.redactor.clean_topics(&child.body.metadata.topics));
        let mut text = self.redactor.redact(&child.body.text);
        // Above SUMMARY, a strategy wrote the separators between speakers, so they stay.
        if child.body.level == Level::Summary {
            text = render::escape_names(&text);
        }
        SummarySource::new(child.body.span, text).metadata(metadata)
    }

    /// The readable messages under SUMMARYs, long ones in the words of these.
    async fn said(&self, children: &[Summary]) -> Result<BTreeMap<NodeId, SummarySource>, MemoryError> {
        // The hash of a "(lost)" SUMMARY does not cover its message, even if that was restored since.
        let of_one = |child: &&Summary| {
            child.body.level == Level::Summary && child.body.span.count() == 1 && !is_of_a_lost_message(&child.body)
        };
        let nodes: Vec<_> = children.iter().filter(of_one).map(|child| child.body.span).collect();
        let mut said = BTreeMap::new();
        self.read_each(&nodes, AT_ONCE, |node| {
            let mut source = self.message(node, SummaryMetadata::default());
            let of_node = |child: &&Summary| child.body.span.first() == node.id;
            if is_short(node) {
                source.text = dated(node, &source.text);
            } else if let Some(child) = children.iter().find(of_node).filter(|_| !source.text.is_empty()) {
                source.text = self.told(child).text;
            }
            said.insert(node.id, source);
        })
        .await?;
        Ok(said)
    }
}

/// Text of a summary that covers only erased or disabled messages, which adds nothing to another one.
pub(super) fn hidden_text(summary: &Summary) -> Option<&'static str> {
    [ERASED, DISABLED].into_iter().find(|text| summary.body.text == *text)
}

fn is_short(node: &Node) -> bool {
    node.message.text().len() <= LONGEST_READ_AGAIN
}
