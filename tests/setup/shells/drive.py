"""Presses TAB in a real shell on a pseudo-terminal.

Usage: drive.py bash|zsh <rc file>, with a line to be completed on each line of stdin. The rc file
binds Ctrl-X a to telling every candidate on descriptor 9, one a line, ended by NUL, and to clearing
the line. The answers are printed as they come.
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

PATIENCE = 15  # seconds for one answer


def main():
    shell, rc = sys.argv[1:]
    lines = sys.stdin.read().splitlines()
    reader, writer = os.pipe()
    pid, terminal = pty.fork()
    if pid == 0:
        # Wide enough for every description.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 1000, 0, 0))
        os.dup2(writer, 9)
        words = {
            "bash": ["bash", "--noprofile", "--rcfile", rc, "-i"],
            "zsh": ["zsh", "-f", "-i"],
        }[shell]
        os.execvp(words[0], words)
    os.close(writer)
    if shell == "zsh":
        os.write(terminal, f"source {rc}\n".encode())
    answer(reader, terminal, "the prompt")
    for line in lines:
        os.write(terminal, line.encode() + b"\x18a")
        sys.stdout.buffer.write(answer(reader, terminal, line))
    os.write(terminal, b"exit\n")
    os.close(terminal)
    os.waitpid(pid, 0)


def answer(reader, terminal, what):
    """Everything up to the next NUL, while the screen is read so that nobody waits for us."""
    text, screen, deadline = b"", b"", time.monotonic() + PATIENCE
    while not text.endswith(b"\0"):
        ready, _, _ = select.select([reader, terminal], [], [], deadline - time.monotonic())
        if not ready:
            sys.exit(f"no answer to {what!r}; on the screen:\n{screen.decode(errors='replace')}")
        for source in ready:
            piece = os.read(source, 65536)
            if source == reader:
                text += piece
            else:
                screen += piece
    return text


main()
