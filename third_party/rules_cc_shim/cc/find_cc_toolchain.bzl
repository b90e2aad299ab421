"""Where @rules_cc of later versions keeps the toolchain helpers."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

find_cc_toolchain = find_cpp_toolchain

def use_cc_toolchain(mandatory = False):  # buildifier: disable=unused-variable
    """The toolchain types a rule that calls find_cc_toolchain must name."""
    return ["@bazel_tools//tools/cpp:toolchain_type"]
