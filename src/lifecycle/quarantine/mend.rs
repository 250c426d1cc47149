//! Mends a quarantine after a loss of power.

use crate::error::Result;
use crate::lifecycle::quarantine::Quarantine;
use crate::sys::file;

impl Quarantine<'_> {
    /// Writes `config` and `HEAD` of a quarantine anew where a loss of power has emptied them: without them
    /// git does not take it for a repository.
    pub(super) fn write_lost_files(&self) -> Result<()> {
        let is_empty = |name: &str| {
            let meta = self.dir.join(name).symlink_metadata();
            meta.is_ok_and(|meta| meta.is_file() && meta.len() == 0)
        };
        if is_empty("config") {
            let config = self.config(&self.repo.common.join("config"))?;
            file::replace(&self.dir.join("config"), config.as_bytes())?;
        }
        if is_empty("HEAD") {
            file::replace(&self.dir.join("HEAD"), self.main_head()?.as_bytes())?;
        }
        Ok(())
    }
}
