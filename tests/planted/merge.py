"""Landing: lifecycle/merge."""

BUGS = [
    ("land over what git does not track", "src/lifecycle/merge/untracked.rs",
     "        collect(top, path, &tracked, &mut found)?;\n", "        let _ = (path, &mut found);\n", "merge::untracked"),
    ("take no files of a landing back", "src/lifecycle/merge/put_back.rs",
     "        for change in self.touched(&staged) {\n", "        for change in self.touched(&staged).into_iter().take(0) {\n",
     "merge::landing"),
    ("put back over the user's edit", "src/lifecycle/merge/put_back.rs",
     "            if self.holds_new(&git, change, meta, raw.get(&change.path))? {\n",
     "            if self.holds_new(&git, change, meta, raw.get(&change.path))? || true {\n", "merge::landing merge::interrupt"),
    ("write files that the user had deleted", "src/lifecycle/merge/put_back.rs",
     " && !absent.contains(path)\n", " && (!absent.contains(path) || true)\n", "merge::landing"),
    ("land although the index was written", "src/lifecycle/merge/land.rs",
     "        if files.stamp()? != clear.stamp {\n", "        if false && files.stamp()? != clear.stamp {\n", "merge::interrupt merge::landing"),
    ("land although the branch has moved", "src/lifecycle/merge/land.rs",
     "        if self.head(&git)? != Some(self.old.to_owned()) {\n", "        if false && self.head(&git)? != Some(self.old.to_owned()) {\n",
     "merge::interrupt merge::landing"),
    ("look once for untracked files", "src/lifecycle/merge/land.rs",
     "        self.survey().nothing_untracked(&clear.changes)?;\n", "", "merge::interrupt merge::untracked"),
]
