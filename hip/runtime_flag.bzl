"""The build setting --//hip:runtime."""

_VALUES = ["emulator", "rocm", "cuda"]

def _runtime_flag_impl(ctx):
    if ctx.build_setting_value not in _VALUES:
        fail("--//hip:runtime=%s: expected one of %s" % (ctx.build_setting_value, ", ".join(_VALUES)))
    return []

runtime_flag = rule(
    implementation = _runtime_flag_impl,
    build_setting = config.string(flag = True),
    doc = "Which library provides the HIP runtime API.",
)
