"""How code that works on the 64 lanes of a wave is compiled."""

# Handlers are plain loops over 64 lanes; the compiler needs to know the host's vectors and its fused
# multiply-add. Device 0 and 1 refuse to start on an x86 processor without them.
# The next two flags change no value: nobody reads the host's exception flags or errno. The last one:
# clang is asked to make vector instructions of every such loop and says where it could not.
LANE_COPTS = [
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wno-pass-failed",
] + select({
    "@platforms//cpu:x86_64": ["-march=x86-64-v3"],
    "//conditions:default": [],
})
