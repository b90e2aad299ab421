"""What a target needs to be compiled elsewhere: its sources, and the libraries that are not ours."""

VendorInfo = provider(
    doc = "What a target and all that it depends on consists of.",
    fields = {
        "external": "depset of labels: what stands outside this repository",
        "flags": "depset of lines: the compiler's and the linker's that rules ask for",
        "files": "depset of files of this repository: sources, headers, and what is generated of them",
    },
)

# Where rules name their files, and what they depend on.
_FILES = ["srcs", "hdrs", "textual_hdrs"]
_DEPS = ["deps", "implementation_deps"]

def _vendor_impl(target, ctx):
    files = []
    for attribute in _FILES:
        files += getattr(ctx.rule.files, attribute, [])
    infos = []
    external = []
    flags = ["linkopt " + flag for flag in getattr(ctx.rule.attr, "linkopts", [])]
    for file in getattr(ctx.rule.files, "srcs", []):
        copts = getattr(ctx.rule.attr, "copts", [])
        if copts and file.extension == "cc":
            flags.append("copts %s %s" % (file.short_path, " ".join(copts)))
    for attribute in _DEPS:
        for dep in getattr(ctx.rule.attr, attribute, []):
            if dep.label.workspace_name:
                external.append(str(dep.label).replace("@@", "@"))
            elif VendorInfo in dep:
                infos.append(dep[VendorInfo])
    info = VendorInfo(
        files = depset(files, transitive = [each.files for each in infos]),
        external = depset(external, transitive = [each.external for each in infos]),
        flags = depset(flags, transitive = [each.flags for each in infos]),
    )
    manifest = ctx.actions.declare_file(target.label.name + ".vendor")
    lines = ["target //%s:%s" % (target.label.package, target.label.name)]
    lines += sorted(["external " + label for label in info.external.to_list()])
    lines += sorted(info.flags.to_list())
    lines += sorted(["file %s %s" % (file.short_path, file.path) for file in info.files.to_list()])
    ctx.actions.write(manifest, "\n".join(lines) + "\n")
    return [info, OutputGroupInfo(vendor = depset([manifest], transitive = [info.files]))]

# bazel build TARGET --aspects=//tools/vendor:vendor.bzl%vendor --output_groups=vendor makes
# TARGET.vendor, a text of lines "target LABEL", "external LABEL", "linkopt FLAG", "copts PATH FLAG..."
# and "file PATH PATH_OF_BAZEL", and every file that it names.
vendor = aspect(
    implementation = _vendor_impl,
    attr_aspects = _DEPS,
)

def _vendored_files_impl(ctx):
    groups = [target[OutputGroupInfo].vendor for target in ctx.attr.targets]
    files = depset(transitive = groups)
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

# For tests: the manifests of `targets` and all files in them, as data.
vendored_files = rule(
    implementation = _vendored_files_impl,
    attrs = {"targets": attr.label_list(aspects = [vendor])},
)
