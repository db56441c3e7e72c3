# SPDX-License-Identifier: Apache-2.0
"""A candidate as the mutation operators see it: its evolve regions, statements and calls.

Comments, strings and everything outside the evolve regions are blanked in `code`, which has the same
offsets as `text`; so a pattern that matches `code` names a place that may be changed.
"""
import re

COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
REGION = re.compile(r"^[ \t]*// cuco: evolve begin.*?^[ \t]*// cuco: evolve end", re.S | re.M)
OPENING = {"(": ")", "[": "]", "{": "}"}


def blanked(text):
    return re.sub(r"[^\n]", " ", text)


class Source:
    def __init__(self, text):
        self.text = text
        without = COMMENT_OR_STRING.sub(lambda m: blanked(m[0]), text)
        code, at = "", 0
        for region in REGION.finditer(text):
            code += blanked(without[at:region.start()]) + without[region.start():region.end()]
            at = region.end()
        self.code = code + blanked(without[at:])

    def line(self, at):
        return self.text.count("\n", 0, at) + 1

    def replaced(self, *edits):
        """The text with each (start, end, replacement) applied; edits do not overlap."""
        text = self.text
        for start, end, replacement in sorted(edits, reverse=True):
            text = text[:start] + replacement + text[end:]
        return text

    def find(self, pattern):
        return re.finditer(pattern, self.code)

    def matching(self, at):
        """The place of the bracket that closes the one at `at`; None: there is none."""
        stack = []
        for i in range(at, len(self.code)):
            c = self.code[i]
            if c in OPENING:
                stack.append(OPENING[c])
            elif stack and c == stack[-1]:
                stack.pop()
                if not stack:
                    return i
        return None

    def statement_end(self, at):
        """Where the statement that starts at `at` ends (exclusive)."""
        head = re.compile(r"(for|if|while|switch)\s*(constexpr\s*)?\(").match(self.code, at)
        if head:
            close = self.matching(head.end() - 1)
            if close is None:
                return None
            end = self.statement_end(self.skip_space(close + 1))
            if end is None or head[1] != "if":
                return end
            other = re.compile(r"\s*else\s+").match(self.code, end)
            return self.statement_end(other.end()) if other else end
        i = at
        while i < len(self.code):
            c = self.code[i]
            if c == "{" and i == at:
                close = self.matching(i)
                return None if close is None else close + 1
            if c in OPENING:
                i = self.matching(i)
                if i is None:
                    return None
            elif c == ";":
                return i + 1
            elif c == "}":
                return None
            i += 1
        return None

    def skip_space(self, at):
        while at < len(self.code) and self.code[at].isspace():
            at += 1
        return at

    def blocks(self):
        """The statements of each block of a function, as lists of (start, end)."""
        for brace in self.find(r"\{"):
            before = self.code[:brace.start()].rstrip()
            if not before.endswith((")", "{", ";", "}", "else", "const")):
                continue  # a struct, an initialiser, a namespace
            close = self.matching(brace.start())
            statements, at = [], self.skip_space(brace.start() + 1)
            while close is not None and at < close:
                end = self.statement_end(at)
                if end is None or end > close:
                    break
                statements.append((at, end))
                at = self.skip_space(end)
            if statements:
                yield statements

    def functions(self):
        """Name and body, as (start, end), of each function that is defined here."""
        for head in self.find(r"\b([A-Za-z_]\w*)\s*\("):
            if head[1] in ("for", "if", "while", "switch", "return", "sizeof", "__launch_bounds__"):
                continue
            close = self.matching(head.end() - 1)
            if close is None:
                continue
            brace = re.compile(r"\s*(const\s*)?\{").match(self.code, close + 1)
            if brace:
                end = self.matching(brace.end() - 1)
                if end is not None:
                    yield head[1], (brace.end() - 1, end + 1)

    def arguments(self, opening):
        """The (start, end) of each argument of the call whose parenthesis is at `opening`."""
        close = self.matching(opening)
        if close is None:
            return []
        parts, start, i = [], opening + 1, opening + 1
        while i < close:
            if self.code[i] in OPENING:
                i = self.matching(i)
            elif self.code[i] == ",":
                parts.append((start, i))
                start = i + 1
            i += 1
        if self.code[start:close].strip():
            parts.append((start, close))
        return parts
