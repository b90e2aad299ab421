"""What hip/ takes from the system, in both dependency modes: LLVM, a HIP device compiler, HIP's headers and library.

Nothing that is missing breaks the build: its targets become incompatible, through a constraint whose
name says what to install (hip/BUILD: install_clang_22 and so on). That goes for what a program starts in
its turn as well: clang++ links device code by lld and makes whole programs by clang-offload-bundler, each
of another Debian package.
"""

# What the device compiler starts, and what to install for it: to make a code object, and beside that to
# make an object of host code with the code objects of several chips in it.
_FOR_CODE_OBJECTS = {"lld": "//hip:install_lld_22"}
_FOR_PROGRAMS = {"clang-offload-bundler": "//hip:install_clang_tools_22"}

def _first_existing(ctx, candidates):
    for candidate in candidates:
        if candidate and ctx.path(candidate).exists:
            return candidate
    return None

def _rocm_path(ctx):
    return _first_existing(ctx, [ctx.os.environ.get("ROCM_PATH"), "/opt/rocm"])

def _incompatible(constraint):
    return 'target_compatible_with = ["@//hip:%s"], ' % constraint if constraint else ""

def _system_llvm_impl(ctx):
    root = _first_existing(ctx, [ctx.os.environ.get("LANEWISE_LLVM"), "/usr/lib/llvm-22"])
    found = root != None and ctx.path(root + "/include/llvm/MC/MCInst.h").exists
    if found:
        ctx.symlink(root + "/include/llvm", "include/llvm")
        ctx.symlink(root + "/include/llvm-c", "include/llvm-c")
    ctx.file("BUILD", """
load("@rules_cc//cc:defs.bzl", "cc_library")
cc_library(
    name = "llvm",
    hdrs = glob(["include/**/*.h", "include/**/*.def", "include/**/*.inc"], allow_empty = True),
    includes = ["include"],
    linkopts = [%s],
    %s
    visibility = ["//visibility:public"],
)
""" % (
        '"-L{0}/lib", "-Wl,-rpath,{0}/lib", "-lLLVM-22"'.format(root) if found else "",
        _incompatible(None if found else "install_llvm_22_dev"),
    ))

system_llvm = repository_rule(
    implementation = _system_llvm_impl,
    environ = ["LANEWISE_LLVM"],
    local = True,
    doc = "@system_llvm//:llvm: LLVM 22's headers and its one shared library.",
)

def _missing(ctx, compiler, programs):
    """What to install of `programs` (name to constraint), by where `compiler` itself looks for them."""
    missing = []
    for program in sorted(programs):
        # A path, or the name again where there is no such program.
        answer = ctx.execute([compiler, "-print-prog-name=" + program])
        if answer.return_code != 0 or not answer.stdout.strip().startswith("/"):
            missing.append(programs[program])
    return missing

def _system_hip_impl(ctx):
    rocm = _rocm_path(ctx)
    compiler = _first_existing(ctx, [rocm + "/llvm/bin/clang++"] if rocm else []) or ctx.which("clang++-22")
    headers = _first_existing(ctx, ([rocm + "/include"] if rocm else []) + ["/usr/include"])
    has_headers = ctx.path(headers + "/hip/hip_runtime_api.h").exists
    library_folder = _first_existing(ctx, [
        folder
        for folder in ([rocm + "/lib"] if rocm else []) + ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"]
        if ctx.path(folder + "/libamdhip64.so").exists
    ])
    own_headers = has_headers and headers != "/usr/include"
    if own_headers:
        ctx.symlink(headers + "/hip", "include/hip")
    ctx.file("BUILD", """
load("@rules_cc//cc:defs.bzl", "cc_library")
cc_library(
    name = "headers",
    hdrs = glob(["include/**"], allow_empty = True),
    includes = [{includes}],
    defines = ["__HIP_PLATFORM_AMD__"],
    {no_headers}
    visibility = ["//visibility:public"],
)
cc_library(
    name = "amdhip64",
    linkopts = [{linkopts}],
    {no_library}
    visibility = ["//visibility:public"],
)
""".format(
        includes = '"include"' if own_headers else "",
        no_headers = _incompatible(None if has_headers else "install_libamdhip64_dev"),
        linkopts = '"-L{0}", "-Wl,-rpath,{0}", "-lamdhip64"'.format(library_folder) if library_folder else "",
        no_library = _incompatible(None if library_folder else "install_libamdhip64_dev"),
    ))
    requires = _missing(ctx, compiler, _FOR_CODE_OBJECTS) if compiler else ["//hip:install_clang_22"]
    program_requires = requires + (_missing(ctx, compiler, _FOR_PROGRAMS) if compiler else [])
    ctx.file("config.bzl", """
# The device compiler; "" where there is none.
HIP_COMPILER = "{compiler}"
# What makes a target that has code objects made compatible: nothing, or what to install.
HIP_COMPILER_REQUIRES = {requires}
# The same for an object of host code and code objects together.
HIP_PROGRAM_REQUIRES = {program_requires}
# The compiler of PTX, for NVIDIA's chips; "" where there is none. ROCm's makes code for AMD's alone.
PTX_COMPILER = "{ptx_compiler}"
""".format(
        compiler = compiler or "",
        ptx_compiler = ctx.which("clang++-22") or "",
        requires = requires,
        program_requires = program_requires,
    ))

system_hip = repository_rule(
    implementation = _system_hip_impl,
    environ = ["PATH", "ROCM_PATH"],
    local = True,
    doc = "@system_hip: HIP's runtime headers and library, and (config.bzl) the device compiler: ROCM_PATH's or " +
          "/opt/rocm's clang++, else clang++-22; and that of PTX, clang++-22.",
)
