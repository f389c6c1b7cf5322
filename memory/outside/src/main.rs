//! A program of somebody else's, in ten lines: `memory-outside STORE`.

use std::{env, error::Error};

use memory::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let memory = memory::blocking::open(env::args_os().nth(1).unwrap_or_else(|| "trip.memory".into()))?;
    let trip = memory.conversation("trip")?;
    trip.append(Message::user("The train leaves at 7:42 from platform 9."))?;
    println!("{}", trip.prompt("When does the train leave?")?.text());
    Ok(())
}
