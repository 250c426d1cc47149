"""What the commands decide themselves: cmd/{reap,doctor}."""

BUGS = [
]
