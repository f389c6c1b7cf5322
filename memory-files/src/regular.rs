//! Opens regular files and refuses everything else.

use std::{
    fs::{self, File, FileType, OpenOptions},
    io::{self, Read},
    path::Path,
};

/// Handling of a path that may be a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Links are followed, and their target is checked: in a directory of models, or where a user names a file.
    Follow,
    /// A link is an error: in a store, which contains only files of our own.
    Refuse,
}

/// Source of an [`io::Error`] where a path names another kind of file than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is {found}, not {expected}")]
pub struct NotRegular {
    found: &'static str,
    expected: &'static str,
}

impl NotRegular {
    fn file(kind: FileType) -> Self {
        Self { found: name_of(kind), expected: "a regular file" }
    }

    fn dir(kind: FileType) -> Self {
        Self { found: name_of(kind), expected: "a directory" }
    }
}

impl From<NotRegular> for io::Error {
    fn from(error: NotRegular) -> Self {
        let kind = if error.found == DIRECTORY { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
        Self::new(kind, error)
    }
}

/// True if the source of an error is [`NotRegular`].
#[must_use]
pub fn is_not_regular(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|source| source.is::<NotRegular>())
}

/// Maps [`NotRegular`] to a missing file, for a cache that replaces such a file.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] in place of [`NotRegular`]; every other error unchanged.
pub fn or_missing<T>(error: io::Error) -> io::Result<T> {
    Err(if is_not_regular(&error) { io::Error::new(io::ErrorKind::NotFound, error) } else { error })
}

const DIRECTORY: &str = "a directory";

fn name_of(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a FIFO";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if kind.is_dir() {
        DIRECTORY
    } else if kind.is_symlink() {
        "a symbolic link"
    } else {
        "something else"
    }
}

/// Opens a regular file for reading.
///
/// # Errors
/// [`NotRegular`], if the path names anything else, and errors of the file system.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path, links)
}

/// Opens a regular file with `options`.
///
/// # Errors
/// As [`open`].
pub fn open_with(options: &OpenOptions, path: &Path, links: Links) -> io::Result<File> {
    let opened = non_blocking(options, links).open(path);
    let kind = match &opened {
        Ok(file) => file.metadata()?.file_type(),
        // A refused link, a FIFO without a reader, a socket or a directory fails to open.
        Err(_) => match status(path, links) {
            Ok(there) if is_unexpected(there.file_type(), links) => there.file_type(),
            _ => return opened,
        },
    };
    if kind.is_file() { opened } else { Err(NotRegular::file(kind).into()) }
}

fn is_unexpected(kind: FileType, links: Links) -> bool {
    !kind.is_file() && (links == Links::Refuse || !kind.is_symlink())
}

fn status(path: &Path, links: Links) -> io::Result<fs::Metadata> {
    match links {
        Links::Follow => fs::metadata(path),
        Links::Refuse => fs::symlink_metadata(path),
    }
}

#[cfg(unix)]
fn non_blocking(options: &OpenOptions, links: Links) -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let no_link = if links == Links::Refuse { libc::O_NOFOLLOW } else { 0 };
    let mut options = options.clone();
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | no_link);
    options
}

