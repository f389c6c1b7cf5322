//! Precision and recall over 2,000 lines that are made up, half of them without anything to find.
//!
//! `REDACT_SET=FILE` writes the lines, each with its class and value, for other detectors.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which the lints do not know as tests"
)]

use std::{collections::BTreeMap, fmt::Write as _};

use memory_core::port::{Detector, Sensitive};
use memory_redact::Rules;

/// Lines of each kind.
const EACH: usize = 1_000;
const SEED: u64 = 20_261_130;

/// SplitMix64, so that the set is the same for ever.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    fn digits(&mut self, count: usize) -> String {
        (0..count).map(|at| if at == 0 { 1 + self.below(9) } else { self.below(10) }.to_string()).collect()
    }

    fn letters(&mut self, count: usize) -> String {
        const LETTERS: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        (0..count).map(|_| char::from(LETTERS[self.below(LETTERS.len())])).collect()
    }

    fn hex(&mut self, count: usize) -> String {
        (0..count).map(|_| char::from(b"0123456789abcdef"[self.below(16)])).collect()
    }

    /// A pattern with `#` for digits and `N` for those from 2 on.
    fn filled(&mut self, pattern: &str) -> String {
        let fill = |c: char| match c {
            '#' => char::from_digit(u32::try_from(self.below(10)).unwrap(), 10).unwrap(),
            'N' => char::from_digit(u32::try_from(2 + self.below(8)).unwrap(), 10).unwrap(),
            c => c,
        };
        pattern.chars().map(fill).collect()
    }
}

const WORDS: [&str; 16] = [
    "harbour", "violin", "garden", "release", "invoice", "ferry", "kitchen", "library", "staging", "winter", "orchard",
    "compiler", "meeting", "bakery", "museum", "bicycle",
];
const NAMES: [&str; 8] = ["anna", "ben.lind", "j_ortega", "maya+news", "o'hara", "lena-marie", "t.nguyen", "jörg"];

fn email(random: &mut Random) -> String {
    let names: Vec<&str> = NAMES.into_iter().filter(|name| !name.contains('\'')).collect();
    let domain =
        random.of(&["example.org", "mail.example.co.uk", "büro.example", "example.de", "sub-domain.example.io"]);
    let email = format!("{}@{domain}", random.of(&names));
    if random.below(6) == 0 { email.to_uppercase() } else { email }
}

fn phone(random: &mut Random) -> String {
    let pattern = random.of(&[
        "+49 (0) 30 9018####",
        "+49 30 ########",
        "+49-171-#######",
        "+49.171.#######",
        "+491711######",
        "0049 171 #######",
        "+49(0)171 #######",
        "0171 #######",
        "0171/#######",
        "030/########",
        "(030) ########",
        "0171-#######",
        "06 1# 34 56 7#",
        "06.12.#4.56.78",
        "07911 ######",
        "020 7946 0###",
        "+44 20 7946 0###",
        "+44 (0)20 7946 0###",
        "(N12) N55-01##",
        "N12-N55-01##",
        "N12.N55.01##",
        "+1 N12 N55 01##",
        "1-N00-N55-01##",
        "+1-N12-N55-01##",
        "+33 6 1# 34 56 78",
        "+41 44 668 1# 00",
        "+353 1 234 5#78",
        "+91 98765 4###0",
        "+81-3-1234-5#78",
        "+61 2 9374 4##0",
        "0800 123 4##",
        "01 23 #5 67 89",
        "+43 1 #######",
        "+1 (N12) N55-01##",
        "0221\u{a0}#######",
        "089 / ########",
    ]);
    random.filled(pattern)
}

