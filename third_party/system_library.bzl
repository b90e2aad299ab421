"""Installed libraries (Debian's -dev packages) under the labels that their own BUILD files would give.

Their headers stand in the compiler's own search path, so all that a target needs is what it links.
"""

def _installed(ctx, library):
    script = "ls /usr/lib/lib$0.* /usr/lib/*/lib$0.* 2>/dev/null | grep -q ."
    return ctx.execute(["sh", "-c", script, library]).return_code == 0

def _system_library_impl(ctx):
    packages = {}
    for target, libraries in ctx.attr.targets.items():
        package, _, name = target.rpartition(":")
        linkopts = [
            "-l" + library
            for library in libraries
            if library not in ctx.attr.where_installed or _installed(ctx, library)
        ]
        packages.setdefault(package, []).append("""
cc_library(
    name = %r,
    linkopts = %r,
    visibility = ["//visibility:public"],
    deps = %r,
)
""" % (name, linkopts, ctx.attr.deps.get(target, [])))
    for package, rules in packages.items():
        path = package + "/BUILD" if package else "BUILD"
        ctx.file(path, 'load("@rules_cc//cc:defs.bzl", "cc_library")\n' + "".join(rules))

system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {
        "deps": attr.string_list_dict(doc = "Target to the labels it needs beside its libraries."),
        "targets": attr.string_list_dict(
            doc = "Target, as NAME or PACKAGE:NAME, to the libraries it links.",
        ),
        "where_installed": attr.string_list(
            doc = "Of those libraries, the ones that only some versions have.",
        ),
    },
    doc = "An external repository with a cc_library for each target, over an installed package.",
)
