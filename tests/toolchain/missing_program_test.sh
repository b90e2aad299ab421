#!/usr/bin/env bash
# missing_program_test.sh SYSTEM.BZL EXTENSIONS.BZL BUILD: what hip/system.bzl says of machines that lack
# a program of the device compiler's. Each machine is a folder of programs, put in place of PATH for the
# repository rules of a small workspace.
set -uo pipefail

bazel=$(command -v bazelisk || command -v bazel) ||
  { echo 'neither bazelisk nor bazel is on PATH: nothing is tested'; exit 0; }
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/missing.XXXXXX")
mkdir -p "$work/tree/hip"
cp "$1" "$work/tree/hip/system.bzl"
cp "$2" "$work/tree/hip/extensions.bzl"
# The constraints, and nothing that needs another file.
sed -n '/^\[(/,/^\]\]/p' "$3" >"$work/tree/hip/BUILD"
cat >"$work/tree/WORKSPACE" <<'END'
load("//hip:system.bzl", "system_hip")
system_hip(name = "system_hip")
END
cat >"$work/tree/MODULE.bazel" <<'END'
system = use_extension("//hip:extensions.bzl", "system")
use_repo(system, "system_hip")
END
cat >"$work/tree/BUILD" <<'END'
load("@system_hip//:config.bzl", "HIP_COMPILER_REQUIRES", "HIP_PROGRAM_REQUIRES")
genrule(name = "code_object", outs = ["a"], cmd = "false", target_compatible_with = HIP_COMPILER_REQUIRES)
genrule(name = "program", outs = ["b"], cmd = "false", target_compatible_with = HIP_PROGRAM_REQUIRES)
END
cd "$work/tree" || exit 1
export HOME=$work/home
run_bazel() { "$bazel" --output_user_root="$work/bazel" --host_jvm_args=-Xmx256m "$@"; }
trap 'run_bazel shutdown; chmod -R u+w "$work"; rm -rf "$work"' EXIT

failures=0

# says TARGET MACHINE WANTED...: analysing TARGET names exactly the constraints WANTED; none: it succeeds.
says() {
  local target=$1 machine=$2 got
  shift 2
  run_bazel build --nobuild --repo_env=PATH="$work/$machine" --repo_env=ROCM_PATH="$work/none" \
    "//:$target" >"$work/log" 2>&1
  got=$(grep -o 'install_[a-z0-9_]*' "$work/log" | sort -u | tr '\n' ' ')
  if [[ $got != "${*}${*:+ }" ]] || { [[ $# == 0 ]] && ! grep -q 'completed successfully' "$work/log"; }; then
    echo "FAIL: $target on $machine: expected '$*', got '$got'"
    cat "$work/log"
    failures=$((failures + 1))
  fi
}

# machine NAME PROGRAM...: a folder with a clang++-22 that finds these programs.
machine() {
  local name=$1
  shift
  mkdir "$work/$name"
  { echo '#!/bin/sh'
    echo 'program=${1#-print-prog-name=}'
    echo "case ' $* ' in *\" \$program \"*) echo /usr/lib/llvm/bin/\$program ;; *) echo \$program ;; esac"
  } >"$work/$name/clang++-22"
  chmod +x "$work/$name/clang++-22"
}

mkdir "$work/bare"
machine whole lld clang-offload-bundler
machine without-bundler lld
machine without-lld clang-offload-bundler
machine compiler-alone

says code_object whole
says program whole
says code_object without-bundler
says program without-bundler install_clang_tools_22
says code_object without-lld install_lld_22
says program without-lld install_lld_22
says code_object compiler-alone install_lld_22
says program compiler-alone install_clang_tools_22 install_lld_22
says code_object bare install_clang_22
says program bare install_clang_22

echo "$failures failures"
((failures == 0))
