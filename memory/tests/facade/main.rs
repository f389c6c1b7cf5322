//! The facade as a program uses it: any executor, threads of its own, background work, a store after a crash.

mod background;
mod backups;
mod blocking;
mod crash;
mod disabling;
mod ephemeral;
mod erasing;
mod examples;
mod executors;
mod failures;
mod held;
mod hooks;
mod ledger;
mod managers;
mod reading;
mod redacting;
mod sessions;
mod support;
