//! Maintenance of a log: verifying, salvaging, backing up and compacting it.

pub(super) mod backup;
pub(super) mod byte_scan;
pub(super) mod doctor;
pub(super) mod enclosing;
pub(super) mod encrypt;
pub(super) mod merkle;
pub(super) mod rescue;
pub(super) mod salvage;
pub(super) mod shred;
pub(super) mod vacuum;
pub(super) mod verify;
