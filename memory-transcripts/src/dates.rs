//! Dates as a country writes them, whose order of day and month only all dates of a file show.

use memory_core::Timestamp;

/// A date as it is written, and the time of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenDate {
    pub(crate) parts: [u32; 3],
    pub(crate) time: [u32; 3],
    is_of_twelve: bool,
    /// True for dots between the numbers, which only countries that write the day first use.
    has_dots: bool,
}

/// Orders of year, month and day, as places in a written date, each with its name.
const ORDERS: [([usize; 3], &str); 3] =
    [([2, 1, 0], "day/month/year"), ([2, 0, 1], "month/day/year"), ([0, 1, 2], "year/month/day")];

impl WrittenDate {
    /// The date at the start of a text, and the rest of the text.
    pub(crate) fn read(text: &str) -> Option<(Self, &str)> {
        let (first, line) = number(text, 4)?;
        let has_dots = line.starts_with('.');
        let (second, line) = number(line.strip_prefix(['/', '.', '-'])?, 2)?;
        let (third, line) = number(line.strip_prefix(['/', '.', '-'])?, 4)?;
        let line = line.strip_prefix('.').unwrap_or(line);
        let line = line.strip_prefix(',').unwrap_or(line).trim_start();
        let (hour, line) = number(line, 2)?;
        let (minute, mut line) = number(line.strip_prefix([':', '.'])?, 2)?;
        let mut second_of_time = 0;
        if let Some((read, rest)) = line.strip_prefix([':', '.']).and_then(|line| number(line, 2)) {
            (second_of_time, line) = (read, rest);
        }
        let (parts, time) = ([first, second, third], [hour, minute, second_of_time]);
        Some((Self { parts, time, is_of_twelve: false, has_dots }, line))
    }

    /// The date with the half of its day, `am` or `pm` in any spelling; `None` for any other text.
    pub(crate) fn in_half(mut self, half: &str) -> Option<Self> {
        let half: String = half.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
        let [hour, ..] = &mut self.time;
        match half.as_str() {
            "" => return Some(self),
            "am" => *hour %= 12,
            "pm" => *hour = *hour % 12 + 12,
            _ => return None,
        }
        Some(Self { is_of_twelve: true, ..self })
    }

    fn at(self, [year, month, day]: [usize; 3]) -> Option<Timestamp> {
        let part = |place: usize| self.parts.get(place).copied().unwrap_or_default();
        let year = if part(year) < 100 { part(year) + 2_000 } else { part(year) };
        let [hour, minute, second] = self.time;
        format!("{year:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}", part(month), part(day)).parse().ok()
    }
}

/// The order of day and month in the dates of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DateOrder {
    order: [usize; 3],
    /// Its name, such as `day/month/year`.
    pub(crate) name: &'static str,
    /// Number of dates that are another day in another order that fits the file as well.
    pub(crate) guessed: u64,
}

impl DateOrder {
    /// The order with the fewest dates that do not exist or go back in time. Where both fit, the month is first where
    /// clocks have twelve hours. `others` are dates of the same file that need not rise.
    pub(crate) fn of(dates: &[WrittenDate], others: &[WrittenDate]) -> Self {
        let all = || dates.iter().chain(others);
        let mut orders = ORDERS;
        if all().any(|date| date.is_of_twelve) {
            orders.swap(0, 1);
        }
        let faults = |order: [usize; 3]| {
            let times: Vec<_> = dates.iter().map(|date| date.at(order)).collect();
            let missing = all().filter(|date| date.at(order).is_none()).count();
            missing + times.iter().flatten().collect::<Vec<_>>().windows(2).filter(|two| !two.is_sorted()).count()
        };
        let (order, name) = orders.into_iter().min_by_key(|(order, _)| faults(*order)).unwrap_or_default();
        let is_certain = all().any(|date| date.has_dots || date.parts.first().is_some_and(|first| *first > 99));
        let fits = |other: [usize; 3]| other != order && faults(other) == faults(order);
        let differ = |other: [usize; 3]| dates.iter().filter(|date| date.at(other) != date.at(order)).count() as u64;
        let equal = ORDERS.into_iter().take(2).map(|(other, _)| other).filter(|other| !is_certain && fits(*other));
        Self { order, name, guessed: equal.map(differ).max().unwrap_or_default() }
    }

    /// The time of a date; `None` if there is no such day.
    pub(crate) fn at(self, date: WrittenDate) -> Option<Timestamp> {
        date.at(self.order)
    }
}

/// A number of at most `most` digits, and the rest of the text.
fn number(text: &str, most: usize) -> Option<(u32, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (1..=most).contains(&length).then_some(())?;
    Some((text.get(..length)?.parse().ok()?, text.get(length..)?))
}
