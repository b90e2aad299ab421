"""The part of @rules_cc that this repository and Bazel itself use, on Bazel 4's built-in rules.

Debian's own rules_cc package for Bazel 4.2.3 does not load there. Bazel 7 and later take the real
rules_cc from MODULE.bazel; the names are the same.
"""

load(":native.bzl", "NativeCcInfo", "NativeCcToolchainConfigInfo", "native_cc_common")

CcInfo = NativeCcInfo
CcToolchainConfigInfo = NativeCcToolchainConfigInfo
cc_binary = native.cc_binary
cc_common = native_cc_common
cc_import = native.cc_import
cc_library = native.cc_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
