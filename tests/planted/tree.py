"""A copy of the source tree, for bugs to stand in, and the folder that it is built in."""

import os
import re
import shutil
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Wrong(Exception):
    """The list, and not the tree, is at fault."""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Tree:
    """The copy of one tool, below the folder that cargo builds in."""

    def __init__(self, tool):
        self.target = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(TOP, "target")), tool)
        self.path = os.path.join(self.target, "tree")

    def copy(self):
        """Copies the tree as it is now, without what git ignores."""
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                cwd=TOP, check=True, capture_output=True).stdout
        shutil.rmtree(self.path, ignore_errors=True)
        for name in filter(None, os.fsdecode(listed).split("\0")):
            if os.path.exists(os.path.join(TOP, name)):
                os.makedirs(os.path.dirname(os.path.join(self.path, name)), exist_ok=True)
                shutil.copy2(os.path.join(TOP, name), os.path.join(self.path, name))

    def add_module(self, name, text):
        """Adds a module of ours to the program."""
        main = os.path.join(self.path, "src/main.rs")
        write(main, read(main) + f"\nmod {name};\n")
        write(os.path.join(self.path, f"src/{name}.rs"), text)

    def run(self, words):
        """Runs a command in the copy. Returns its exit code and all that it printed."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith("TORTURE_")}
        variables["CARGO_TARGET_DIR"] = self.target
        variables.setdefault("RUST_TEST_THREADS", "8")
        variables.setdefault("CARGO_PROFILE_DEV_DEBUG", "0")
        # A bug shows at one place of many.
        variables.setdefault("FAULTS", "all")
        done = subprocess.run(words, cwd=self.path, text=True, env=variables, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        return done.returncode, done.stdout

    def test_program(self, *target):
        """Builds a test program. Raises what the compiler says."""
        code, said = self.run(["cargo", "test", "--locked", "--no-run", *target])
        program = re.search(r"^ +Executable .*\((.*)\)$", said, re.M)
        if code != 0 or not program:
            raise Wrong(f"it does not build\n{said}")
        return os.path.join(self.path, program[1])
