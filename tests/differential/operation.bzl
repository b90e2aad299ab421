"""operation: the entry of a file of differential operations."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def operation(name, deps):
    """The operations that ops/NAME.cc registers.

    Args:
      name: of the file and of the library.
      deps: what its references and implementations are.
    """
    cc_library(
        name = name,
        testonly = True,
        srcs = ["ops/%s.cc" % name],
        # The operations register themselves, and nothing else names them.
        alwayslink = True,
        deps = deps + [
            "//tests/differential:loaded",
            "//tests/differential:operation",
            "//base:status",
            "//base:text",
            "@com_google_absl//absl/status",
            "@com_google_absl//absl/status:statusor",
            "@com_google_absl//absl/strings",
        ],
    )
