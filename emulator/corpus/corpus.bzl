"""Kernels compiled at every level of optimisation."""

load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_common", "cc_library", "cc_test")
load("@system_hip//:config.bzl", "HIP_COMPILER", "HIP_PROGRAM_REQUIRES")
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
            visibility = ["//emulator/load:__pkg__", "//emulator/hip_api:__pkg__"],
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

def _hip_object_impl(ctx):
    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    output = ctx.actions.declare_file(ctx.label.name + ".o")
    args = ctx.actions.args()
    args.add_all(["-x", "hip", "--offload-arch=gfx942", "--offload-arch=gfx950", "-nogpulib", "-nogpuinc"])
    args.add_all(["-std=c++20", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"])
    args.add_all([".", ctx.bin_dir.path], before_each = "-iquote")
    args.add_all(deps.quote_includes, before_each = "-iquote")
    args.add_all(depset(transitive = [deps.includes, deps.system_includes]), before_each = "-isystem")
    args.add_all(deps.defines, format_each = "-D%s")

    # Before HIP's headers, which use malloc in device code of the standard library.
    args.add_all(["-include", "cstdlib"])
    args.add_all(["-c", "-o", output, ctx.file.src])
    ctx.actions.run(
        executable = HIP_COMPILER,
        arguments = [args],
        inputs = depset([ctx.file.src], transitive = [deps.headers]),
        outputs = [output],
        mnemonic = "HipCompileProgram",
    )
    return [DefaultInfo(files = depset([output]))]

_hip_object = rule(
    implementation = _hip_object_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "src": attr.label(allow_single_file = True, mandatory = True),
    },
)

def hip_program_library(name, src, hdrs, deps):
    """A HIP source of host code and kernels together, for both chips, as a cc_library.

    Args:
      name: of the cc_library.
      src: the source; kernels are launched with <<<...>>>.
      hdrs: what it declares for others.
      deps: of the source.
    """
    cc_library(
        name = name + "_headers",
        testonly = True,
        hdrs = hdrs,
        deps = deps,
    )
    _hip_object(
        name = name + "_object",
        testonly = True,
        src = src,
        tags = ["manual"] if not HIP_COMPILER else [],
        target_compatible_with = HIP_PROGRAM_REQUIRES,
        deps = [":" + name + "_headers"],
    )
    cc_library(
        name = name,
        testonly = True,
        srcs = [":" + name + "_object"],
        linkstatic = True,
        target_compatible_with = HIP_PROGRAM_REQUIRES,
        deps = [":" + name + "_headers"],
    )
