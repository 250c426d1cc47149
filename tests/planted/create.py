"""Making and renaming: lifecycle/{create,recover,spare,rename}."""

BUGS = [
    ("delete a branch on rollback that was there before", "src/lifecycle/create/mod.rs",
     "        undo.folder = Some(path.clone());\n",
     "        undo.folder = Some(path.clone());\n"
     "        undo.branch = target.branch().map(|name| (name.to_owned(), start.commit.clone()));\n",
     "new::branch new::checkout"),
    ("leave a half-made entry", "src/lifecycle/recover/half_made.rs",
     "    if !is_stub(tree) {\n", "    if !is_stub(tree) || true {\n", "new::stub new::crash"),
    ("clear a half-made entry over the user's file", "src/lifecycle/recover/half_made.rs",
     "            return Ok(false);\n        }\n        let pointer", "        }\n        let pointer", "new::stub"),
]
