"""Finds where a Rust file decides something, and puts a switch at each place.

Nothing here understands Rust. Words, brackets and strings are told apart, and that is enough to see a
condition, a closure that answers yes or no, and a statement that is one call. What the compiler then does not
take is dropped by whoever builds it.

A place has two numbers, one for each thing that can be done to it. Of a condition: it is taken for true, or
for false. Of a call: it is left out, or its error is dropped.
"""

import re

TOKEN = re.compile(r"""
  (?P<space>\s+|//[^\n]*|/\*.*?\*/)
| (?P<text>[bc]?r(?P<fence>\#*)".*?"(?P=fence)|[bc]?"(?:\\.|[^"\\])*"
    |b?'(?:\\(?:x..|u\{[^}]*\}|.)|[^'\\\n\x80-\xff]|[\x80-\xff]{2,4})')
| (?P<lifetime>'\w+)
| (?P<word>\w+)
| (?P<sign>=>|->|::|&&|\|\||==|!=|<=|>=|\.\.=|\.\.|[-+*/%^&|]=|.)
""", re.S | re.X)
OPEN = {"(": ")", "[": "]", "{": "}"}
# What may stand before an expression, so that it ends there to the left.
BEFORE = set("( [ { } , ; = => | : += &= |= return if while match in else".split())
AFTER = set(") ] } , ; { =>".split())
# After one of these a sign that has two meanings is no operator.
NO_VALUE = set("return if while match in else let move mut ref as".split())
# Methods whose closure answers yes or no.
ASKED = set("""filter any all is_some_and is_ok_and is_none_or retain take_while skip_while find position
    partition rfind take_if pop_if""".split())
SAYS_YES_OR_NO = re.compile(r"is_\w+|has_\w+|exists|contains\w*|starts_with|ends_with|any|all|eq|names\w*|leads\w*")
# Words that begin a statement which is no call.
STATEMENTS = set("""let return use fn const static struct enum impl type trait mod pub extern break continue
    unsafe async yield""".split())
BLOCKS = set("if match for while loop unsafe".split())
TESTS = re.compile(r"#\[cfg\(test\)\]|macro_rules!")


class Point:
    """A place: its numbers are `number` and `number + 1`."""

    def __init__(self, path, kind, start, end, line, text):
        self.path, self.kind, self.start, self.end, self.line = path, kind, start, end, line
        self.text = " ".join(text.split())
        self.number = None

    def mutants(self):
        kinds = {"condition": ("true", "false"), "call?": ("left out", "error dropped"), "call": ("left out",)}
        return {self.number + at: what for at, what in enumerate(kinds[self.kind])}

    def around(self):
        """What is put before and behind it."""
        decided = "crate::decided::"
        if self.kind == "condition":
            return f"{decided}is({self.number}, ", ")"
        if self.kind == "call":
            return f"if !{decided}skips({self.number}) {{ ", " }"
        return f"if !{decided}skips({self.number}) {{ {decided}passes({self.number}, ", ")?; }"


