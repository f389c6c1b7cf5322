//! Plain texts: Aider, WhatsApp, Markdown of Cursor and SpecStory, and this program's own pages.

use memory_core::{ContentBlock, Message, Role, Timestamp};
use memory_transcripts::{Format, Heading, Limits, MessageWriter, Why, Written, find};

use crate::support::{Files, Read, read};

fn format_of(text: &str) -> Option<Format> {
    Format::of_beginning(text.as_bytes())
}

fn of(name: &str, text: &str) -> Read {
    read(&Files::new().write(name, text))
}

#[test]
fn sessions_of_aider_tell_who_spoke() {
    let text = "\n# aider chat started at 2024-05-02 10:00:00\n\n> Aider v0.31  \n> aider --message fix the  \nbug in foo\n> Model: gpt-4o with diff edit format  \n\n\
        #### fix the bug in foo  \n#### and in bar  \n\nI changed foo.\n\n#### Steps\n\n```\n> quoted\n#### no prompt\n```\n\n\
        > Applied edit to foo.py  \n\n#### /undo  \n\n# aider chat started at 2024-05-03 09:30:00\n\n#### thanks  \n";
    assert_eq!(format_of(text), Some(Format::Aider));
    let files = Files::new();
    let read = read(&files.write("app/.aider.chat.history.md", text));
    assert_eq!(
        read.texts("app-2024-05-02-10-00-00"),
        [
            "user: fix the bug in foo\nand in bar",
            "assistant: I changed foo.\n\n#### Steps\n\n```\n> quoted\n#### no prompt\n```",
            "tool: Applied edit to foo.py"
        ]
    );
    assert_eq!(read.texts("app-2024-05-03-09-30-00"), ["user: thanks"]);
    let messages = &read.messages["app-2024-05-02-10-00-00"];
    assert_eq!(messages[1].message.model().as_deref(), Some("gpt-4o"));
    assert_eq!(messages[0].at, "2024-05-02T10:00:00".parse().ok());
    let notes = [("command of the program", 1), ("line of the program before the first prompt", 4)];
    assert_eq!(read.skipped(), notes.map(|(what, count)| (Why::Note, what.to_owned(), count)));
    let firsts: Vec<_> = read.report.skipped().filter_map(|skipped| skipped.first.rsplit_once(':')).collect();
    assert_eq!(firsts.iter().map(|(_, line)| *line).collect::<Vec<_>>(), ["23", "4"]);
    // An editor may have removed the spaces at the end of lines.
    let bare = of("x.md", "# aider chat started at 2024-05-02 10:00:00\n\n#### fix it\n\nDone.\n\n> Applied edit\n");
    assert_eq!(bare.texts("x-2024-05-02-10-00-00"), ["user: fix it", "assistant: Done.", "tool: Applied edit"]);
}

#[test]
fn inputs_to_aider_are_messages_of_their_own_and_its_commands_none() {
    let text = "# aider chat started at 2026-07-03 13:15:19\n\n#### /add app.py  \n\n#### /clear  \n\n#### Greet.  \n#### Twice.  \n\n\
        Done.\n\n#### /ask why?  \n\n#### why?  \n\n<thinking-content-ab12>\nHm.\n</thinking-content-ab12>\n\nBecause.\n\n\
        #### /ask and now?  \n\n#### /etc/hosts is wrong  \n\n#### /run make  \n";
    let read = of("x.md", text);
    assert_eq!(
        read.texts("x-2026-07-03-13-15-19"),
        [
            "user: Greet.\nTwice.",
            "assistant: Done.",
            "user: why?",
            "assistant: Hm.\nBecause.",
            "user: /ask and now?",
            "user: /etc/hosts is wrong",
            "user: /run make"
        ]
    );
    let blocks = &read.messages["x-2026-07-03-13-15-19"][3].message.content;
    assert!(matches!(&blocks[..], [ContentBlock::Reasoning { .. }, ContentBlock::Text(_)]), "{blocks:?}");
    let skipped = [
        (Why::Note, "command of the program".to_owned(), 2),
        (Why::Repeated, "command before its prompt".to_owned(), 1),
    ];
    assert_eq!(read.skipped(), skipped);
}

