#!/usr/bin/env bash
# copy.sh on manifests of real targets: what it makes compiles alone, and what it must not change
# stays.
set -euo pipefail

work=$TEST_TMPDIR
failures=0
fail() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }
vendor() { tools/vendor/copy.sh "$PWD" a-revision "$@"; }
index=layouts/index.vendor catalogue=layouts/catalogue.vendor bind=layouts/bind.vendor prepare=checkpoint/prepare/prepare.vendor

# Headers alone: a library without sources that a compiler takes without Bazel's include paths.
vendor "$work/index" $index
cat >"$work/index.cc" <<'END'
#include "layouts/catalogue.h"
#include "layouts/index.h"

#include <cstdint>
#include <cstdio>

int main() {
  using Dense = lanewise::PatternIndex<lanewise::CatalogueLayout("gfx942/dense").main>;
  std::printf("%u\n", Dense::Offset<std::uint32_t>({3, 77}, {64, 256}));
}
END
# layouts/catalogue.h belongs to another target, which was not asked for.
if g++ -std=c++20 -I "$work/index" -fsyntax-only "$work/index.cc" 2>/dev/null; then
  fail 'index brought the catalogue along'
fi
[[ ! -e $work/index/checkpoint ]] || fail 'index brought checkpoint/ along'
grep -q '^- //layouts:index$' "$work/index/VENDORED" || fail 'VENDORED does not name the target'
grep -q 'revision a-revision' "$work/index/VENDORED" || fail 'VENDORED does not name the revision'
cmp -s LICENSE "$work/index/LICENSE" || fail 'the licence is missing'

# Every include of ours is there, in a target with generated sources and libraries of others too.
vendor "$work/all" $prepare
for header in checkpoint/prepare/prepare.h weights/tensor_plan.h; do
  [[ -f $work/all/$header ]] || fail "$header is missing"
done
for needed in absl/status:statusor hwy xxhash; do
  grep -q -- "^- @.*[/:]$needed\$" "$work/all/VENDORED" || fail "VENDORED does not name $needed"
done
while IFS=: read -r file _ include; do
  path=$(sed 's/^#include "\([^"]*\)".*$/\1/' <<<"$include")
  case $path in absl/* | hwy/* | nlohmann/* | xxhash.h | xxh_x86dispatch.h) continue ;; esac
  [[ -f $work/all/$path ]] || fail "$file includes $path, which was not brought along"
done < <(cd "$work/all" && grep -rn '^#include "' --include='*.h' --include='*.cc' .)

# Two targets in one directory, with sources and libraries of others: built by CMake and run.
vendor "$work/both" $index $catalogue $bind
cat >"$work/reads.cc" <<'END'
#include "layouts/bind.h"
#include "layouts/catalogue.h"

#include <cstdint>
#include <cstdio>

int main() {
  const std::int64_t extents[] = {17, 256};
  const auto bound = lanewise::Bind(lanewise::CatalogueLayout("gfx942/dense"), extents);
  std::printf("%s\n", bound.status().ToString().c_str());
  return bound.ok();
}
END
if command -v cmake >/dev/null; then
  mkdir "$work/project"
  cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(reads LANGUAGES CXX)
add_subdirectory($work/both lanewise)
add_executable(reads $work/reads.cc)
target_link_libraries(reads lanewise::lanewise)
END
  cmake -S "$work/project" -B "$work/built" >"$work/cmake.log" 2>&1 &&
    cmake --build "$work/built" -j 2 >>"$work/cmake.log" 2>&1 ||
    { fail 'CMake does not build it'; tail -n 30 "$work/cmake.log"; }
  [[ ! -x $work/built/reads ]] || "$work/built/reads" | grep -q "17 units" || fail 'it does not run'
else
  echo 'cmake is not installed: the generated CMakeLists.txt was not tried'
fi

# Again into the same place: the same; not over what was edited, nor over what is not ours.
vendor "$work/both" $index $catalogue $bind || fail 'no second time'
vendor "$work/both" $index || fail 'no other targets into the same directory'
[[ ! -e $work/both/layouts/bind.cc ]] || fail 'what is no longer needed stays'
echo '// mine' >>"$work/both/layouts/index.h"
if vendor "$work/both" $index 2>"$work/log"; then fail 'an edited file was replaced'; fi
grep -q 'layouts/index.h' "$work/log" || fail 'the edited file is not named'
grep -q '// mine' "$work/both/layouts/index.h" || fail 'the edit is gone'
mkdir "$work/other"
echo precious >"$work/other/file"
if vendor "$work/other" $index 2>/dev/null; then fail 'a directory of others was taken'; fi
[[ $(ls "$work/other") == file ]] || fail 'a directory of others was changed'
[[ -z $(find "$work" -maxdepth 1 -name '.vendor-*') ]] || fail 'something stayed behind'

exit $((failures > 0))
