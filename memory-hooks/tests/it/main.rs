//! Behaviour of a memory as a whole, over the fakes of `memory-core`.

#[cfg(test)]
mod background;
#[cfg(test)]
mod compaction;
#[cfg(test)]
mod damage;
mod failing;
#[cfg(test)]
mod forks;
mod invocation;
#[cfg(test)]
mod kept_out;
#[cfg(test)]
mod managers;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod model_written;
#[cfg(test)]
mod overflow;
#[cfg(test)]
mod prompt;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod recall_hook;
#[cfg(test)]
mod repairing;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod resummarize;
#[cfg(test)]
mod retelling;
mod running;
#[cfg(test)]
mod scope;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod smart_context;
#[cfg(test)]
mod standing;
#[cfg(test)]
mod support;
#[cfg(test)]
mod traps;
#[cfg(test)]
mod uses;
#[cfg(test)]
mod wire;
