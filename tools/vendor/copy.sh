#!/usr/bin/env bash
# copy.sh ROOT REVISION DIRECTORY MANIFEST...: makes DIRECTORY, which other builds take as it is.
#
# A MANIFEST is what the aspect of vendor.bzl writes; the paths in it are from ROOT on, Bazel's
# execution root (or the root of a test's data, which has the short paths only). DIRECTORY must
# be new, empty, or what an earlier call made: then it is replaced, and files that were edited there
# are refused. Errors go to stderr; the exit status is 1 and DIRECTORY is as it was.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
root=$1 revision=$2 directory=${3%/}
shift 3
record=$directory/VENDORED  # what was copied, with digests

die() { printf 'vendor: %s\n' "$*" >&2; exit 1; }

# The CMake package and library of a label that is not ours. Repositories are known by a part of
# their name: Bazel's modules and its WORKSPACE do not call them the same.
cmake_names() {
  local part=${1##*[/:]}
  case ${1%%//*} in
    *absl* | *abseil*) echo "absl absl::$part" ;;
    *eigen*) echo "Eigen3 Eigen3::Eigen" ;;
    *highway*) echo "hwy hwy::hwy" ;;
    *json*) echo "nlohmann_json nlohmann_json::nlohmann_json" ;;
    *cli11*) echo "CLI11 CLI11::CLI11" ;;
    *benchmark*) echo "benchmark benchmark::benchmark" ;;
    *system_hip*) echo "hip hip::host" ;;
    *system_llvm*) echo "LLVM LLVM" ;;
    *xxhash*) echo "- xxhash" ;; # no package of CMake's in Debian
    *) die "no CMake name is known for $1: add it to tools/vendor/copy.sh" ;;
  esac
}

targets=$(sed -n 's/^target //p' "$@" | sort -u)
externals=$(sed -n 's/^external //p' "$@" | sort -u)
files=$(sed -n 's/^file //p' "$@" | sort -u)
linkopts=$(sed -n 's/^linkopt //p' "$@" | sort -u)
copts=$(sed -n 's/^copts //p' "$@" | sort -u)

if [[ -e $record ]]; then
  (cd "$directory" && sed -n 's/^  //p' VENDORED | sha256sum --check --quiet) >&2 ||
    die "$directory holds files that are not as they were vendored (named above): nothing was changed"
elif [[ -d $directory && -n $(ls -A "$directory") ]]; then
  die "$directory is not empty and has no VENDORED: nothing was changed"
elif [[ -e $directory && ! -d $directory ]]; then
  die "$directory is not a directory"
fi

mkdir -p "$(dirname "$directory")"
new=$(mktemp -d "$(dirname "$directory")/.vendor-XXXXXX")
trap 'rm -rf "$new"' EXIT
chmod 755 "$new"
while read -r path from; do
  mkdir -p "$new/$(dirname "$path")"
  [[ -e $root/$from ]] || from=$path
  cp -L "$root/$from" "$new/$path"
  chmod 644 "$new/$path"
done <<<"$files"
cp -L "$top/LICENSE" "$new/LICENSE"

sources=$(cut -d ' ' -f 1 <<<"$files" | grep -E '\.(cc|c)$' || true)
names=$(for label in $externals; do cmake_names "$label"; done)
packages=$(cut -d ' ' -f 1 <<<"$names" | grep -v '^-$' | sort -u)
libraries=$(cut -d ' ' -f 2 <<<"$names" | sort -u)
kind=STATIC scope=PUBLIC
if [[ -z $sources ]]; then kind=INTERFACE scope=INTERFACE; fi
{
  echo '# Generated with these sources; VENDORED says from what.'
  echo 'cmake_minimum_required(VERSION 3.16)'
  echo 'project(lanewise LANGUAGES CXX)'
  for package in $packages; do echo "find_package($package REQUIRED)"; done
  echo "add_library(lanewise $kind"
  for source in $sources; do echo "  $source"; done
  echo ')'
  echo 'add_library(lanewise::lanewise ALIAS lanewise)'
  echo "target_include_directories(lanewise $scope \${CMAKE_CURRENT_SOURCE_DIR})"
  echo "target_compile_features(lanewise $scope cxx_std_20)"
  echo '# Results are compared bit for bit: no fused multiply-add that the source does not ask for.'
  echo "target_compile_options(lanewise $scope -ffp-contract=off)"
  if [[ -n $libraries$linkopts ]]; then
    echo "target_link_libraries(lanewise $scope"
    for library in $libraries $linkopts; do echo "  $library"; done
    echo ')'
  fi
  while read -r source options; do
    [[ -z $source ]] ||
      echo "set_source_files_properties($source PROPERTIES COMPILE_OPTIONS \"${options// /;}\")"
  done <<<"$copts"
} >"$new/CMakeLists.txt"

{
  echo "Lanewise at revision $revision, vendored by tools/vendor."
  echo
  echo 'Targets:'
  for target in $targets; do echo "- $target"; done
  echo
  echo 'Needs C++20, -ffp-contract=off, this directory in the include path, and of others:'
  for label in ${externals:-nothing}; do echo "- $label"; done
  if [[ -n $linkopts$copts ]]; then
    printf '\nFlags that CMakeLists.txt has of the build files:\n'
    sed -n 's/^linkopt /- at linking /p; s/^copts /- for /p' "$@" | sort -u
  fi
  echo
  echo 'Files, with their SHA-256 (an update refuses to replace one that was edited):'
  (cd "$new" && find . -type f ! -name VENDORED -printf '%P\n' | LC_ALL=C sort |
    xargs -d '\n' sha256sum | sed 's/^/  /')
} >"$new/VENDORED"

if [[ -d $directory ]]; then
  old=$(mktemp -d "$(dirname "$directory")/.vendor-XXXXXX")
  mv -T "$directory" "$old"
  mv -T "$new" "$directory"
  rm -rf "$old"
else
  mv -T "$new" "$directory"
fi
printf 'vendor: %s holds %s files of %s\n' "$directory" "$(wc -l <<<"$files")" \
  "$(tr '\n' ' ' <<<"$targets")" >&2
