"""The part of @rules_shell that this repository uses, on Bazel 4's built-in rule."""

sh_binary = native.sh_binary