/// Digits with the check digit of cards.
fn card(random: &mut Random) -> String {
    let (prefix, length) = [
        ("4", 16),
        ("51", 16),
        ("55", 16),
        ("2221", 16),
        ("37", 15),
        ("34", 15),
        ("6011", 16),
        ("3530", 16),
        ("65", 16),
    ][random.below(9)];
    let mut digits: String = prefix.to_owned();
    while digits.len() < length - 1 {
        digits.push_str(&random.below(10).to_string());
    }
    let sum: u32 = digits
        .chars()
        .rev()
        .enumerate()
        .map(|(at, c)| {
            let digit = c.to_digit(10).unwrap();
            let doubled = if digit > 4 { 2 * digit - 9 } else { 2 * digit };
            if at % 2 == 0 { doubled } else { digit }
        })
        .sum();
    write!(digits, "{}", (10 - sum % 10) % 10).unwrap();
    grouped(
        &digits,
        if length == 15 { &[4, 6, 5] } else { &[4, 4, 4, 4] },
        random.of(&["", "", " ", "-", ".", "\u{a0}"]),
    )
}

fn grouped(text: &str, groups: &[usize], separator: &str) -> String {
    let (mut parts, mut rest) = (Vec::new(), text);
    for length in groups {
        let (part, behind) = rest.split_at((*length).min(rest.len()));
        parts.push(part);
        rest = behind;
    }
    parts.join(separator)
}

fn iban(random: &mut Random) -> String {
    let (country, length) = [
        ("DE", 22),
        ("GB", 22),
        ("FR", 27),
        ("NL", 18),
        ("ES", 24),
        ("CH", 21),
        ("IT", 27),
        ("NO", 15),
        ("AT", 20),
        ("BE", 16),
    ][random.below(10)];
    let has_letters = matches!(country, "GB" | "NL");
    let mut body = if has_letters { "ABNA".to_owned() } else { String::new() };
    while body.len() < length - 4 {
        body.push_str(&random.below(10).to_string());
    }
    let value = |text: &str| {
        text.chars().fold(0u64, |rest, c| {
            let value = u64::from(c.to_digit(36).unwrap());
            (if value > 9 { rest * 100 + value } else { rest * 10 + value }) % 97
        })
    };
    let plain = format!("{country}{:02}{body}", 98 - value(&format!("{body}{country}00")));
    let plain = if random.below(3) == 0 { plain.to_lowercase() } else { plain };
    grouped(&plain, &[4; 9], random.of(&["", " ", " ", "-", ".", "\u{a0}"]))
        .trim_end_matches([' ', '-', '.', '\u{a0}'])
        .to_owned()
}

fn key(random: &mut Random) -> (String, String) {
    let value = match random.below(16) {
        0 => format!("ghp_{}", random.letters(36)),
        1 => format!("sk-proj-{}", random.letters(48)),
        2 => format!("AKIA{}", random.letters(16).to_uppercase()),
        3 => format!("xoxb-{}-{}", random.digits(11), random.letters(24)),
        4 => format!("sk_live_{}", random.letters(24)),
        5 => format!("glpat-{}", random.letters(20)),
        6 => format!("hf_{}", random.letters(34)),
        7 => format!("AIza{}", random.letters(35)),
        _ => String::new(),
    };
    if !value.is_empty() {
        let line =
            random.of(&["the key is {}, keep it", "export TOKEN={}", "{\"k\": \"{}\"}", "{}"]).replace("{}", &value);
        return (line, value);
    }
    let token = format!("{}7a", random.letters(22));
    let word = random.of(&WORDS);
    let password = match random.below(4) {
        0 => format!("{word}{}", random.digits(2)),
        1 => format!("{}!{}", random.letters(6), random.digits(2)),
        2 => format!("Tr0ub4dor&{}", random.digits(1)),
        _ => format!("{}9{}", random.letters(5), random.letters(4)),
    };
    let (line, value) = match random.below(14) {
        0 => ("Authorization: Bearer {}", &token),
        1 => ("curl -H 'Authorization: Basic {}' https://example.org", &token),
        2 => ("\"authorization\": \"Bearer {}\"", &token),
        3 => ("headers = {'Authorization': 'token {}'}", &token),
        4 => ("api_key = {}", &token),
        5 => ("{\"access_token\": \"{}\"}", &token),
        6 => ("The password is {}.", &password),
        7 => ("pw: {}", &password),
        8 => ("password for the wifi is \"{}\"", &password),
        9 => ("my password was {} until May", &password),
        10 => ("Passwort: {}", &password),
        11 => ("Das Kennwort lautet {}", &password),
        12 => ("the passphrase is 'correct horse battery staple'", &password),
        _ => ("DB_PASSWORD={}", &password),
    };
    if line.contains("battery") {
        return (line.to_owned(), "correct horse battery staple".to_owned());
    }
    (line.replace("{}", value), value.clone())
}

