"""Kernels compiled at every level of optimisation."""

load("@rules_cc//cc:defs.bzl", "cc_test")
load("//hip:hip.bzl", "hip_code_object")

LEVELS = ["O0", "O1", "O2", "O3"]

def corpus_test(name, deps = []):
    """NAME.hip at -O0 to -O3 for both chips, and NAME_test.cc, which runs them on the emulator.

    Args:
      name: of the kernels' source.
      deps: of the test, beside the kernels and the fixture.
    """
    for level in LEVELS:
        hip_code_object(
            name = "%s_%s" % (name, level.lower()),
            testonly = True,
            src = name + ".hip",
            copts = ["-" + level],
            visibility = ["//hip/emulator:__pkg__"],
            deps = ["//hip:device"],
        )
    cc_test(
        name = name + "_test",
        size = "small",
        srcs = [name + "_test.cc"],
        deps = [":%s_%s" % (name, level.lower()) for level in LEVELS] + deps + [
            ":kernel_test",
            "//hip/runtime",
            "@com_google_absl//absl/status",
            "@com_google_absl//absl/status:statusor",
            "@com_google_googletest//:gtest_main",
        ],
    )
