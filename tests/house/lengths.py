"""No source over 400 lines, no line of a document over 119 columns.

A row of a Markdown table is one line whatever it holds, and so is a line of code, between ```
fences or indented by four spaces; these are left alone.
"""

import tree

MAX_LINES = 400
MAX_COLUMNS = 119

# Still too long; a file that is mended leaves the list.
LONG_FILES = [
    "checkpoint/rewrite/quantize_test.cc",
    "hip/gfx942/dense_gemv_test.cc",
    "weights/pack_block.cc",
    "weights/packer.cc",
]
WIDE_DOCUMENTS = ["docs/gallery.md", "docs/layouts.md"]


def check_sources(source_tree, allowed=()):
    findings = tree.Findings()
    for path in source_tree.files(".cc", ".h", ".hip", ".c", ".py", ".sh", ".bzl"):
        count = len(source_tree.lines(path))
        if path in allowed:
            if count <= MAX_LINES:
                findings.add(path, count, "short enough now: take it off LONG_FILES")
        elif count > MAX_LINES:
            findings.add(path, count, "%d lines, more than %d" % (count, MAX_LINES))
    return findings


def check_documents(source_tree, allowed=()):
    findings = tree.Findings()
    for path in source_tree.files(".md"):
        fenced = False
        if tree.under(path, allowed):
            continue
        for number, line in enumerate(source_tree.lines(path), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif fenced or line.startswith(("|", "    ")):
                continue
            elif len(line) > MAX_COLUMNS:
                findings.add(path, number,
                             "%d columns, more than %d" % (len(line), MAX_COLUMNS))
    return findings


def check(source_tree):
    findings = check_sources(source_tree, LONG_FILES)
    findings.lines += check_documents(source_tree, WIDE_DOCUMENTS).lines
    return findings


if __name__ == "__main__":
    tree.run(check)
