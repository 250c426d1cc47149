"""Confined commands: session/confine, lifecycle/quarantine."""

BUGS = [
    ("take objects without a check", "src/lifecycle/quarantine/import.rs",
     "let check = if self.is_partial() { \"--fsck-objects\" } else { \"--strict\" };", "let check = \"--fix-thin\";",
     "quarantine::hostile"),
    ("take objects that lack what is behind them", "src/lifecycle/quarantine/import.rs",
     "        self.check_connected(ids)\n    }\n", "        let _ = Self::check_connected;\n        Ok(())\n    }\n", "quarantine::hostile"),
    ("take any file as an object", "src/lifecycle/quarantine/import.rs",
     "            if is_loose_object(name) || is_pack(name) {\n", "            if true || is_loose_object(name) || is_pack(name) {\n",
     "quarantine::hostile"),
]
