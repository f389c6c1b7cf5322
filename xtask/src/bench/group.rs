//! The groups of figures: the tables of the bars' file.

use std::fmt;
use std::str::FromStr;

use anyhow::{Error, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Group {
    Log,
    Vectors,
    Embed,
    Retrieval,
    Plugins,
    Views,
    Privacy,
    Tools,
    Agent,
    Languages,
    Soak,
}

impl Group {
    pub(super) const ALL: [Self; 11] = [
        Self::Log,
        Self::Vectors,
        Self::Embed,
        Self::Retrieval,
        Self::Plugins,
        Self::Views,
        Self::Privacy,
        Self::Tools,
        Self::Agent,
        Self::Languages,
        Self::Soak,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Vectors => "vectors",
            Self::Embed => "embed",
            Self::Retrieval => "retrieval",
            Self::Plugins => "plugins",
            Self::Views => "views",
            Self::Privacy => "privacy",
            Self::Tools => "tools",
            Self::Agent => "agent",
            Self::Languages => "languages",
            Self::Soak => "soak",
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Group {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match Self::ALL.into_iter().find(|group| group.name() == name) {
            Some(group) => Ok(group),
            None => bail!("`{name}` is not a group of figures"),
        }
    }
}
