#!/usr/bin/env bash
# bazel run //tools/vendor -- [--BAZEL_FLAG ...] TARGET... DIRECTORY
#
# Copies what TARGETs need, and nothing else, into DIRECTORY: sources and headers under their own
# paths, the licence, a CMakeLists.txt with one library lanewise::lanewise, and VENDORED, which says
# from which revision, which libraries of others are needed, and each file's SHA-256. See copy.sh.
set -euo pipefail

cd "${BUILD_WORKSPACE_DIRECTORY:?run me with bazel run //tools/vendor}"
flags=() info_flags=() targets=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --) ;;
    --//* | --no//*) flags+=("$1") ;; # `bazel info` does not take the build's own flags
    -*) flags+=("$1") info_flags+=("$1") ;;
    *) targets+=("$1") ;;
  esac
  shift
done
if [[ ${#targets[@]} -lt 2 ]]; then
  echo 'usage: bazel run //tools/vendor -- [--BAZEL_FLAG ...] TARGET... DIRECTORY' >&2
  exit 2
fi
directory=${targets[-1]}
unset 'targets[-1]'
[[ $directory == /* ]] || directory=$BUILD_WORKING_DIRECTORY/$directory

bazel=bazel
if command -v bazelisk >/dev/null; then bazel=bazelisk; fi
"$bazel" build "${flags[@]}" --aspects=//tools/vendor:vendor.bzl%vendor --output_groups=vendor \
  "${targets[@]}"
bin=$("$bazel" info "${info_flags[@]}" bazel-bin)
root=$("$bazel" info "${info_flags[@]}" execution_root)
manifests=()
for target in "${targets[@]}"; do
  label=${target#//}
  package=${label%%:*}
  name=${label##*:}
  [[ $label == *:* ]] || name=${package##*/}
  manifests+=("$bin/${package:+$package/}$name.vendor")
done
revision=$(git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null || echo unknown)
exec tools/vendor/copy.sh "$root" "$revision" "$directory" "${manifests[@]}"