/// A line with its class and what is to be found in it.
fn positive(random: &mut Random) -> (String, Sensitive, String) {
    let frames = |random: &mut Random| {
        random.of(&[
            "{}",
            "Write to {} today.",
            "it is {}",
            "({})",
            "see {}; and the {w}",
            "{w}: {}",
            "The {w} has {}, I think",
            "\"{}\"",
            "{w}\t{}",
            "on Monday: {}!",
        ])
    };
    let class = Sensitive::ALL[1 + random.below(6)];
    let value = match class {
        Sensitive::ServiceKey => {
            let (line, value) = key(random);
            return (line, class, value);
        }
        Sensitive::UrlCredentials => {
            let password = random.letters(10);
            let scheme = random.of(&["postgres", "https", "redis", "amqp", "mongodb+srv"]);
            return (format!("connect to {scheme}://app:{password}@db.example.org:5432/x"), class, password);
        }
        Sensitive::Phone if random.below(6) == 0 => {
            let number = random.filled("1711######");
            let frame = random.of(&["tel: 0{}", "call 0{}", "https://wa.me/49{}", "Mobile +49{}", "phone number 0{}"]);
            return (frame.replace("{}", &number), class, number);
        }
        Sensitive::Email => email(random),
        Sensitive::Phone => phone(random),
        Sensitive::Card => card(random),
        _ => iban(random),
    };
    let frame = frames(random);
    (frame.replace("{w}", random.of(&WORDS)).replace("{}", &value), class, value)
}

fn negative(random: &mut Random) -> String {
    let (one, other) = (random.of(&WORDS), random.of(&WORDS));
    match random.below(40) {
        0 => format!("The {one} is next to the {other}."),
        1 => format!("git clone git@github.com:{one}/{other}.git"),
        2 => format!("{one}@2x.png and {other}@3x.webp"),
        3 => format!("self@{one}.name"),
        4 => format!("started at 17{}, ended at 17{}", random.digits(8), random.digits(8)),
        5 => format!("{{\"ts\": 17{}}}", random.digits(11)),
        6 => random.filled("2026-11-2# 1#:3#:0# it rained"),
        7 => random.filled("2026-11-29T1#:30:0#.123Z INFO done"),
        8 => format!("order {} was shipped", random.digits(16)),
        9 => format!("invoice no. {}", random.digits(10)),
        10 => format!("commit {}", random.hex(40)),
        11 => {
            format!("id {}-{}-4{}-a{}-{}", random.hex(8), random.hex(4), random.hex(3), random.hex(3), random.hex(12))
        }
        12 => random.filled("10.0.#.1#:8080 and 192.168.1##.200"),
        13 => format!("version {}.{}.{}", random.below(9), random.below(30), random.below(200)),
        14 => format!("password: ${{{}_PASSWORD}}", one.to_uppercase()),
        15 => format!("The password is required for the {one}."),
        16 => "Your password is incorrect, please try again.".to_owned(),
        17 => "password: string; // at least eight characters".to_owned(),
        18 => format!("max_tokens = {}, token count {}", random.digits(4), random.digits(6)),
        19 => format!("let token = parser.next_token({one});"),
        20 => "Authorization: Bearer $TOKEN".to_owned(),
        21 => "Authorization: Bearer <your token>".to_owned(),
        22 => format!("@{one} said hello to @{other}"),
        23 => format!("npm install @{one}/{other}@{}.1.0", random.below(20)),
        24 => random.filled("ISBN 978-3-16-1484##-#"),
        25 => random.filled("on 0#.02.2024 at 10:3#"),
        26 => random.filled("from 09:3# to 10:3#, room 0#2"),
        27 => random.filled("it costs 1,234,5## euros, or 12#.456,78"),
        28 => random.filled("lat 52.520008, lon 13.4049##"),
        29 => format!("DE{} is no account", random.digits(9)),
        30 => random.filled("4111 1111 1111 111# is not valid 0000"),
        31 => format!("row {} of {}", random.digits(7), random.digits(9)),
        32 => random.filled("pages 012-034, part 5#5-1234"),
        33 => format!("sk-learn and sk-{one}-{other}"),
        34 => format!("key: {one}, value: {other}"),
        35 => format!("https://example.org/{one}/{}?page={}", random.digits(9), random.digits(2)),
        36 => format!("sha256:{}", random.hex(64)),
        37 => format!("the secret of the {one} is patience"),
        38 => random.filled("build 0.12.345##, port 5#432, pid 1#345"),
        _ => format!("0x{} 1e-{} {}%", random.hex(8), random.below(9), random.below(100)),
    }
}

