"""hip/system.bzl's repositories for MODULE.bazel. WORKSPACE calls the repository rules itself."""

load("//hip:system.bzl", "system_hip", "system_llvm")

def _system_impl(_ctx):
    system_llvm(name = "system_llvm")
    system_hip(name = "system_hip")

system = module_extension(implementation = _system_impl)