class File:
    """The tokens of one file."""

    def __init__(self, path, source):
        self.path, self.source = path, source
        found = [match for match in TOKEN.finditer(source) if match.lastgroup != "space"]
        self.tokens = [match[0] for match in found]
        self.spans = [match.span() for match in found]
        self.words = [bool(match["word"]) for match in found]
        self.match, opened = {}, []
        for at, token in enumerate(self.tokens):
            if token in OPEN:
                opened.append(at)
            elif token in OPEN.values():
                start = opened.pop()
                self.match[start], self.match[at] = at, start
        self.left_out = self.tests_and_macros()
        self.points = {}

    def tests_and_macros(self):
        """The tokens that are looked at by nobody."""
        out = [False] * len(self.tokens)
        def leave(start, end):
            out[start:end + 1] = [True] * (end + 1 - start)
        for found in TESTS.finditer(self.source):
            at = next((at for at, span in enumerate(self.spans) if span[0] >= found.end()), None)
            while at is not None and self.tokens[at] not in "{;":
                at = self.match.get(at, at) + 1
            if at is not None:
                leave(at, self.match.get(at, at))
        for at in range(len(self.tokens) - 2):
            if self.words[at] and self.tokens[at + 1] == "!" and self.tokens[at + 2] in OPEN:
                leave(at + 2, self.match[at + 2])
            if self.tokens[at] == "#" and self.tokens[at + 1] == "[":
                leave(at, self.match[at + 1])
        return out

    def is_value(self, at):
        """Whether a value ends with this token."""
        if at < 0:
            return False
        token = self.tokens[at]
        return token in (")", "]", "}", "?") or token[-1] in "\"'" or (self.words[at] and token not in NO_VALUE)

    def is_operator(self, at):
        return self.tokens[at] in ("&&", "||") and self.is_value(at - 1)

    def add(self, kind, first, last):
        """Adds a place from its first to its last token."""
        if first > last or self.left_out[first]:
            return
        start, end = self.spans[first][0], self.spans[last][1]
        line = self.source.count("\n", 0, start) + 1
        self.points.setdefault((start, end, kind[:4]), Point(self.path, kind, start, end, line, self.source[start:end]))

    def until(self, at, stops):
        """The first of these tokens from here on, outside of brackets."""
        while at < len(self.tokens) and self.tokens[at] not in stops:
            at = self.match[at] if self.tokens[at] in OPEN else at
            at += 1
        return at

    def condition(self, first, end):
        """Adds each part of a condition, which ends before `end`."""
        at = start = first
        while at <= end:
            if at == end or (self.is_operator(at) and at > start):
                if start < at and self.tokens[start] not in {"let", "true", "false"} | BLOCKS:
                    self.add("condition", start, at - 1)
                start = at + 1
            elif self.tokens[at] in OPEN:
                at = self.match[at]
            at += 1

    def chain(self, at):
        """Adds each part of what this operator is in."""
        first = at
        while first > 0 and (self.tokens[first - 1] not in BEFORE or self.is_operator(first - 1)):
            before = self.tokens[first - 1]
            if before == "||" and not self.is_operator(first - 1):
                break
            first = self.match[first - 1] if before in (")", "]") else first - 1
        if self.tokens[first - 1] == "=":
            # The first part is what a pattern is compared with.
            let = first - 1
            while let > 0 and self.tokens[let] not in ("let", ";"):
                let = self.match[let] if self.tokens[let] in (")", "]", "}") else let
                let -= 1
            if self.tokens[let] == "let" and (self.tokens[let - 1] in ("if", "while") or self.is_operator(let - 1)):
                first = next(i for i in range(first, at + 1) if self.is_operator(i)) + 1
        self.condition(first, self.until(at, AFTER))

    def is_question(self, first, end):
        """Whether this looks like something that is true or false."""
        at = first
        while at < end:
            if self.tokens[at] in ("==", "!=", "<=", ">="):
                return True
            at = self.match[at] if self.tokens[at] in OPEN else at
            at += 1
        if self.tokens[first] == "!":
            return True
        if end - 1 > first and self.tokens[end - 1] == ")":
            return bool(SAYS_YES_OR_NO.fullmatch(self.tokens[self.match[end - 1] - 1]))
        return False

    def tail(self, opened):
        """The first token of the last expression of a block, or None."""
        at, end = opened + 1, self.match[opened]
        while at < end:
            stop = self.until(at, ";}") if self.tokens[at] not in BLOCKS else self.block_end(at)
            if stop >= end:
                return at
            at = stop + 1
        return None

    def block_end(self, at):
        """The last token of a statement that begins with `if`, `match` or a loop."""
        while True:
            at = self.match[self.until(at, "{")]
            if at + 1 >= len(self.tokens) or self.tokens[at + 1] != "else":
                break
            at += 2
        if self.tokens[at + 1] in (".", "?"):
            return self.until(at + 1, ";}")
        return at

    def body(self, first, end):
        """Adds what a closure or function answers, if that is true or false."""
        if self.tokens[first] == "{":
            end, first = self.match[first], self.tail(first)
        if first is not None and self.tokens[first] not in BLOCKS | STATEMENTS:
            self.condition(first, end)

    def closure(self, at):
        """The first token of the body of a closure that begins here, or None."""
        at += self.tokens[at] == "move"
        if self.tokens[at] == "||":
            return at + 1
        return self.until(at + 1, "|") + 1 if self.tokens[at] == "|" else None

    def statements(self, opened):
        """Adds the calls that are statements of a block."""
        at, end = opened + 1, self.match[opened]
        while at < end:
            token = self.tokens[at]
            if token == "#":
                at = self.match[at + 1] + 1
                continue
            stop = self.block_end(at) if token in BLOCKS else self.until(at, ";}")
            if stop < end and self.tokens[stop] == ";":
                inside = [i for i in range(at, stop) if self.tokens[i] == "="]
                assigns = any(self.until(at, "=") == i for i in inside)
                if token == "let":
                    self.let(at, stop)
                elif self.words[at] and token not in BLOCKS | STATEMENTS and not assigns:
                    if self.tokens[at + 1] == "!" or token == "crash_point":
                        pass
                    elif self.tokens[stop - 1] == "?":
                        self.add("call?", at, stop)
                    elif self.tokens[stop - 1] == ")":
                        self.add("call", at, stop)
            at = stop + 1

    def let(self, at, stop):
        equal = self.until(at, "=;")
        if equal >= stop:
            return
        if self.tokens[at + 1] == "_" and equal == at + 2:
            self.add("call", at, stop)
        first = self.closure(equal + 1) or equal + 1
        if self.tokens[first] == "{" and first > equal + 1:
            tail = self.tail(first)
            if tail is not None and self.is_question(tail, self.match[first]):
                self.body(first, stop)
        elif self.tokens[first] not in BLOCKS and self.is_question(first, stop):
            self.condition(first, stop)

    def find(self):
        for at, token in enumerate(self.tokens):
            if self.left_out[at]:
                continue
            if token in ("if", "while") and self.words[at]:
                self.condition(at + 1, self.until(at + 1, ("{", "=>")))
            elif token == "match":
                opened = self.until(at + 1, "{")
                if self.tokens[opened + 1] in ("true", "false"):
                    self.condition(at + 1, opened)
            elif self.is_operator(at):
                self.chain(at)
            elif token == "." and self.tokens[at + 1] in ASKED and self.tokens[at + 2] == "(":
                first = self.closure(at + 3)
                if first:
                    self.body(first, self.match[at + 2])
            elif token == "fn":
                opened = self.until(at, "{;")
                if self.tokens[opened] == "{":
                    self.statements(opened)
                    if self.tokens[opened - 2:opened] == ["->", "bool"]:
                        self.body(opened, None)
            elif token == "{" and (self.tokens[at - 1] in ("else", "loop", "=>", "|", "=", "unsafe")
                                   or self.is_body(at)):
                self.statements(at)
        return sorted(self.points.values(), key=lambda point: (point.start, -point.end))

    def is_body(self, opened):
        """Whether this begins what an `if` or a loop does."""
        at = opened - 1
        while at >= 0 and self.tokens[at] not in (";", "{", "}", "=>", "(", "[", ","):
            if self.tokens[at] in ("if", "while", "for"):
                return True
            at = self.match[at] if self.tokens[at] in (")", "]") else at
            at -= 1
        return False


def find(path, source):
    """All places of a file, as bytes in Latin-1 so that each character is a byte."""
    return File(path, source).find()


def switched(source, points):
    """The file with a switch at each of these places, and where each of them is then, by number."""
    pieces = []
    for point in points:
        before, behind = point.around()
        end = point.end
        if point.kind == "call?":
            # "call(..)?;"
            end = source.rindex("?", point.start, point.end)
        length = point.end - point.start
        pieces.append((point.start, 1, -length, before, point.number, point.start))
        pieces.append((end, 0, length, behind, -point.number - 1, point.end))
    text, last, where = [], 0, {}
    size = 0
    for at, _, _, piece, number, until in sorted(pieces, key=lambda piece: piece[:3]):
        text.append(source[last:at])
        size += at - last
        if number >= 0:
            where[number] = [size, None]
        text.append(piece)
        size += len(piece)
        last = at
        if number < 0:
            where[-number - 1][1] = size
            last = max(at, until) if piece.startswith(")?;") else at
    text.append(source[last:])
    return "".join(text), where
