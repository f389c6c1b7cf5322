//! The cache as derived data: shared by all conversations, forgotten by text.

use std::{fs, io};

use memory_core::port::{
    BoxFuture, Derived, DerivedError, DerivedFault, DerivedKind, DerivedSize, Forget, Forgotten, Holdings,
};

use super::{EmbeddingCache, Generations, OLDER, RECENT, generation::Generation};
use crate::files::if_there;

impl EmbeddingCache {
    fn size(&self) -> io::Result<DerivedSize> {
        let Some(entries) = if_there(fs::read_dir(&self.directory))? else { return Ok(DerivedSize::default()) };
        let mut size = DerivedSize::default();
        for entry in entries {
            size.disk += entry?.metadata()?.len();
        }
        let mut files = self.files();
        self.reload(&mut files)?;
        let Generations { recent, older, .. } = &*files;
        Ok(size.count([recent, older].into_iter().flatten().map(Generation::texts).sum()))
    }

    fn fault(&self, name: &str) -> io::Result<Option<DerivedFault>> {
        let path = self.path(name);
        let Some(bytes) = if_there(fs::metadata(&path))?.map(|file| file.len()) else { return Ok(None) };
        let what = match Generation::open(&path, &self.check)? {
            None => Some("its header is damaged, or of another key or format: it is not used".to_owned()),
            Some(mut generation) => {
                generation.refresh()?;
                match (generation.damaged(), bytes - generation.end().min(bytes)) {
                    (0, 0) => None,
                    (texts, rest) => Some(format!(
                        "the vectors of {texts} texts and its last {rest} bytes are damaged: they are made again"
                    )),
                }
            }
        };
        Ok(what.map(|what| DerivedFault::new(None, path.display().to_string(), what)))
    }

    fn failed(&self, action: &'static str) -> impl Fn(io::Error) -> DerivedError {
        let place = self.directory.display().to_string();
        move |source| match source.kind() {
            io::ErrorKind::WouldBlock => DerivedError::Busy { place: place.clone() },
            _ => DerivedError::io(action, &place, source),
        }
    }
}

impl Derived for EmbeddingCache {
    fn kind(&self) -> DerivedKind {
        DerivedKind::Embeddings
    }

    fn holdings(&self) -> BoxFuture<'_, Result<Holdings, DerivedError>> {
        Box::pin(async move { Ok(Holdings::new(Vec::new(), self.size().map_err(self.failed("read"))?)) })
    }

    fn forget<'a>(&'a self, what: &'a Forget<'a>) -> BoxFuture<'a, Result<Forgotten, DerivedError>> {
        Box::pin(async move {
            if !self.writes {
                return Err(DerivedError::ReadOnly { place: self.directory.display().to_string() });
            }
            let forgotten = what.texts.map_or_else(|| self.clear(), |texts| self.forget(texts));
            forgotten.map_err(self.failed("write"))?;
            Ok(Forgotten::All)
        })
    }

    fn verify(&self) -> BoxFuture<'_, Result<Vec<DerivedFault>, DerivedError>> {
        Box::pin(async move {
            let faults = [OLDER, RECENT].into_iter().map(|name| self.fault(name));
            let faults: Vec<Option<DerivedFault>> = faults.collect::<io::Result<_>>().map_err(self.failed("read"))?;
            Ok(faults.into_iter().flatten().collect())
        })
    }
}

#[cfg(test)]
mod tests;
