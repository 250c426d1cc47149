//! The `.git` of a sandbox that a command without mounts has replaced, after its runner was killed.

use crate::sandbox::{Sandbox, in_use};
use crate::session::confine::Pointer;
use crate::sys::lock::Lock;
use crate::ui::out::Out;

/// Whether a runner was killed before it had put the pointer of a sandbox back.
pub fn is_left(sandbox: &Sandbox) -> bool {
    Pointer::left(&sandbox.path, &sandbox.entry).is_some()
}

/// Puts pointers back where no command runs any more. Returns whether there was one.
pub fn put_back_all(sandboxes: &[Sandbox], out: Out) -> bool {
    let mut any = false;
    for sandbox in sandboxes {
        let Some(pointer) = Pointer::left(&sandbox.path, &sandbox.entry) else { continue };
        let Ok(Some(_own)) = Lock::if_free(&in_use::lock_path(&sandbox.entry)) else { continue };
        any = true;
        match pointer.put_back() {
            Ok(None) => {}
            Ok(Some(warning)) => out.warn(&format!("'{}': {warning}", sandbox.name())),
            Err(error) => out.warn(&error.to_string()),
        }
    }
    any
}
