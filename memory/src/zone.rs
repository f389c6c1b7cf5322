//! The user's time zone.

use jiff::tz::{Offset, TimeZone};
use memory_core::{Timestamp, port::Clock};
use memory_hooks::SystemClock;

/// Name of the zone of this machine.
const LOCAL: &str = "local";
/// Milliseconds of a day. A time known only by its day is stored as midnight UTC, and means that day everywhere.
const DAY: i64 = 86_400_000;

/// A name that is no time zone.
#[derive(Debug, thiserror::Error)]
#[error("{name:?} is no time zone: name one as in Europe/Berlin, an offset as in +02:00, or `local`")]
pub struct UnknownZone {
    /// The name.
    pub name: String,
    /// Cause, where the machine gave one.
    #[source]
    source: Option<jiff::Error>,
}

/// The system's clock in a time zone.
#[derive(Debug)]
pub(crate) struct ZonedClock(TimeZone);

impl ZonedClock {
    /// The clock in the zone of that name.
    ///
    /// # Errors
    /// If there is no such zone.
    pub(crate) fn in_zone(name: &str) -> Result<Self, UnknownZone> {
        let unknown = |source| UnknownZone { name: name.to_owned(), source };
        let zone = match fixed(name) {
            Some(offset) => TimeZone::fixed(offset),
            None if name == LOCAL => TimeZone::try_system().map_err(|error| unknown(Some(error)))?,
            None => TimeZone::get(name).map_err(|error| unknown(Some(error)))?,
        };
        Ok(Self(zone))
    }
}

/// The offset in `+02:00`.
fn fixed(name: &str) -> Option<Offset> {
    let is_east = match name.chars().next()? {
        '+' => true,
        '-' => false,
        _ => return None,
    };
    let (hours, minutes) = name.get(1..)?.split_once(':')?;
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok().filter(|minutes| *minutes < 60)?);
    let seconds = i32::from(hours) * 3_600 + i32::from(minutes) * 60;
    Offset::from_seconds(if is_east { seconds } else { -seconds }).ok()
}

impl Clock for ZonedClock {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn utc_offset(&self, at: Timestamp) -> Option<i32> {
        let has_time = at.is_known() && at.as_millis() % DAY != 0;
        let time = jiff::Timestamp::from_millisecond(at.as_millis()).ok().filter(|_| has_time)?;
        Some(self.0.to_offset(time).seconds()).filter(|seconds| *seconds != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_has_the_offset_of_its_season() {
        let at = |zone: &str, time: &str| ZonedClock::in_zone(zone).unwrap().utc_offset(time.parse().unwrap());
        assert_eq!(at("Europe/Berlin", "2026-07-01T12:00:00Z"), Some(7_200));
        assert_eq!(at("Europe/Berlin", "2026-12-01T12:00:00Z"), Some(3_600));
        assert_eq!(at("-03:30", "2026-12-01T12:00:00Z"), Some(-12_600));
        assert_eq!(at("UTC", "2026-12-01T12:00:00Z"), None);
        assert_eq!(at("Europe/Berlin", "2026-12-01"), None);
        assert_eq!(ZonedClock::in_zone("Europe/Berlin").unwrap().utc_offset(Timestamp::default()), None);
        for wrong in ["", "Berlin", "+2", "+99:00", "Europe/Nowhere"] {
            assert!(ZonedClock::in_zone(wrong).unwrap_err().to_string().contains("no time zone"), "{wrong}");
        }
    }
}
