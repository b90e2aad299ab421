#!/usr/bin/env bash
# bazelw on machines made of fakes: dpkg-query, apt-get, sudo, id and bazel that keep their state
# in files.
set -u

source_tree=$PWD  # the runfiles
failures=0

fail() {
  echo "FAIL $current: $*"
  sed 's/^/  out | /' out
  sed 's/^/  err | /' err
  sed 's/^/  apt | /' state/apt
  failures=$((failures + 1))
}
expect_status() { [[ $status == "$1" ]] || fail "exit status $status, expected $1"; }
expect_err() { grep -qF -- "$1" err || fail "stderr lacks: $1"; }
expect_no_err() { ! grep -qF -- "$1" err || fail "stderr should lack: $1"; }
expect_out() { [[ $(cat out) == "$1" ]] || fail "stdout is not: $1"; }
# The names of each installing apt-get call, without options, one call a line.
installs() { sed -n 's/^install \(.*\)/\1/p' state/apt; }
expect_installs() { [[ $(installs) == "$1" ]] || fail "installed '$(installs)', expected '$1'"; }
expect_no_apt() { [[ ! -s state/apt ]] || fail 'apt-get was called'; }
updates() { grep -c '^update' state/apt; }

fake() { cat >"bin/$1" && chmod +x "bin/$1"; }
fake_bazel() {
  fake "$1" <<'FAKE'
#!/bin/bash
echo "${0##*/} in $PWD:$(printf ' <%s>' "$@")"
exit "${BAZEL_STATUS:-0}"
FAKE
}

# machine NAME: a Debian in a folder of its own, where the list holds two required packages, one
# optional and one for Bazel, and everything is installed.
machine() {
  current=$1
  rm -rf "${TEST_TMPDIR:?}/$current"
  mkdir -p "$TEST_TMPDIR/$current"/{bin,state,tree/third_party,tree/sub,elsewhere}
  cd "$TEST_TMPDIR/$current" || exit 1
  cp -L "$source_tree/bazelw" tree/bazelw
  cat >tree/third_party/debian-packages.txt <<'LIST'
# A comment.

alpha     # the first reason
beta      # the second reason
gamma     # optional: the third reason
bazel-bootstrap  # bazel: the fourth reason
LIST
  local tool
  for tool in bash cat cp dirname env grep mktemp rm sed tail; do
    ln -s "$(type -P $tool)" "bin/$tool"
  done
  echo 'ID=debian' >os-release
  printf '%s\n' alpha beta gamma bazel-bootstrap >state/installed
  cp state/installed state/offered   # by the package lists as they are
  cp state/installed state/archive   # by the lists after apt-get update
  : >state/unreachable   # offered, but not to be downloaded
  : >state/apt
  : >state/dpkg
  echo 0 >state/uid
  : >out
  : >err
  fake_bazel bazel
  fake id <<'FAKE'
#!/bin/bash
cat "$STATE/uid"
FAKE
  fake dpkg-query <<'FAKE'
#!/bin/bash
echo "$*" >>"$STATE/dpkg"
status=0
for name in "$@"; do
  case $name in -*) continue ;; esac
  if grep -qx "$name" "$STATE/installed"; then echo "ii  $name"; else status=1; fi
done
exit $status
FAKE
  fake apt-get <<'FAKE'
#!/bin/bash
names='' options=' '
while (($#)); do
  case $1 in
    -o) shift ;;
    -*) options+="$1 " ;;
    *) names+=" $1" ;;
  esac
  shift
done
if [[ $options != *' -s '* ]]; then
  echo "${names# }" >>"$STATE/apt"
  [[ ${DEBIAN_FRONTEND:-} == noninteractive && ! -t 0 ]] || echo interactive >>"$STATE/apt"
  [[ $(cat "$STATE/uid") == 0 || -n ${AS_ROOT:-} ]] || { echo 'E: are you root?'; exit 100; }
fi
case $names in
  ' update') cp "$STATE/archive" "$STATE/offered"; exit 0 ;;