#[test]
fn dates_of_whatsapp_that_are_guessed_or_do_not_fit_are_counted() {
    let check = |text: &str, expected: &[(Why, &str, u64, &str)]| {
        let read = of("x.txt", text);
        let skipped: Vec<_> = read.report.skipped().collect();
        let skipped: Vec<_> = skipped
            .iter()
            .map(|skipped| {
                (skipped.why, skipped.what.as_str(), skipped.count, skipped.first.rsplit(':').next().unwrap())
            })
            .collect();
        assert_eq!(skipped, expected, "{text}");
    };
    check(
        "12/01/25, 09:10 - Ann: one\n12/01/25, 10:50 - Ben: two\n12/02/25, 08:00 - Ben: three\n",
        &[(Why::Guessed, "date as day/month/year", 3, "1")],
    );
    check(
        "[1/15/24, 10:05 AM] Ann: one\n[15/01/2024, 10:06:15] Ben: two\n[2/20/24, 11:00 AM] Ann: three\n",
        &[(Why::Broken, "date that is no month/day/year (its message is kept)", 1, "2")],
    );
    // Dots, a day after the twelfth, a year in front and equal numbers leave no choice.
    for text in [
        "12.01.25, 09:10 - Ann: one\n",
        "13/01/25, 09:10 - Ann: one\n",
        "2025-01-12, 09:10 - Ann: one\n",
        "01/01/25, 09:10 - Ann: one\n",
    ] {
        check(text, &[]);
    }
    check(
        "12.01.25, 09:10 - Ann: one\n12.01.25, 09:10 - Ben joined\n12.01.25, 09:11 - Ann: two\n",
        &[(Why::Note, "line of the program", 1, "2")],
    );
}

#[test]
fn chats_of_whatsapp_have_senders_and_the_order_of_their_dates() {
    let check = |text: &str, expected: &[(&str, &str)], times: &[&str]| {
        assert_eq!(format_of(text), Some(Format::WhatsApp), "{text}");
        let read = of("WhatsApp Chat with Anna.txt", text);
        let (_, messages) = read.messages.first_key_value().unwrap();
        let said: Vec<_> =
            messages.iter().map(|said| (said.message.speaker.clone().unwrap(), said.message.text())).collect();
        let expected: Vec<_> = expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        assert_eq!(said, expected);
        let at: Vec<_> = messages.iter().map(|said| said.at.unwrap().to_string()).collect();
        assert_eq!(at, times.iter().map(|at| at.parse::<Timestamp>().unwrap().to_string()).collect::<Vec<_>>());
    };
    check(
        "[12/08/24, 09:15:33] Anna: Hi, are we meeting?\nAt noon: yes or no?\n[12/08/24, 09:16:02] Ben: Yes\n",
        &[("Anna", "Hi, are we meeting?\nAt noon: yes or no?"), ("Ben", "Yes")],
        &["2024-08-12T09:15:33", "2024-08-12T09:16:02"],
    );
    check(
        "12/08/2024, 09:15 - Messages are end-to-end encrypted.\n12/08/2024, 09:15 - Anna: Hi\n13/08/2024, 09:16 - Meta AI: Hello\n",
        &[("Anna", "Hi"), ("Meta AI", "Hello")],
        &["2024-08-12T09:15", "2024-08-13T09:16"],
    );
    check(
        "8/12/24, 9:15\u{202f}PM - Anna: Hi\n8/12/24, 11:59\u{202f}PM - Ben: Late\n8/13/24, 12:01\u{202f}AM - Ben: Later\n",
        &[("Anna", "Hi"), ("Ben", "Late"), ("Ben", "Later")],
        &["2024-08-12T21:15", "2024-08-12T23:59", "2024-08-13T00:01"],
    );
    check("12.08.24, 09:15 - Anna: Hi\n", &[("Anna", "Hi")], &["2024-08-12T09:15"]);
    let read = of("x.txt", "[12/08/24, 09:15:33] Anna: Hi\n[12/08/24, 09:15:34] Meta AI: Hello\n");
    let roles: Vec<_> = read.messages["x"].iter().map(|said| said.message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant]);
}

