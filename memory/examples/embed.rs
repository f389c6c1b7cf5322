//! An agent's memory in one program: messages go in, and what a model is shown comes out. Found by meaning where an
//! embedding model is on this machine (`memory model fetch`), and by words elsewhere.

use std::{error::Error, path::PathBuf};

use memory::{Message, PromptOptions};

fn main() -> Result<(), Box<dyn Error>> {
    // Any executor will do.
    println!("{}", pollster::block_on(run("trip.memory".into()))?);
    Ok(())
}

pub(crate) async fn run(store: PathBuf) -> Result<String, Box<dyn Error>> {
    let memory = memory::open(store)?;
    let trip = memory.conversation("trip")?;
    trip.append(Message::user("The train leaves at 7:42 from platform 9.").speaker("Maya")).await?;
    trip.append(Message::assistant("Noted. Shall I book a seat by the window?")).await?;
    trip.append(Message::user("Yes, and a hotel with breakfast near the station.").speaker("Maya")).await?;

    for hit in trip.search("When does the train leave?", 1).await?.hits {
        let message = &hit.node.message; // exactly as it was said
        println!("{}: {}", message.speaker_or_role(), message.text());
    }
    let prompt = trip.prompt_with("When does the train leave?", &PromptOptions::new(1_000)).await?;
    prompt.notices.iter().for_each(|notice| eprintln!("note: {notice}"));
    Ok(prompt.text().to_owned())
}
