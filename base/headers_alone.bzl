"""Shows that each header compiles with nothing included before it, and twice."""

load("@rules_cc//cc:defs.bzl", "cc_test")

def headers_alone_test(name, hdrs, deps):
    """A test with one source per header, which includes that header first.

    Args:
      name: of the cc_test.
      hdrs: the package's headers, as file names.
      deps: the libraries that they belong to.
    """
    sources = []
    for header in hdrs:
        source = "{}_{}.cc".format(name, header.replace("/", "_").replace(".", "_"))
        path = "/".join([part for part in [native.package_name(), header] if part])
        native.genrule(
            name = source + "_source",
            outs = [source],
            cmd = "printf '%s\\n' {} > $@".format(" ".join([
                "'#include \"{}\"'".format(path),
                "'#include \"{}\"'".format(path),
                "'#include \"gtest/gtest.h\"'",
                "'TEST(HeadersAloneTest, {}) {{}}'".format(
                    header.replace("/", "_").replace(".", "_"),
                ),
            ])),
            testonly = True,
        )
        sources.append(source)
    cc_test(
        name = name,
        size = "small",
        srcs = sources,
        deps = deps + ["@com_google_googletest//:gtest_main"],
    )
