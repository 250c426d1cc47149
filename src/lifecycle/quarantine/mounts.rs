//! What a container has to be given so that git works in a sandbox and reaches nothing else.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::lifecycle::quarantine::{BORROWED, Quarantine};
use crate::session::confine;
use crate::session::container::Mount;

impl Quarantine<'_> {
    /// The folder, and the quarantine in the place of the common dir, all at the paths that they have
    /// outside. What must not change is read-only: the two pointers, and the repository's objects.
    pub fn mounts(&self) -> Result<Vec<Mount>> {
        let (folder, common) = (&self.sandbox.path, &self.repo.common);
        let worktrees = Path::new("worktrees");
        let private = worktrees.join(self.name());
        let mut mounts = vec![
            Mount::writable(folder, folder),
            Mount::read_only(&folder.join(".git"), &folder.join(".git")),
            Mount::writable(&self.dir, common),
            Mount::read_only(&common.join("objects"), &common.join(BORROWED)),
            // A mount point cannot be moved away: no later command finds a symlink in its place.
            Mount::writable(&self.dir.join(worktrees), &common.join(worktrees)),
            Mount::writable(&self.dir.join(&private), &common.join(&private)),
            // Not the one inside, in whose place a command may have put a symlink.
            Mount::read_only(
                &self.sandbox.entry.join("commondir"),
                &common.join(private.join("commondir")),
            ),
        ];
        let borrowed = confine::borrowed(&common.join("objects"), 0);
        mounts.extend(borrowed.iter().map(|objects| Mount::read_only(objects, objects)));
        let odd = |mount: &&Mount| {
            let paths = [&mount.source, &mount.target];
            let odd = |byte: &u8| *byte == b':' || *byte == b',' || byte.is_ascii_control();
            paths.iter().any(|path| path.as_os_str().as_bytes().iter().any(odd))
        };
        match mounts.iter().find(odd) {
            Some(_) => Err(Error::NotConfinable {
                name: self.sandbox.name(),
                why: "a container cannot mount a path with ':', ',' or a control character",
            }),
            None => Ok(mounts),
        }
    }
}