#[test]
fn transcripts_in_markdown_are_recognized_and_documents_are_not() {
    let yes = [
        "# Chat\n_Exported on 5/2/2025 from Cursor (0.49.6)_\n\n---\n\n**User**\n\nhello\n\n---\n\n**Cursor**\n\nhi\n\n---\n",
        "<!-- Generated by SpecStory -->\n\n# A talk (2025-10-01 10:00Z)\n\n_**User (2025-10-01 10:00Z)**_\n\nhello\n\n---\n\n_**Agent (model gpt-5, mode Agent)**_\n\nhi\n",
        "# 2026-07-13 13:40:49Z\n\n_**User (2026-07-13 13:40:49Z)**_\n\nhello\n\n---\n\n_**Agent (claude-4 2026-07-13 13:40:56Z)**_\n\nhi\n\n---------\n",
        "## User\nhello\n\n## Gemini\nhi\n",
        "You said:\n\nhello\n\nChatGPT said:\n\nhi\n",
        "## Prompt:\nhello\n\n## Response:\nhi\n",
        "### Benutzer\nhello\n\n### Assistent\nhi\n",
    ];
    for text in yes {
        assert_eq!(format_of(text), Some(Format::Markdown), "{text}");
        assert_eq!(of("x.md", text).texts("x"), ["user: hello", "assistant: hi"], "{text}");
    }
    let spec = of("x.md", yes[1]);
    let messages = &spec.messages["x"];
    assert_eq!(messages[0].at, "2025-10-01T10:00:00Z".parse().ok());
    assert_eq!(messages[1].message.model().as_deref(), Some("gpt-5"));
    let dated = of("x.md", yes[2]);
    let answer = &dated.messages["x"][1];
    assert_eq!((answer.at, answer.message.model().as_deref()), ("2026-07-13T13:40:56Z".parse().ok(), Some("claude-4")));
    for text in [
        "# Readme\n\nSome words.\n\n## User\n\nA user has a name.\n",
        "# Protocol\n\nRoles are User: a person, Assistant: the model.\n\nUser: who asks\nAssistant: who answers\n",
        "## Question\nWhy?\n\n## Answer\nBecause.\n",
        "A text.\n",
        "",
        "```\nUser: hi\nAssistant: hello\n```\n",
    ] {
        assert_eq!(format_of(text), None, "{text}");
    }
}

#[test]
fn subagents_in_markdown_speak_in_a_conversation_of_their_own() {
    let text = "# 2026-07-13 13:40:49Z\n\n_**User (2026-07-13 13:40:49Z)**_\n\nmend it\n\n---\n\n_**Agent (claude-4 2026-07-13 13:40:56Z)**_\n\nlooking\n\n---\n\n\
        _**User - sidechain (2026-07-13 13:41:00Z)**_\n\nfind the file\n\n---\n\n_**Agent - sidechain (claude-3 2026-07-13 13:41:10Z)**_\n\nfound\n\n---\n\n\
        _**Agent (claude-4 2026-07-13 13:42:00Z)**_\n\ndone\n";
    let read = of("x.md", text);
    assert_eq!(read.texts("x"), ["user: mend it", "assistant: looking", "assistant: done"]);
    assert_eq!(read.texts("x-sidechain"), ["user: find the file", "assistant: found"]);
    assert_eq!(read.metadata("x-sidechain", 0, "subagent_of"), "\"x\"");
    let found = &read.messages["x-sidechain"][1];
    assert_eq!((found.at, found.message.model().as_deref()), ("2026-07-13T13:41:10Z".parse().ok(), Some("claude-3")));
}

#[test]
fn a_time_in_a_heading_is_no_part_of_the_title_and_the_time_of_what_has_none() {
    let said = "_**User**_\n\nhello\n\n---\n\n_**Assistant**_\n\nhi\n";
    for (heading, title, at) in [
        ("A talk (2025-05-27 12:22:07)", Some("A talk"), Some("2025-05-27T12:22:07")),
        ("2025-05-27 12:22:07Z", None, Some("2025-05-27T12:22:07Z")),
        ("A talk (about 2025)", Some("A talk (about 2025)"), None),
    ] {
        let read = of("x.md", &format!("# {heading}\n\n{said}"));
        assert_eq!(read.titles.get("x").map(String::as_str), title);
        let at = at.and_then(|at| at.parse().ok());
        assert!(read.messages["x"].iter().all(|said| said.at == at), "{heading}");
    }
}

#[test]
fn the_header_of_an_export_of_chatgpt_names_no_speaker_and_its_dates_are_times() {
    let header =
        "# Talk\n\n**User:** Anonymous  \n**Created:** 5/27/2026 17:23:01  \n**Link:** [x](https://x.test)  \n\n";
    let talk = |date: &str| format!("## Prompt:\n{date}, 17:23:00\n\nhello\n\n## Response:\n{date}, 17:23:05\n\nhi\n");
    let times = ["2026-05-27T17:23:00".parse().ok(), "2026-05-27T17:23:05".parse().ok()];
    for text in [format!("{header}{}", talk("5/27/2026")), format!("# Talk\n\n{}", talk("27.5.2026"))] {
        assert_eq!(format_of(&text), Some(Format::Markdown));
        let read = of("x.md", &text);
        assert_eq!(read.texts("x"), ["user: hello", "assistant: hi"], "{text}");
        assert_eq!(read.messages["x"].iter().map(|said| said.at).collect::<Vec<_>>(), times);
        assert_eq!(read.titles["x"], "Talk");
    }
    // The header of a file shows the order of its dates; without one, they stay as they are.
    let read = |text: &str| of("x.md", text).messages["x"].clone();
    assert_eq!(read(&format!("{header}{}", talk("5/6/2026")))[0].at, "2026-05-06T17:23:00".parse().ok());
    let unsure = read(&talk("5/6/2026"));
    assert_eq!((unsure[0].at, unsure[0].message.text().as_str()), (None, "5/6/2026, 17:23:00\n\nhello"));
}