esac
[[ $options == *' --no-install-recommends '* ]] || echo 'with recommends' >>"$STATE/apt"
for name in ${names# install}; do
  grep -qx "$name" "$STATE/offered" || { echo "E: Unable to locate package $name"; exit 100; }
done
if [[ $options != *' -s '* ]]; then
  [[ $options == *' -y '* ]] || { echo 'Abort.'; exit 1; }
  for name in ${names# install}; do
    ! grep -qx "$name" "$STATE/unreachable" || { echo "E: Failed to fetch $name"; exit 100; }
  done
  [[ ! -e $STATE/gone ]] || { rm "$STATE/gone"; echo 'E: Failed to fetch: 404'; exit 100; }
  printf '%s\n' ${names# install} >>"$STATE/installed"
  [[ $names != *bazel-bootstrap* ]] || cp "$STATE/../bazel-later" "$STATE/../bin/bazel"
fi
FAKE
}
missing() { local name; for name in "$@"; do sed -i "/^$name\$/d" state/installed; done; }
no_bazel() { mv bin/bazel bazel-later; }

# call FOLDER [VARIABLE=VALUE...] -- ARG...: bazelw from that folder, by a relative path.
call() {
  local folder=$1 variables=()
  shift
  while [[ $1 != -- ]]; do variables+=("$1"); shift; done
  shift
  local top=$PWD path=../tree/bazelw
  [[ $folder != tree ]] || path=./bazelw
  [[ $folder != tree/sub ]] || path=../bazelw
  (cd "$folder" && exec env -i HOME="$top" PATH="$top/bin" STATE="$top/state" \
    LANEWISE_OS_RELEASE="$top/os-release" "${variables[@]}" "$path" "$@") >out 2>err </dev/null
  status=$?
}

machine all-installed
call tree BAZEL_STATUS=7 -- test '//a b' ''
expect_status 7
expect_out "bazel in $PWD/tree: <test> <//a b> <>"
[[ ! -s err ]] || fail 'stderr should be empty'
expect_no_apt
[[ $(wc -l <state/dpkg) == 1 ]] || fail 'dpkg-query should run once'

machine from-a-subfolder
call tree/sub -- build :x
expect_out "bazel in $PWD/tree/sub: <build> <:x>"

machine from-elsewhere
call elsewhere -- build //:x
expect_out "bazel in $PWD/tree: <build> <//:x>"

machine bazelisk-first
fake_bazel bazelisk
call tree -- version
expect_out "bazelisk in $PWD/tree: <version>"

machine installs-the-missing
missing beta gamma
call tree -- version
expect_status 0
expect_installs 'beta gamma'
expect_err 'beta'
expect_err 'the second reason'
expect_err 'the third reason'
expect_no_err 'the first reason'
expect_out "bazel in $PWD/tree: <version>"
[[ $(updates) == 0 ]] || fail 'no update was needed'
! grep -E 'interactive|recommends' state/apt || fail 'apt-get must not ask, nor install recommends'

machine installs-bazel
missing bazel-bootstrap
no_bazel
call tree -- version
expect_status 0
expect_installs 'bazel-bootstrap'
expect_out "bazel in $PWD/tree: <version>"

machine keeps-a-bazel-of-its-own
missing bazel-bootstrap
call tree -- version
expect_status 0
expect_no_apt
expect_out "bazel in $PWD/tree: <version>"

machine stale-lists
missing beta
sed -i /beta/d state/offered
call tree -- version
expect_status 0
[[ $(updates) == 1 ]] || fail 'one update expected'
expect_installs 'beta'

machine package-replaced-in-the-archive
missing beta
touch state/gone
call tree -- version
expect_status 0
[[ $(updates) == 1 ]] || fail 'one update expected'
expect_installs $'beta\nbeta'

machine optional-not-offered
missing beta gamma
sed -i /gamma/d state/offered state/archive
call tree -- version
expect_status 0
expect_installs 'beta'
expect_err 'apt cannot give us these'
expect_out "bazel in $PWD/tree: <version>"
: >state/apt
call tree -- version
expect_status 0
expect_no_apt
expect_err 'without gamma'

machine optional-cannot-be-downloaded
missing beta gamma
echo gamma >state/unreachable
call tree -- version
expect_status 0
grep -qx beta state/installed || fail 'beta should be installed'
expect_err 'Failed to fetch gamma'
expect_err 'apt cannot give us these'
expect_out "bazel in $PWD/tree: <version>"
: >state/apt
call tree -- version
expect_status 0
expect_no_apt

machine required-cannot-be-downloaded
missing beta gamma
echo beta >state/unreachable
call tree -- version
expect_status 1
expect_err 'apt-get install failed'
expect_out ''

machine required-not-offered
missing beta gamma
sed -i /beta/d state/offered state/archive
call tree -- version
expect_status 1
expect_installs ''
expect_err 'Unable to locate package beta'
expect_out ''

machine through-sudo
missing beta
echo 1000 >state/uid
fake sudo <<'FAKE'
#!/bin/bash
[[ $1 != -n ]] || shift
AS_ROOT=1 exec "$@"
FAKE
ln -s "$(type -P true)" bin/true
call tree -- version
expect_status 0
expect_installs 'beta'

machine no-sudo
missing beta
echo 1000 >state/uid
call tree -- version
expect_status 1
expect_no_apt
expect_err 'as root: apt-get install --no-install-recommends beta'
expect_out ''

machine no-sudo-and-only-optional
missing gamma
echo 1000 >state/uid
call tree -- version
expect_status 0
expect_no_apt
expect_out "bazel in $PWD/tree: <version>"

machine forbidden
missing beta gamma
call tree LANEWISE_NO_INSTALL=1 BAZEL_STATUS=3 -- version
expect_status 3
expect_no_apt
expect_err 'the second reason'
expect_err 'LANEWISE_NO_INSTALL'
expect_out "bazel in $PWD/tree: <version>"

machine forbidden-without-bazel
missing bazel-bootstrap
no_bazel
call tree LANEWISE_NO_INSTALL=1 -- version
expect_status 1
expect_no_apt
expect_err 'the fourth reason'
expect_err 'neither bazelisk nor bazel is on PATH'

machine ubuntu
printf 'ID=neon\nID_LIKE="ubuntu debian"\n' >os-release
missing beta
call tree -- version
expect_installs 'beta'

machine not-debian
echo 'ID=fedora' >os-release
call tree -- version
expect_status 0
expect_no_apt
for reason in first second third fourth; do expect_err "the $reason reason"; done
expect_out "bazel in $PWD/tree: <version>"

machine not-debian-without-bazel
echo 'ID=fedora' >os-release
no_bazel
call tree -- version
expect_status 1
expect_err 'neither bazelisk nor bazel is on PATH'

machine the-real-list
cp -L "$source_tree/third_party/debian-packages.txt" tree/third_party/
sed -n 's/^\([a-z0-9][^ ]*\) .*/\1/p' tree/third_party/debian-packages.txt >state/installed
call tree -- version
expect_status 0
[[ ! -s err ]] || fail 'stderr should be empty'
[[ $(wc -l <state/installed) -gt 10 ]] || fail 'the list is short'
while read -r name hash reason; do
  case $name in '' | '#'*) continue ;; esac
  [[ $hash == '#' && -n $reason ]] || fail "no reason for $name"
done <tree/third_party/debian-packages.txt

echo "$failures failures"
((failures == 0))
