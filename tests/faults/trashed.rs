//! `restore`, and `reap` of what is in the trash.

use super::{ROW, Row, box_with, box_with_work, in_trash, in_vault, sweep};

#[test]
fn restore_brings_back_from_the_trash() {
    let setup = || in_trash(box_with_work());
    sweep(&Row { name: "restore, trash", setup, words: &["restore", "box"], ..ROW });
}

#[test]
fn restore_brings_a_rebase_back_from_the_trash() {
    let setup = || in_trash(box_with("rebase"));
    sweep(&Row { name: "restore, rebase", setup, words: &["restore", "box"], ..ROW });
}

#[test]
fn restore_brings_back_from_the_vault() {
    let setup = || in_vault(box_with_work());
    sweep(&Row { name: "restore, vault", setup, words: &["restore", "box"], day: 16, ..ROW });
}

#[test]
fn reap_puts_away() {
    let setup = || {
        let test = in_trash(box_with_work());
        test.git(&["config", "sandbox.trashExpiryDays", "0"]);
        test
    };
    let proof = &["restore", "box"];
    sweep(&Row { name: "reap, put away", setup, words: &["reap"], day: 1, proof, ..ROW });
}

#[test]
fn reap_purges_from_the_trash() {
    let setup = || in_trash(box_with_work());
    sweep(&Row { name: "purge, trash", setup, words: &["reap", "--purge", "box"], ..ROW });
}

#[test]
fn reap_purges_from_the_vault() {
    let setup = || in_vault(box_with_work());
    let words = &["reap", "--purge", "box"];
    sweep(&Row { name: "purge, vault", setup, words, day: 16, ..ROW });
}
