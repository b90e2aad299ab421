"""system.bzl's repository for MODULE.bazel. WORKSPACE calls the repository rule itself."""

load("//tests/distributed:system.bzl", "system_mpi")

def _mpi_impl(_ctx):
    system_mpi(name = "system_mpi")

mpi = module_extension(implementation = _mpi_impl)
