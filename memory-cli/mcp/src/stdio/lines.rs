//! Lines of bounded length, since the transport keeps a line whole however long it is.

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::mpsc::Sender,
};

/// Passes the lines of `input` on until it ends or `output` has gone. Of a line of more than `most` bytes nothing is passed
/// on, and `refused` is told when it ends.
pub(super) async fn pass(
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    most: usize,
    refused: Sender<()>,
) {
    let mut input = BufReader::new(input);
    let (mut line, mut is_refused) = (Vec::new(), false);
    loop {
        let part = match input.fill_buf().await {
            // An input that cannot be read has ended.
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
        let passed = if is_refused { refused.send(()).await.is_ok() } else { output.write_all(&line).await.is_ok() };
        if !passed {
            return;
        }
        line.clear();
        is_refused = false;
    }
    // A last line without an end is a line; who reads may have gone.
    if is_refused {
        let _ = refused.send(()).await;
    } else {
        let _ = output.write_all(&line).await;
    }
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
    async fn lines_are_passed_on_up_to_the_bound_and_longer_ones_are_told() {
        assert_eq!(passed("a\nbcd\n\nef", 3).await, ("a\nbcd\n\nef".to_owned(), 0));
        assert_eq!(passed("a\nbcde\nf\n", 3).await, ("a\nf\n".to_owned(), 1));
        assert_eq!(passed("abcd", 3).await, (String::new(), 1));
        assert_eq!(passed("", 3).await, (String::new(), 0));
        // Longer than what is read at once.
        let long = "x".repeat(50_000);
        assert_eq!(passed(&format!("{long}\n{long}y\nz\n"), 50_000).await, (format!("{long}\nz\n"), 1));
    }
}
