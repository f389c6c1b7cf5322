//! Lines of bounded length, since the transport keeps a line whole however long it is.

use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::mpsc::Sender,
};

use crate::request;

/// Passes the lines of `input` on until it ends or `output` is gone. A line of more than `most` bytes, or one that
/// cannot be read, is not passed on; when it ends, `refused` is given the answer.
pub(super) async fn pass(
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    most: usize,
    refused: Sender<String>,
) {
    let mut input = BufReader::new(input);
    let (mut line, mut is_refused) = (Vec::new(), false);
    loop {
        let part = match input.fill_buf().await {
            // An unreadable input counts as ended.
            Ok([]) | Err(_) => break,
            Ok(read) => read.split_inclusive(|byte| *byte == b'\n').next().unwrap_or(read),
        };
        let (used, ends) = (part.len(), part.ends_with(b"\n"));
        is_refused = is_refused || line.len() + used - usize::from(ends) > most;
        if is_refused {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        input.consume(used);
        if !ends {
            continue;
        }
        let refusal = if is_refused { Some(too_long(most)) } else { unreadable(&mut line) };
        let passed = match refusal {
            Some(refusal) => refused.send(refusal).await.is_ok(),
            None => output.write_all(&line).await.is_ok(),
        };
        if !passed {
            return;
        }
        line.clear();
        is_refused = false;
    }
    // A last line without an end is a line. The reader may be gone.
    let refusal = if is_refused { Some(too_long(most)) } else { unreadable(&mut line) };
    if let Some(refusal) = refusal {
        let _ = refused.send(refusal).await;
    } else {
        let _ = output.write_all(&line).await;
    }
}

/// The answer to a request that was not read, not even its id.
fn too_long(most: usize) -> String {
    let message = format!("a request has at most {most} bytes: send less at once");
    json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": message}}).to_string()
}

/// The answer to a line that cannot be read; the transport itself would answer nothing. `None` for an empty line.
fn unreadable(line: &mut [u8]) -> Option<String> {
    memory::text::mend_surrogates(line);
    let line = &*line;
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() { None } else { request::refusal(line).map(|answer| answer.to_string()) }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt as _, sync::mpsc};

    use super::*;

    async fn passed(input: &str, most: usize) -> (String, usize) {
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let (refuse, mut refused) = mpsc::channel(100);
        pass(input.as_bytes(), near, most, refuse).await;
        let mut output = String::new();
        far.read_to_string(&mut output).await.unwrap();
        let mut count = 0;
        while refused.recv().await.is_some() {
            count += 1;
        }
        (output, count)
    }

    #[tokio::test]
    async fn lines_are_passed_on_up_to_the_bound_and_others_are_answered() {
        assert_eq!(passed("1\n234\n\n56", 3).await, ("1\n234\n\n56".to_owned(), 0));
        assert_eq!(passed("1\n2345\n6\n", 3).await, ("1\n6\n".to_owned(), 1));
        assert_eq!(passed("1234", 3).await, (String::new(), 1));
        assert_eq!(passed("", 3).await, (String::new(), 0));
        // Lines that are not JSON.
        assert_eq!(passed("1\n{b\n2\n{", 3).await, ("1\n2\n".to_owned(), 2));
        // A line longer than the buffer.
        let long = "1".repeat(300);
        let spaces = " ".repeat(50_000 - 300);
        let line = format!("{spaces}{long}");
        assert_eq!(passed(&format!("{line}\n{line}2\n3\n"), 50_000).await, (format!("{line}\n3\n"), 1));
    }
}
