//! Random bytes of the system.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{Doing, Result};

/// Returns eight random hex digits.
pub fn hex() -> Result<String> {
    let mut bytes = [0; 4];
    let source = Path::new("/dev/urandom");
    File::open(source).and_then(|mut file| file.read_exact(&mut bytes)).at("read", source)?;
    Ok(format!("{:08x}", u32::from_ne_bytes(bytes)))
}
