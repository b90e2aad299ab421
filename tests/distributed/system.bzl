"""Where this machine's mpirun is, for the tests that start processes with it."""

def _system_mpi_impl(ctx):
    mpirun = ctx.which("mpirun")
    ctx.file("BUILD", "")
    ctx.file("config.bzl", """
# Open MPI's or another mpirun; "" where there is none.
MPIRUN = "{mpirun}"
# What makes a target that needs it compatible: nothing, or what to install.
MPIRUN_REQUIRES = {requires}
""".format(
        mpirun = mpirun or "",
        requires = [] if mpirun else ["//tests/distributed:install_openmpi_bin"],
    ))

system_mpi = repository_rule(
    implementation = _system_mpi_impl,
    environ = ["PATH"],
    local = True,
    doc = "@system_mpi (config.bzl): the mpirun on PATH.",
)
