//! The source of an image or a document.

use std::borrow::Cow;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};

use crate::Media;

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Source<'a> {
    Url { url: Cow<'a, str> },
    Text { media_type: Cow<'a, str>, data: Cow<'a, str> },
    Base64 { media_type: Cow<'a, str>, data: Cow<'a, str> },
}

impl<'a> From<&'a Media> for Source<'a> {
    fn from(media: &'a Media) -> Self {
        match media {
            Media::Url(url) => Self::Url { url: url.into() },
            Media::Text { media_type, text } => Self::Text { media_type: media_type.into(), data: text.into() },
            Media::Bytes { media_type, data } => {
                Self::Base64 { media_type: media_type.into(), data: BASE64_STANDARD.encode(data).into() }
            }
        }
    }
}

impl Source<'_> {
    /// The media; `None` if the data is not base64.
    pub(super) fn into_media(self) -> Option<Media> {
        Some(match self {
            Self::Url { url } => Media::Url(url.into_owned()),
            Self::Text { media_type, data } => {
                Media::Text { media_type: media_type.into_owned(), text: data.into_owned() }
            }
            Self::Base64 { media_type, data } => {
                let data = BASE64_STANDARD.decode(data.as_ref()).ok()?.into();
                Media::Bytes { media_type: media_type.into_owned(), data }
            }
        })
    }
}
