//! The table as completions for bash, zsh and fish.

/// `completions/git-sandbox.bash`
pub fn bash() -> String {
    String::new()
}

/// `completions/_git-sandbox`
pub fn zsh() -> String {
    String::new()
}

/// `completions/git-sandbox.fish`
pub fn fish() -> String {
    String::new()
}

/// `completions/conf.d/git-sandbox.fish`: fish 3.6.0 does not forward `git sandbox` by itself.
pub fn fish_conf() -> String {
    String::new()
}
