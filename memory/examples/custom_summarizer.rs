//! A summarizer of a program's own: as many whole sentences of each source as its share of the budget allows.

use std::{error::Error, path::PathBuf, sync::Arc};

use memory::{
    Builder, Message, Timestamp,
    port::{BoxFuture, SummarizeError, Summarizer, SummaryJob, WrittenBy, WrittenSummary},
};

#[derive(Debug)]
struct FirstSentences;

impl Summarizer for FirstSentences {
    fn identity(&self) -> WrittenBy {
        WrittenBy::new("first-sentences", "1")
    }

    fn summarize<'a>(&'a self, job: SummaryJob<'a>) -> BoxFuture<'a, Result<WrittenSummary, SummarizeError>> {
        // A summarizer that asks a model awaits it here. If it fails, or breaks the budget, the built-in one takes
        // over.
        Box::pin(async move {
            let mut text = String::new();
            for source in job.sources {
                for sentence in source.text.split_inclusive(['.', '!', '?']).take(1) {
                    let longer = format!("{text}{}{}", if text.is_empty() { "" } else { " " }, sentence.trim());
                    if job.counter.count(&longer) > job.max_tokens {
                        return finish(text);
                    }
                    text = longer;
                }
            }
            finish(text)
        })
    }
}

fn finish(text: String) -> Result<WrittenSummary, SummarizeError> {
    if text.is_empty() {
        return Err(SummarizeError::new(FirstSentences.identity(), "no sentence is short enough"));
    }
    Ok(WrittenSummary::new(text))
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run("summarized.memory".into())?);
    Ok(())
}

pub(crate) fn run(store: PathBuf) -> Result<String, Box<dyn Error>> {
    let memory = Builder::new(store).summarizer(Arc::new(FirstSentences)).open()?;
    let memory = memory::blocking::Memory::from(memory);
    let talk = memory.conversation("walks")?;
    let remark = |day: i64| {
        let text = format!(
            "Day {day} was a walk along the river. It took us from the station past the market and the old town hall, \
             and nobody was in a hurry to be anywhere else before dinner, which we had late, as one does there."
        );
        (Message::user(text), Timestamp::from_millis(day * 86_400_000))
    };
    talk.append_batch((1..=60).map(remark).collect())?;
    memory.catch_up()?; // or wait for the background to do it
    let prompt = talk.prompt_with("What did we do?", &memory::PromptOptions::new(1_000))?;
    Ok(prompt.text().to_owned())
}
