"""The whole source tree, for the checks of this folder."""

import os
import re
import sys

# What Bazel, git and bazelw leave in the tree.
_NOT_SOURCE = re.compile(r"^(bazel-.*|\.git|\.bazelw-unavailable|__pycache__|shared)$")


class Tree:
    def __init__(self, root):
        self.root = root

    def files(self, *suffixes):
        """Paths from the root of the files whose names end in one of `suffixes`, in order."""
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not _NOT_SOURCE.match(name))
            for name in names:
                if name.endswith(suffixes):
                    found.append(os.path.relpath(os.path.join(folder, name), self.root))
        return sorted(found)

    def lines(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as text:
            return text.read().splitlines()


class Findings:
    """What a check found: where, and what is wrong there."""

    def __init__(self):
        self.lines = []

    def add(self, path, line, what):
        self.lines.append("%s:%d: %s" % (path, line, what))


def under(path, folders):
    """Whether `path` is one of `folders` (or files), or lies in one."""
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def run(check):
    """The main program of a check, a function of a Tree that returns Findings. The argument is the
    root, found by its file `bazelw`, which the runfiles of a test link to."""
    root = os.path.dirname(os.path.realpath(sys.argv[1]))
    tree = Tree(root)
    if not tree.files("BUILD"):
        sys.exit("no source tree at %s: this test reads it where it lies" % root)
    found = check(tree).lines
    print("\n".join(found[:200]))
    if found:
        sys.exit("%d findings (%s)" % (len(found), os.path.basename(sys.argv[0])))
