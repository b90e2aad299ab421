"""Words that a kernel engineer would not say of code, in headers and documents.

Reference or oracle, package, output, row group are the words in their place. Systems whose results
are reproduced go by their names; docs/sources.md alone knows their numbers.
"""

import re

import tree

FORBIDDEN = [
    (re.compile(r"\bjudg(e[sd]?|ing|ement)\b", re.I), "say reference, oracle or decides"),
    (re.compile(r"\btwins?\b", re.I), "say reference, oracle or duplicate"),
    # Room as space ("no room on disk") is what everyone says.
    (re.compile(r"\brooms\b|\b(one|each|every|own|other|another|which) room\b", re.I),
     "say package"),
    (re.compile(r"\bmouths?\b", re.I), "say output or interface"),
    (re.compile(r"\bproblem that is none\b", re.I), "say what is wrong with it"),
    (re.compile(r"\bparameters of this moment\b", re.I), "say which parameters"),
]
SEED = (re.compile(r"\bseed 00\d\b"), "name the system (docs/sources.md)")
SEED_KEY = "docs/sources.md"

# Folders and files still to be gone through.
ALLOWED = ["checkpoint", "hip"]
ALLOWED_SEEDS = ["docs/gallery.md"]


def check_words(source_tree, allowed=(), allowed_seeds=()):
    findings = tree.Findings()
    for path in source_tree.files(".h", ".md"):
        forbidden = [] if tree.under(path, allowed) else list(FORBIDDEN)
        if path.endswith(".md") and path != SEED_KEY and not tree.under(path, allowed_seeds):
            forbidden.append(SEED)
        for number, line in enumerate(source_tree.lines(path), 1):
            for pattern, advice in forbidden:
                match = pattern.search(line)
                if match:
                    findings.add(path, number, '"%s": %s' % (match[0], advice))
    return findings


def check(source_tree):
    return check_words(source_tree, ALLOWED, ALLOWED_SEEDS)


if __name__ == "__main__":
    tree.run(check)
