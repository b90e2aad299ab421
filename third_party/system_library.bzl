"""A library whose headers stand in the compiler's own search path and which only needs link options."""

def _system_library_impl(ctx):
    lines = ['load("@rules_cc//cc:defs.bzl", "cc_library")']
    for name, linkopts in sorted(ctx.attr.targets.items()):
        lines.append('cc_library(name = "%s", linkopts = %r, visibility = ["//visibility:public"])' % (name, linkopts))
    ctx.file("BUILD", "\n".join(lines) + "\n")

system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {"targets": attr.string_list_dict(doc = "Target name to its link options.")},
    doc = "An external repository with one cc_library for each target, over an installed Debian -dev package.",
)