#[cfg(not(unix))]
fn non_blocking(options: &OpenOptions, _: Links) -> OpenOptions {
    options.clone()
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and [`io::ErrorKind::FileTooLarge`].
pub fn read(path: &Path, links: Links, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path, links)?;
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes"));
    let size = file.metadata()?.len();
    if size > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // The file may grow while it is read.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// Reads a regular file of UTF-8 text of at most `most` bytes.
///
/// # Errors
/// As [`read`], and [`io::ErrorKind::InvalidData`].
pub fn read_to_string(path: &Path, links: Links, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, links, most)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Opens a directory, to lock or to sync it.
///
/// # Errors
/// [`NotRegular`], if the path names anything else, including a symbolic link if links are refused, and errors of the
/// file system.
pub fn open_dir(path: &Path, links: Links) -> io::Result<File> {
    let opened = non_blocking(OpenOptions::new().read(true), links).open(path);
    let kind = match &opened {
        Ok(file) => file.metadata()?.file_type(),
        Err(_) => match status(path, links) {
            Ok(there) => there.file_type(),
            Err(_) => return opened,
        },
    };
    if kind.is_dir() { opened } else { Err(NotRegular::dir(kind).into()) }
}

/// Removes a link, FIFO, socket or device at the path of a file that can be created again. Keeps regular files and
/// directories.
///
/// # Errors
/// Errors of the file system.
pub fn make_way(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() && !there.is_dir() => fs::remove_file(path),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        os::unix::{fs::symlink, net::UnixListener},
        path::PathBuf,
        process::Command,
    };

    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn fifo(&self) -> PathBuf {
            let path = self.at("fifo");
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            path
        }
    }

    fn why(error: &io::Error) -> String {
        assert!(is_not_regular(error), "{error}");
        error.to_string()
    }

    #[test]
    fn other_kinds_of_files_are_refused_with_all_options() {
        let place = Place::new();
        let _socket = UnixListener::bind(place.at("socket")).unwrap();
        fs::create_dir(place.at("directory")).unwrap();
        let read = OpenOptions::new().read(true).clone();
        let write = OpenOptions::new().write(true).clone();
        let both = OpenOptions::new().read(true).write(true).clone();
        let create = OpenOptions::new().write(true).create(true).truncate(true).clone();
        let things = [
            (place.fifo(), "it is a FIFO, not a regular file"),
            (place.at("socket"), "it is a socket, not a regular file"),
            (place.at("directory"), "it is a directory, not a regular file"),
            (PathBuf::from("/dev/zero"), "it is a device, not a regular file"),
        ];
        for (path, expected) in things {
            for options in [&read, &write, &both, &create] {
                for links in [Links::Follow, Links::Refuse] {
                    assert_eq!(why(&open_with(options, &path, links).unwrap_err()), expected, "{options:?}");
                }
            }
        }
    }

    #[test]
    fn a_link_is_followed_only_on_request_and_its_target_is_checked() {
        let place = Place::new();
        fs::write(place.at("file"), "text").unwrap();
        symlink(place.at("file"), place.at("link")).unwrap();
        symlink("/dev/zero", place.at("endless")).unwrap();
        symlink(place.at("nothing"), place.at("dangling")).unwrap();
        assert_eq!(read(&place.at("link"), Links::Follow, 4).unwrap(), b"text");
        let linked = "it is a symbolic link, not a regular file";
        for name in ["link", "endless", "dangling"] {
            assert_eq!(why(&open(&place.at(name), Links::Refuse).unwrap_err()), linked);
            let missing = open(&place.at(name), Links::Refuse).or_else(or_missing).unwrap_err();
            assert_eq!((missing.kind(), missing.to_string()), (io::ErrorKind::NotFound, linked.to_owned()));
        }
        assert_eq!(why(&open(&place.at("endless"), Links::Follow).unwrap_err()), "it is a device, not a regular file");
        let error = open(&place.at("dangling"), Links::Follow).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn reading_is_bounded() {
        let place = Place::new();
        fs::write(place.at("file"), "text").unwrap();
        let error = read(&place.at("file"), Links::Refuse, 3).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::FileTooLarge, "it has more than 3 bytes".into()));
        assert_eq!(read_to_string(&place.at("file"), Links::Refuse, 4).unwrap(), "text");
        assert_eq!(read(&place.at("none"), Links::Refuse, 4).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn only_directories_open_as_directories() {
        let place = Place::new();
        fs::create_dir(place.at("directory")).unwrap();
        symlink(place.at("directory"), place.at("link")).unwrap();
        open_dir(&place.at("directory"), Links::Refuse).unwrap();
        open_dir(&place.at("link"), Links::Follow).unwrap();
        let error = open_dir(&place.at("link"), Links::Refuse).unwrap_err();
        assert_eq!(why(&error), "it is a symbolic link, not a directory");
        assert_eq!(why(&open_dir(&place.fifo(), Links::Follow).unwrap_err()), "it is a FIFO, not a directory");
        assert_eq!(open_dir(&place.at("none"), Links::Refuse).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn make_way_keeps_files_and_directories() {
        let place = Place::new();
        fs::write(place.at("file"), "text").unwrap();
        fs::create_dir(place.at("directory")).unwrap();
        symlink(place.at("file"), place.at("link")).unwrap();
        for path in [place.fifo(), place.at("link"), place.at("file"), place.at("directory"), place.at("none")] {
            make_way(&path).unwrap();
        }
        let mut left: Vec<_> = fs::read_dir(place.at("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["directory", "file"]);
    }
}
