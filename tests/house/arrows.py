"""Holds every #include to the picture and the table of docs/architecture.md.

A package is a folder of the picture and what lies below it, down to a package that the picture
names apart. Of the picture, a Mermaid flowchart,

    a --> b & c    lets a include of b and c, and of what those may include;
    a -.-> b       lets tests of a do so as well.

Sources that are no tests include no header of a test. The table gives libraries of others to
packages; one that it does not name is free for all.
"""

import ast
import os
import re

import tree

PICTURE = "docs/architecture.md"

_ARROW = re.compile(r"^\s*(\S+(?: & \S+)*) (-->|-\.->) (\S+(?: & \S+)*)$")
_LIBRARY = re.compile(r"^\| [^|]+ \| ((?:`[^`|]+`(?:, )?)+) \| ([^|]+) \|$")
_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')


class Picture:
    """What docs/architecture.md allows."""

    def __init__(self, lines):
        self.arrows, self.of_tests, self.libraries = {}, {}, []
        drawn = False
        for line in lines:
            drawn = line.startswith("```mermaid") or (drawn and not line.startswith("```"))
            arrow = _ARROW.match(line) if drawn else None
            if arrow:
                for start in arrow[1].split(" & "):
                    kind = self.arrows if arrow[2] == "-->" else self.of_tests
                    kind.setdefault(start, set()).update(arrow[3].split(" & "))
            library = _LIBRARY.match(line)
            if library:
                self.libraries.append((re.findall(r"`([^`]+)`", library[1]),
                                       {name.strip() for name in library[2].split(",")}))
        ends = [self.arrows, self.of_tests]
        self.packages = set().union(*ends, *(named for end in ends for named in end.values()))

    def package(self, path):
        """The package that holds `path`, or None."""
        while path:
            path = os.path.dirname(path)
            if path in self.packages:
                return path
        return None

    def reach(self, package, is_test=False):
        """The packages that `package` may include, itself among them."""
        reached, ahead = set(), [package]
        if is_test:
            ahead += self.of_tests.get(package, ())
        while ahead:
            at = ahead.pop()
            if at not in reached:
                reached.add(at)
                ahead += self.arrows.get(at, ())
        return reached


def test_files(source_tree):
    """The sources of tests: of targets that are tests or testonly, and by name."""
    found = set()
    for build in source_tree.files("BUILD"):
        folder = os.path.dirname(build)
        for call in ast.walk(ast.parse("\n".join(source_tree.lines(build)))):
            if not isinstance(call, ast.Call):
                continue
            given = {word.arg: word.value for word in call.keywords}
            testonly = getattr(given.get("testonly"), "value", False)
            if not testonly and getattr(call.func, "id", "") != "cc_test":
                continue
            for word in ("srcs", "hdrs", "src"):
                for text in ast.walk(given.get(word, ast.List(elts=[]))):
                    if isinstance(text, ast.Constant) and isinstance(text.value, str):
                        found.add(os.path.join(folder, text.value))
    return found


def is_test(path, known):
    by_name = re.search(r"_test[_.]|/testing/|^(tests|benchmarks|examples)/", path)
    return path in known or by_name is not None


def check_arrows(source_tree):
    findings = tree.Findings()
    picture = Picture(source_tree.lines(PICTURE))
    tests = test_files(source_tree)
    for package in sorted(picture.packages):
        if not os.path.isdir(os.path.join(source_tree.root, package)):
            findings.add(PICTURE, 1, "there is no folder %s" % package)
        if any(package in picture.reach(other) for other in picture.arrows.get(package, ())):
            findings.add(PICTURE, 1, "arrows lead from %s back to it" % package)
    for path in source_tree.files(".h", ".cc", ".hip", ".c"):
        package = picture.package(path)
        if package is None:
            findings.add(path, 1, "in no package of %s" % PICTURE)
            continue
        test = is_test(path, tests)
        allowed = picture.reach(package, test)
        for number, line in enumerate(source_tree.lines(path), 1):
            match = _INCLUDE.match(line)
            if not match:
                continue
            name = match[1]
            # HIP's headers begin as the paths of our folder hip do.
            ours = os.path.exists(os.path.join(source_tree.root, name))
            libraries = [users for prefixes, users in picture.libraries
                         if not ours and name.startswith(tuple(prefixes))]
            own = {package, "tests"} if test else {package}
            for users in libraries:
                if not users & own:
                    findings.add(path, number, "%s is not for %s" % (name, package))
            to = None if libraries else picture.package(name)
            if to is not None and to not in allowed:
                findings.add(path, number, "no arrow %s --> %s allows %s" % (package, to, name))
            if to is not None and not test and is_test(name, tests):
                findings.add(path, number, "%s is a test's" % name)
    return findings


if __name__ == "__main__":
    tree.run(check_arrows)