#[derive(Default)]
struct Counts {
    lines: usize,
    found: usize,
    wrong: usize,
}

#[test]
fn precision_and_recall_over_a_synthetic_set() {
    let mut random = Random(SEED);
    let mut lines: Vec<(String, Option<(Sensitive, String)>)> = Vec::new();
    for _ in 0..EACH {
        let (line, class, value) = positive(&mut random);
        lines.push((line, Some((class, value))));
        lines.push((negative(&mut random), None));
    }
    if let Ok(path) = std::env::var("REDACT_SET") {
        let row = |(line, expected): &(String, Option<(Sensitive, String)>)| {
            let (class, value) = expected.as_ref().map_or(("", ""), |(class, value)| (class.name(), value));
            format!("{class}\t{value}\t{}", line.replace('\t', " "))
        };
        std::fs::write(path, lines.iter().map(row).collect::<Vec<_>>().join("\n")).unwrap();
    }
    let mut counts: BTreeMap<Sensitive, Counts> = BTreeMap::new();
    let (mut missed, mut false_alarms) = (Vec::new(), Vec::new());
    for (line, expected) in &lines {
        let mut findings = Rules::default().find(line);
        if let Some((class, value)) = expected {
            let at = line.rfind(value.as_str()).unwrap();
            let is_it = |range: &std::ops::Range<usize>| range.start <= at && at + value.len() <= range.end;
            let of_class = counts.entry(*class).or_default();
            of_class.lines += 1;
            let hit = findings.iter().position(|finding| finding.class == *class && is_it(&finding.range));
            match hit {
                Some(hit) => {
                    of_class.found += 1;
                    findings.remove(hit);
                }
                None => missed.push(format!("{class}: {line} ({findings:?})")),
            }
        }
        for finding in findings {
            counts.entry(finding.class).or_default().wrong += 1;
            false_alarms.push(format!("{}: {line}", finding.class));
        }
    }
    missed.iter().for_each(|line| println!("missed {line}"));
    false_alarms.iter().for_each(|line| println!("wrong {line}"));
    println!("| class | lines | found | recall | precision |");
    println!("| --- | --- | --- | --- | --- |");
    let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    for (class, Counts { lines, found, wrong }) in &counts {
        let (recall, precision) = (percent(*found, *lines), percent(*found, found + wrong));
        println!("| {class} | {lines} | {found} | {recall:.1} % | {precision:.1} % |");
        assert!(recall >= 97.0 && precision >= 97.0, "{class}: recall {recall:.1}, precision {precision:.1}");
    }
    assert!(counts.len() >= 6);
}
