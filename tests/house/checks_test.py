"""Each check finds the mistakes it is for, and lets good lines be."""

import os
import tempfile
import unittest

import arrows
import comments
import lengths
import tree
import words


def found(check, files, *arguments):
    """What `check` says of a tree of these files (by path, their text)."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return check(tree.Tree(root), *arguments).lines


WIDE = "// Where unpacked rows go, in the order in which they were given to the packer, row by\n"


class CommentsTest(unittest.TestCase):
    def finds(self, text, *lines):
        got = found(comments.check_comments, {"a/a.h": text})
        self.assertEqual([int(line.split(":")[1]) for line in got], list(lines), got)

    def test_a_word_alone(self):
        self.finds(WIDE + "// one.\nint a;\n", 2)
        self.finds("  " + WIDE + "  // one.\n", 2)
        self.finds("//  - " + WIDE[3:] + "//    one.\n", 2)

    def test_words_that_stand_alone_rightly(self):
        self.finds(WIDE + "// one, and so on.\n")
        self.finds("// Short.\n// One.\n")
        self.finds(WIDE + "//   row(r)->r\n")
        self.finds(WIDE + "\n// NOLINTNEXTLINE\n")
        self.finds(WIDE + "//\n// Errors.\n")

    def test_an_item_whose_next_line_is_no_item(self):
        self.finds("// Refused are\n"
                   "//  - weights whose codes are missing, stand there under two names, or are not\n"
                   "//  expected here,\n"
                   "//    or there;\n", 3)
        self.finds("// Refused are\n"
                   "//  - weights whose codes are missing, stand there under two names, or are not\n"
                   "//    expected here, or there;\n"
                   "//  - others.\n"
                   "// And so on.\n")

    def test_a_row_that_runs_into_the_next(self):
        self.finds("//   r:16         a factor of 16 values\n"
                   "//   tile         an open factor: as many values as the axis has room for, outermost\n"
                   "//   its axis block     a factor whose size\n", 3)
        self.finds("//   r:16         a factor of 16 values\n"
                   "//   tile         an open factor: as many values as the axis has room for, outermost\n"
                   "//                its axis\n"
                   "//   block        a factor whose size\n")

    def test_allowed_folders(self):
        text = "// " + "word " * 15 + "\n// alone\n"
        self.assertTrue(found(comments.check_comments, {"a/b/a.h": text}))
        self.assertFalse(found(comments.check_comments, {"a/b/a.h": text}, ["a/b"]))
        self.assertTrue(found(comments.check_comments, {"a/bc/a.h": text}, ["a/b"]))


class LengthsTest(unittest.TestCase):
    def test_sources(self):
        self.assertFalse(found(lengths.check_sources, {"a/a.cc": "\n" * 400}))
        self.assertTrue(found(lengths.check_sources, {"a/a.cc": "\n" * 401}))
        self.assertFalse(found(lengths.check_sources, {"a/a.cc": "\n" * 401}, ["a/a.cc"]))
        self.assertTrue(found(lengths.check_sources, {"a/a.cc": "\n" * 400}, ["a/a.cc"]))

    def test_documents(self):
        wide = "x" * 120
        self.assertEqual(len(found(lengths.check_documents, {"a.md": "a\n" + wide + "\n"})), 1)
        self.assertFalse(found(lengths.check_documents, {"a.md": wide[1:] + "\n"}))
        self.assertFalse(found(lengths.check_documents, {"a.md": "| " + wide + "\n"}))
        self.assertFalse(found(lengths.check_documents, {"a.md": "```\n" + wide + "\n```\n"}))
        self.assertTrue(found(lengths.check_documents, {"a.md": "```\n```\n" + wide + "\n"}))


class WordsTest(unittest.TestCase):
    def test_words(self):
        for bad in ("its judge is", "a quantizing twin", "each room", "a problem that is none"):
            self.assertTrue(found(words.check_words, {"a/a.h": "// " + bad + "\n"}), bad)
        for good in ("no room on disk", "as the axis has room for", "bedrooms", "wins"):
            self.assertFalse(found(words.check_words, {"a/a.h": "// " + good + "\n"}), good)
        self.assertFalse(found(words.check_words, {"a/a.h": "// twin\n"}, ["a"]))

    def test_seeds(self):
        self.assertTrue(found(words.check_words, {"docs/a.md": "seed 002\n"}))
        files = {"docs/sources.md": "seed 002\n", "a.h": "seed 002\n"}
        self.assertFalse(found(words.check_words, files))


PICTURE = """
```mermaid
flowchart TD
  tools --> checkpoint
  checkpoint --> weights & base
  weights -.-> reference
```

| Highway | `hwy/` | weights |
| GoogleTest | `gtest/` | tests |
"""
FOLDERS = {name + "/BUILD": "" for name in ("tools", "checkpoint", "weights", "base", "reference")}


class ArrowsTest(unittest.TestCase):
    def check(self, files, picture=PICTURE):
        return found(arrows.check_arrows, {"docs/architecture.md": picture, **FOLDERS, **files})

    def test_arrows(self):
        text = '#include "weights/b.h"\n#include "tools/b.h"\n'
        self.assertFalse(self.check({"tools/a.cc": text}))
        self.assertEqual(self.check({"weights/a.cc": '#include <vector>\n#include "base/b.h"\n'}),
                         ["weights/a.cc:2: no arrow weights --> base allows base/b.h"])
        self.assertTrue(self.check({"reference/a.h": '#include "weights/b.h"\n'}))

    def test_tests_reach_further(self):
        text = '#include "reference/b.h"\n'
        self.assertTrue(self.check({"weights/a.cc": text}))
        self.assertFalse(self.check({"weights/a_test.cc": text}))
        build = 'cc_library(srcs = ["a.cc"], testonly = True)\n'
        self.assertFalse(self.check({"weights/a.cc": text, "weights/BUILD": build}))
        self.assertTrue(self.check({"weights/a.cc": '#include "weights/a_test.h"\n'}))

    def test_libraries(self):
        self.assertFalse(self.check({"weights/a.cc": "#include <hwy/a.h>\n"}))
        self.assertTrue(self.check({"tools/a.cc": '#include "hwy/a.h"\n'}))
        self.assertTrue(self.check({"tools/a.cc": '#include "gtest/gtest.h"\n'}))
        self.assertFalse(self.check({"tools/a_test.cc": '#include "gtest/gtest.h"\n'}))

    def test_the_picture_itself(self):
        self.assertTrue(self.check({"other/a.cc": ""}))
        circle = PICTURE.replace("weights -.->", "weights --> tools\n  weights -.->")
        self.assertTrue(any("back to it" in line for line in self.check({}, circle)))
        missing = PICTURE.replace("weights & base", "weights & elsewhere")
        self.assertTrue(any("no folder elsewhere" in line for line in self.check({}, missing)))


if __name__ == "__main__":
    unittest.main()
