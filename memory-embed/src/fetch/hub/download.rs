//! Getting a file of a hub, which goes on where it broke off.

use std::{
    convert::Infallible,
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    ops::Range,
    path::Path,
    time::Duration,
};

use memory_files::Links;

use super::request::{Answer, Asker, Broken, header, retried};
use crate::fetch::FetchError;

const AT_ONCE: usize = 256 << 10;

/// Appends to the file at `path` until it has `size` bytes of what lies at `url`.
pub(super) fn download(
    url: &str,
    token: Option<&str>,
    path: &Path,
    size: u64,
    stalled_after: Duration,
) -> Result<(), Broken> {
    let asker = Asker::new(url, token, stalled_after)?;
    let disk = |error| Broken::Disk(FetchError::io(path)(error));
    let options = File::options().create(true).write(true).truncate(false).clone();
    let mut file = memory_files::open_with(&options, path, Links::Refuse).map_err(disk)?;
    retried(|| {
        let start = file.seek(SeekFrom::End(0)).map_err(disk)?;
        if start < size {
            append(&asker, &mut file, path, start..size)?;
        }
        match file.metadata().map_err(disk)?.len() {
            length if length == size => Ok(()),
            length if length < size => Err(Broken::Short),
            _ => Err(Broken::Unfit),
        }
    })
}

/// One answer, from the start of `rest` on.
fn append(asker: &Asker<'_>, file: &mut File, path: &Path, rest: Range<u64>) -> Result<(), Broken> {
    let disk = |error| Broken::Disk(FetchError::io(path)(error));
    let answer = match asker.ask(&format!("bytes={}-", rest.start), |_| None::<Infallible>)? {
        Answer::Body(answer) => answer,
        Answer::Told(never) => match never {},
    };
    let begins = match (answer.status().as_u16(), header(&answer, "content-range")) {
        // A hub that knows no ranges sends all of it.
        (200, _) => Some(0),
        (206, Some(range)) => range.strip_prefix("bytes ").and_then(|range| range.split('-').next()?.parse().ok()),
        _ => None,
    };
    let begins = begins.filter(|begins: &u64| *begins <= rest.start).ok_or(Broken::Unfit)?;
    file.set_len(begins).map_err(disk)?;
    file.seek(SeekFrom::Start(begins)).map_err(disk)?;
    // A byte more than there should be tells of all that are too many.
    let mut body = answer.into_body().into_reader().take(rest.end - begins + 1);
    let mut buffer = vec![0; AT_ONCE];
    loop {
        let read = body.read(&mut buffer).map_err(|error| Broken::Network(Box::new(error.into())))?;
        match buffer.get(..read) {
            None | Some([]) => return Ok(()),
            Some(bytes) => file.write_all(bytes).map_err(disk)?,
        }
    }
}
