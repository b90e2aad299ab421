"""Comments whose lines were wrapped by a tool that does not read them.

Three marks of it, each looked for in runs of // lines:
 1. One word alone on a line, below a line of more than 60 columns.
 2. The second line of a list's item (`- ...`, `1. ...`) that stands where items begin, though the
    item goes on, or other items do, further right.
 3. A table's row that runs into the next line: below a row (words, two spaces or more, words) of
    more than 80 columns a line at the same indentation whose own columns agree with no other row.
"""

import re

import tree

WIDE = 60

_COMMENT = re.compile(r"^(\s*)//( *)(.*)$")
_ITEM = re.compile(r"^(- |\d+\. )")
_GAP = re.compile(r"(?<=\S)  +(?=\S)")

# Folders and files still to be restored.
ALLOWED = ["checkpoint", "hip", "layouts", "reference", "weights"]


class _Line:
    def __init__(self, number, text, match):
        self.number = number
        self.width = len(text)
        self.column = len(match[1])  # of the //
        self.indent = len(match[2])
        self.text = match[3]

    def columns(self):
        """Where the columns behind the first begin."""
        return {gap.end() + self.indent for gap in _GAP.finditer(self.text)}


def _runs(lines):
    """Lists of the _Lines of each run of comment lines in the same column."""
    run = []
    for number, text in enumerate(lines, 1):
        match = _COMMENT.match(text)
        line = _Line(number, text, match) if match else None
        if run and (line is None or line.column != run[0].column):
            yield run
            run = []
        if line is not None:
            run.append(line)
    if run:
        yield run


def _lone_words(run):
    for above, line in zip(run, run[1:]):
        marker = _ITEM.match(above.text)
        begins = {above.indent, above.indent + len(marker[0])} if marker else {above.indent}
        is_code = line.indent >= 4 and not marker or line.text.startswith("NOLINT")
        lone = line.text and " " not in line.text and not is_code
        if lone and above.text and above.width > WIDE and line.indent in begins:
            yield line, "one word alone: %s" % line.text


def _broken_items(run):
    item = None  # whose next line this may be
    for above, line, below in zip([None] + run, run, run[1:] + [None]):
        if _ITEM.match(line.text):
            item = line
        elif item is not None and line.text and line.indent == item.indent:
            goes_on = below and below.text and (below.indent > item.indent or
                                                _ITEM.match(below.text))
            if above.width > WIDE and goes_on:
                yield line, "an item's next line stands where items begin"
            item = None
        elif item is not None and (not line.text or line.indent < item.indent):
            item = None


def _broken_rows(run):
    for index in range(1, len(run)):
        above, line = run[index - 1], run[index]
        if line.indent < 2 or above.indent != line.indent or above.width <= 80:
            continue
        others = [other for other in run if other is not line and other.indent >= 2]
        known = {other.indent for other in others if other.indent > line.indent}
        known = known.union(*(other.columns() for other in others))
        if known and line.columns() and not line.columns() & known:
            yield line, "a table's row runs into this line"


def check_comments(source_tree, allowed=()):
    findings = tree.Findings()
    for path in source_tree.files(".h", ".cc", ".hip", ".c"):
        if tree.under(path, allowed):
            continue
        for run in _runs(source_tree.lines(path)):
            for look in (_lone_words, _broken_items, _broken_rows):
                for line, what in look(run):
                    findings.add(path, line.number, what)
    return findings


def check(source_tree):
    return check_comments(source_tree, ALLOWED)


if __name__ == "__main__":
    tree.run(check)
