//! The table, with prose around it, as the man page.

/// `man/git-sandbox.1`
pub fn page() -> String {
    String::new()
}
