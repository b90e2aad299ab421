"""hip_code_object: a HIP kernel source as embedded code objects, one a chip."""

load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_common", "cc_library", "cc_test")
load("@system_hip//:config.bzl", "HIP_COMPILER", "HIP_COMPILER_REQUIRES", "PTX_COMPILER")

# For kernels that use no chip's own instructions: AMD's two chips, and PTX for NVIDIA's from compute
# capability 8.0 on.
PORTABLE_ARCHS = ["gfx942", "gfx950", "sm_80"]

def _is_ptx(arch):
    return arch.startswith("sm_")

def _amd_args(args, arch):
    args.add_all(["-x", "hip", "--offload-arch=" + arch, "--offload-device-only", "--no-gpu-bundle-output"])
    args.add_all(["-nogpulib", "-nogpuinc"])

# CUDA without its headers and library, whatever of CUDA the machine has. PTX 7.0 is CUDA 11's.
def _ptx_args(args, arch):
    args.add_all(["-x", "cuda", "--cuda-gpu-arch=" + arch, "--cuda-device-only", "--cuda-feature=+ptx70", "-S"])
    args.add_all(["--cuda-path=/nonexistent", "-nocudalib", "-nocudainc"])

def _hip_device_code_impl(ctx):
    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    outputs = []
    for arch in ctx.attr.archs:
        is_ptx = _is_ptx(arch)
        output = ctx.actions.declare_file("%s.%s.%s" % (ctx.attr.stem, arch, "ptx" if is_ptx else "hsaco"))
        args = ctx.actions.args()
        if is_ptx:
            _ptx_args(args, arch)
        else:
            _amd_args(args, arch)
        args.add_all(["-std=c++20", "-O3", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"])
        if ctx.var["COMPILATION_MODE"] == "dbg":
            args.add("-g")
        args.add_all([".", ctx.bin_dir.path], before_each = "-iquote")
        args.add_all(deps.quote_includes, before_each = "-iquote")
        args.add_all(deps.includes, before_each = "-I")
        args.add_all(deps.system_includes, before_each = "-isystem")
        args.add_all(deps.defines, format_each = "-D%s")
        args.add_all(ctx.attr.copts)
        args.add("-o", output)
        args.add(ctx.file.src)
        ctx.actions.run(
            executable = PTX_COMPILER if is_ptx else HIP_COMPILER,
            arguments = [args],
            inputs = depset([ctx.file.src] + ctx.files.hdrs, transitive = [deps.headers]),
            outputs = [output],
            mnemonic = "HipCompile",
            progress_message = "Compiling %s for %s" % (ctx.file.src.short_path, arch),
        )
        outputs.append(output)
    return [DefaultInfo(files = depset(outputs), runfiles = ctx.runfiles(files = outputs))]

_hip_device_code = rule(
    implementation = _hip_device_code_impl,
    attrs = {
        "archs": attr.string_list(mandatory = True),
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "hdrs": attr.label_list(allow_files = True),
        "src": attr.label(allow_single_file = True, mandatory = True),
        "stem": attr.string(mandatory = True),
    },
)

def hip_code_object(
        name,
        src,
        archs = ["gfx942", "gfx950"],
        hdrs = [],
        deps = [],
        copts = [],
        no_scratch = False,
        testonly = False,
        visibility = None):
    """Compiles kernels for each chip and embeds the code objects in a cc_library.

    The library's header PACKAGE/NAME.h declares, in namespace lanewise::hip,
        std::span<const EmbeddedCodeObject> NameCodeObjects();
    for a `name` of "name" ("dense_gemv" gives DenseGemvCodeObjects), ready for
    lanewise::hip::Module::Load. The code objects themselves, NAME.ARCH.hsaco or of NVIDIA's chips
    NAME.ARCH.ptx, are the files of the target NAME_hsaco. Compiled with -c dbg they carry source
    lines.

    Args:
      name: of the cc_library.
      src: the kernels' source; its include paths are those of a C++ source of this repository.
      archs: the chips: AMD's ("gfx942") and NVIDIA's ("sm_80", PTX that serves newer chips too).
        Without a compiler for PTX the latter are left out.
      hdrs: headers of the package's own.
      deps: cc_libraries whose headers the kernels include.
      copts: further options of the device compiler.
      no_scratch: the kernels promise not to spill registers nor to use scratch memory; the test
        NAME_resources_test holds them to it.
      testonly: as everywhere.
      visibility: of the cc_library and of NAME_hsaco.
    """
    _hip_device_code(
        name = name + "_hsaco",
        src = src,
        archs = [arch for arch in archs if PTX_COMPILER or not _is_ptx(arch)],
        copts = copts,
        deps = deps,
        hdrs = hdrs,
        stem = name,
        tags = ["manual"] if not HIP_COMPILER else [],
        target_compatible_with = HIP_COMPILER_REQUIRES,
        testonly = testonly,
        visibility = visibility,
    )
    native.genrule(
        name = name + "_embedded",
        srcs = [":" + name + "_hsaco"],
        outs = [name + ".h", name + ".cc"],
        cmd = "$(location //hip:embed) %s %s $(location %s.h) $(location %s.cc) $(SRCS)" % (
            native.package_name(),
            name,
            name,
            name,
        ),
        target_compatible_with = HIP_COMPILER_REQUIRES,
        testonly = testonly,
        tools = ["//hip:embed"],
        visibility = ["//visibility:private"],
    )
    cc_library(
        name = name,
        srcs = [name + ".cc"],
        hdrs = [name + ".h"],
        target_compatible_with = HIP_COMPILER_REQUIRES,
        testonly = testonly,
        visibility = visibility,
        deps = ["//hip:embedded_code_object"],
    )
    if no_scratch:
        cc_test(
            name = name + "_resources_test",
            size = "small",
            srcs = ["//hip:resources_test.cc"],
            args = ["$(locations :%s_hsaco)" % name],
            data = [":" + name + "_hsaco"],
            target_compatible_with = HIP_COMPILER_REQUIRES,
            deps = [
                "//emulator/load:code_object",
                "@com_google_googletest//:gtest",
            ],
        )
