"""Gives Bazel 4's built-in C++ symbols new names, so that defs.bzl can export them."""

native_cc_common = cc_common
NativeCcInfo = CcInfo
NativeCcToolchainConfigInfo = CcToolchainConfigInfo