#[test]
fn speakers_in_headings_of_different_levels_are_both_heard() {
    for text in [
        "---\ntags: [clippings]\n---\n\n##### You said:\n\nhello\n\n###### ChatGPT said:\n\nhi\n\n##### You said:\n\nbye\n",
        "##### You said:\n\nhello\n\n###### ChatGPT said:\n\nhi\n\n##### You said:\n\nbye\n",
        "# A talk\n\n## User\n\nhello\n\n### Assistant\n\nhi\n\n## User\n\nbye\n",
    ] {
        assert_eq!(format_of(text), Some(Format::Markdown));
        assert_eq!(of("x.md", text).texts("x"), ["user: hello", "assistant: hi", "user: bye"], "{text}");
    }
    // A heading within an answer is no speaker where both sides have equal ones.
    let text = "## User\n\nhello\n\n### Assistant\n\nwhat is it?\n\n## Assistant\n\nhi\n";
    assert_eq!(of("x.md", text).texts("x"), ["user: hello\n\n### Assistant\n\nwhat is it?", "assistant: hi"]);
}

#[test]
fn our_own_markdown_is_read_back_with_speakers_times_and_models() {
    let mut out = Vec::new();
    let mut writer = MessageWriter::begin(&mut out, Written::Markdown, Heading::new("trip").title("A trip")).unwrap();
    let at = |second: i64| Timestamp::from_millis(1_760_000_000_000 + second * 1_000);
    let mut asked = Message::user("# Plan\n<b>Where?</b>\n\n## Assistant\nno");
    asked.speaker = Some("Ana".to_owned());
    writer.write(&asked, at(0)).unwrap();
    writer.write(&Message::assistant("To *Graz*.").spoken_by("gpt-5"), at(1)).unwrap();
    writer.end().unwrap();
    let read = of("x.md", &String::from_utf8(out).unwrap());
    assert_eq!(read.texts("x"), ["user: # Plan\n<b>Where?</b>\n\n## Assistant\nno", "assistant: To *Graz*."]);
    let messages = &read.messages["x"];
    assert_eq!((messages[0].at, messages[1].at), (Some(at(0)), Some(at(1))));
    assert_eq!(messages[0].message.speaker.as_deref(), Some("Ana"));
    assert_eq!(messages[1].message.model().as_deref(), Some("gpt-5"));
    assert_eq!(read.titles["x"], "A trip");
}

#[test]
fn packed_and_empty_files_are_called_what_they_are() {
    let files = Files::new();
    let packed = |text: &str| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut out, text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let path = files.write("x.md.gz", packed("## User\nhello\n\n## Assistant\nhi\n"));
    assert_eq!(read(&path).texts("x"), ["user: hello", "assistant: hi"]);
    let why = |name: &str, content: &[u8]| {
        find(&files.write(name, content), None, Limits::default()).unwrap_err().to_string()
    };
    assert!(why("e.json", b"").ends_with("e.json: the file is empty"));
    assert!(why("e.md", b" \n").ends_with("e.md: the file is empty"));
    assert!(why("e.json.gz", &packed("")).ends_with("the file is empty"));
    files.write("d/empty.jsonl", "");
    files.write("d/a.md", "## User\nhello\n\n## Assistant\nhi\n");
    files.write("d/readme.md", "# Readme\n");
    files.write("d/torn.gz.json", b"\x1f\x8bx");
    let all = read(&files.path("d"));
    assert_eq!(all.ids(), ["a"]);
    let skipped = all.skipped();
    let whys: Vec<_> = skipped.iter().map(|(why, what, _)| (*why, what.as_str())).collect();
    assert_eq!(whys, [(Why::Unknown, "file *.md"), (Why::Broken, "file *.json"), (Why::Empty, "file *.jsonl")]);
    let none = find(&files.path("d"), Some(Format::Codex), Limits::default()).unwrap();
    let named: Vec<_> = none.others.skipped().map(|skipped| skipped.what.as_str()).collect();
    assert!(none.transcripts.is_empty() && named.contains(&"file of the format markdown"), "{named:?}");
}
