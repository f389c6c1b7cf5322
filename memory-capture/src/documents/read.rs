//! Reading of documents: text, Markdown, HTML and PDF.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use memory_files::{Links, read};

use super::{DocumentKind, ExtractError, Extractor};

/// Largest file, in bytes.
const LARGEST: u64 = 256 << 20;

/// The text of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// Name by which it is cited: that of its file.
    pub name: String,
    /// Pages with text, in order; a text without pages is one page.
    pub pages: Vec<Page>,
}

/// A page of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Number of the page, from 1; `None` for a text without pages.
    pub number: Option<u32>,
    /// Text of the page.
    pub text: String,
}

/// Reasons why a document cannot be added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },
    /// The file is too large.
    #[error("{} has {bytes} bytes, and a document at most {LARGEST}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Bytes of the file.
        bytes: u64,
    },
    /// The file is of no known kind.
    #[error("{} is neither UTF-8 text (also Markdown), HTML nor PDF", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// The file has no text.
    #[error("{} has no text; pages that were scanned need text recognition first", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The text cannot be extracted.
    #[error("cannot read the text of {}", path.display())]
    Extract {
        /// The file.
        path: PathBuf,
        /// Cause of the failure.
        source: ExtractError,
    },
}

impl Document {
    /// A document of one text without pages.
    #[must_use]
    pub fn of_text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), pages: vec![Page { number: None, text: text.into() }] }
    }

    /// Reads a file. HTML and PDF, which may be hostile, are read by `extractor` in a process of its own.
    ///
    /// # Errors
    /// [`DocumentError`]
    pub fn read(path: &Path, extractor: &Extractor) -> Result<Self, DocumentError> {
        let unread = |source| DocumentError::Unread { path: path.to_owned(), source };
        let bytes = read(path, Links::Follow, LARGEST).map_err(|source| match source.kind() {
            io::ErrorKind::FileTooLarge => {
                let bytes = fs::metadata(path).map_or(LARGEST, |metadata| metadata.len());
                DocumentError::TooLarge { path: path.to_owned(), bytes }
            }
            _ => unread(source),
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pages = match DocumentKind::of(path, &bytes) {
            Some(kind) => {
                let failed = |source| DocumentError::Extract { path: path.to_owned(), source };
                let texts = extractor.run(kind, bytes).map_err(failed)?;
                let number = |index: usize| u32::try_from(index + 1).ok().filter(|_| kind == DocumentKind::Pdf);
                texts.into_iter().enumerate().map(|(index, text)| Page { number: number(index), text }).collect()
            }
            None => {
                let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
                let text = text.ok_or_else(|| DocumentError::Unknown { path: path.to_owned() })?;
                vec![Page { number: None, text: text.trim_start_matches('\u{feff}').to_owned() }]
            }
        };
        let pages: Vec<Page> = pages.into_iter().filter(|page| !page.text.trim().is_empty()).collect();
        if pages.is_empty() {
            return Err(DocumentError::Empty { path: path.to_owned() });
        }
        Ok(Self { name, pages })
    }
}
