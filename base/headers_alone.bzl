"""Shows that each header compiles with nothing included before it, and twice."""

load("@rules_cc//cc:defs.bzl", "cc_test")

def headers_alone_test(name, hdrs, deps):
    """A test with one source per header, which holds nothing but that header, twice.

    That it is compiled is the test. GoogleTest is not in it: its header would cost more than most of
    those that are tested.

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
            cmd = "printf '#include \"%s\"\\n' {0} {0} > $@".format(path),
            testonly = True,
        )
        sources.append(source)
    native.genrule(
        name = name + "_main",
        outs = [name + "_main.cc"],
        cmd = "echo 'int main() { return 0; }' > $@",
        testonly = True,
    )
    cc_test(
        name = name,
        size = "small",
        srcs = sources + [name + "_main.cc"],
        deps = deps,
    )
