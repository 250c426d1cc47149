"""Types lines into a real, interactive shell on a pseudo-terminal.

Usage: session.py <shell> <word>..., with a line on each line of stdin. The shell's prompt tells the
exit status and the folder on descriptor 9, each ended by NUL: they are printed as they come, and all
that was on the screen goes to stderr. What follows '|' in a line is typed once the shell asks for a
number.
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

PATIENCE = 120  # seconds for one line, also on a loaded machine
QUESTION = b"number? "


def main():
    words = sys.argv[1:]
    lines = sys.stdin.read().splitlines()
    reader, writer = os.pipe()
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        os.dup2(writer, 9)
        os.environ["PATH"] = os.environ.pop("PATH_OF_THE_SHELL", os.environ["PATH"])
        os.execvp(words[0], words)
    os.close(writer)
    until(reader, terminal, "the prompt", lambda told, screen: told.count(b"\0") == 2)
    for line in lines:
        command, _, number = line.partition("|")
        os.write(terminal, command.encode() + b"\n")
        if number:
            until(reader, terminal, line, lambda told, screen: QUESTION in screen)
            os.write(terminal, number.encode() + b"\n")
        told = until(reader, terminal, line, lambda told, screen: told.count(b"\0") == 2)
        sys.stdout.buffer.write(told)
    os.write(terminal, b"exit\n")
    # The prompt may have told of the last line before its output was read.
    while select.select([terminal], [], [], PATIENCE)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # EIO: the shell has ended.
            break
        if not piece:
            break
        sys.stderr.buffer.write(piece)
    os.close(terminal)
    os.waitpid(pid, 0)


def until(reader, terminal, what, enough):
    """What the prompt tells, while the screen is read."""
    told, screen, deadline = b"", b"", time.monotonic() + PATIENCE
    while not enough(told, screen):
        ready, _, _ = select.select([reader, terminal], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            sys.exit(f"no answer to {what!r}; on the screen:\n{screen.decode(errors='replace')}")
        for source in ready:
            piece = os.read(source, 65536)
            if source == reader:
                told += piece
            else:
                screen += piece
    sys.stderr.buffer.write(screen)
    return told


main()
