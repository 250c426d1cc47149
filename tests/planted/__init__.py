"""The bugs that tests/mutants plants, one file for each group of rooms.

Each bug is a name, a file, an exact piece of it that is found once, what stands there instead, and what must
turn red: modules or tests of the suite, "unit:<module>" for unit tests, or "torture". They are asked in this
order until one is red. What stands there instead should have the word BUG, an expression that is true when
the bug is to show: such bugs are built together. A bug that may live has a sixth field that says why.
"""

from importlib import import_module

GROUPS = {name: import_module(f"planted.{name}").BUGS for name in (
    "removal", "trash_vault", "create", "merge", "commands", "sandbox", "repo_sys", "walls")}
