//! Downloads a file of a hub and resumes an interrupted download.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    ops::Range,
    path::Path,
    time::Duration,
};

use memory_files::Links;

use super::request::{HubClient, RequestError, header, with_retries};
use crate::fetch::FetchError;

const BUFFER: usize = 256 << 10;

/// Downloads `url` to `path`, continuing at the end of the file, until it has `size` bytes.
pub(super) fn download(
    url: &str,
    token: Option<&str>,
    path: &Path,
    size: u64,
    stalled_after: Duration,
) -> Result<(), RequestError> {
    let client = HubClient::new(url, token, stalled_after)?;
    let disk = |error| RequestError::Disk(FetchError::io(path)(error));
    let options = File::options().create(true).write(true).truncate(false).clone();
    let mut file = memory_files::open_with(&options, path, Links::Refuse).map_err(disk)?;
    with_retries(|| {
        let start = file.seek(SeekFrom::End(0)).map_err(disk)?;
        if start < size {
            append(&client, &mut file, path, start..size)?;
        }
        match file.metadata().map_err(disk)?.len() {
            length if length == size => Ok(()),
            length if length < size => Err(RequestError::Truncated),
            _ => Err(RequestError::WrongRange),
        }
    })
}

/// Appends one response, from the start of `rest`.
fn append(client: &HubClient<'_>, file: &mut File, path: &Path, rest: Range<u64>) -> Result<(), RequestError> {
    let disk = |error| RequestError::Disk(FetchError::io(path)(error));
    let response = client.get(&format!("bytes={}-", rest.start), |_| false)?.ok_or(RequestError::WrongRange)?;
    let begins = match (response.status().as_u16(), header(&response, "content-range")) {
        // A hub without support for ranges sends the whole file.
        (200, _) => Some(0),
        (206, Some(range)) => range.strip_prefix("bytes ").and_then(|range| range.split('-').next()?.parse().ok()),
        _ => None,
    };
    let begins = begins.filter(|begins: &u64| *begins <= rest.start).ok_or(RequestError::WrongRange)?;
    file.set_len(begins).map_err(disk)?;
    file.seek(SeekFrom::Start(begins)).map_err(disk)?;
    // One extra byte detects an oversized body.
    let mut body = response.into_body().into_reader().take(rest.end - begins + 1);
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = body.read(&mut buffer).map_err(ureq::Error::from)?;
        match buffer.get(..read) {
            None | Some([]) => return Ok(()),
            Some(bytes) => file.write_all(bytes).map_err(disk)?,
        }
    }
}
