#!/usr/bin/env bash
# fresh_root.sh [COMMAND...]: the commands of README.md's first block, or those given (one an
# argument), on a clean clone of this tree's commit, in a Debian root that holds nothing but what
# Debian calls essential, git and certificates: what a stranger meets who has just installed Debian.
#
# Needs root, on Debian or Ubuntu, and 20 GiB at $FRESH_ROOT (/var/tmp/lanewise-fresh-root), which is
# removed at the end. Debian's archive, its keys, proxies and certificates are those of this machine;
# nothing is installed on it. Prints at the end, for each command, a row for the table of
# docs/testing.md; exits with the first status that is not 0.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
work=${FRESH_ROOT:-/var/tmp/lanewise-fresh-root}
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

say() { printf 'fresh_root: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# The commands of README.md's first block, without `git clone` and without comments.
readme_commands() {
  awk '/^```/ { if (inside) exit; inside = 1; next }
    inside && /^\.\// { sub(/ +#.*/, ""); print }' "$top/README.md"
}

# archives: "URI SUITE COMPONENT" of each part of Debian that this machine takes its packages from.
archives() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v suite="$suite" '$2 ~ "^" suite && $3 == "main"' | sort -u
}

# Unpacks debootstrap below $work where it is not installed; sets `bootstrap`.
find_debootstrap() {
  bootstrap=debootstrap
  if ! command -v debootstrap >/dev/null; then
    mkdir "$work/deb"
    (cd "$work/deb" && apt-get download -qq -o APT::Sandbox::User=root debootstrap)
    dpkg-deb -x "$work"/deb/debootstrap_*.deb "$work/deb"
    export DEBOOTSTRAP_DIR=$work/deb/usr/share/debootstrap
    bootstrap=$work/deb/usr/sbin/debootstrap
  fi
}

make_root() {
  local uri release component key
  say "making a root of $suite in $root"
  uri=$(archives | awk -v suite="$suite" '$2 == suite { print $1; exit }')
  [[ -n $uri ]] || die "apt names no archive of $suite: apt-get update"
  "$bootstrap" --variant=minbase --include=ca-certificates,git "$suite" "$root" "$uri" \
    >"$log" 2>&1 || { tail -n 20 "$log" >&2; die 'debootstrap failed'; }
  rm -rf "$root/etc/apt/sources.list"*
  archives | while read -r uri release component; do
    echo "deb $uri $release $component"
  done >"$root/etc/apt/sources.list"
  apt-config dump | grep -E '^Acquire::(http|https)(::| )' \
    >"$root/etc/apt/apt.conf.d/99network" || true
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  for key in /usr/local/share/ca-certificates/*.crt; do
    [[ ! -e $key ]] || cp "$key" "$root/usr/local/share/ca-certificates/"
  done
}

# inside COMMAND: runs it in the clone, in the root. The first process of its own namespaces, so that
# what it starts and mounts ends with it.
inside() {
  local name carried=()
  mount --make-rprivate /
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  for name in http_proxy https_proxy no_proxy; do
    [[ -z ${!name:-} ]] || carried+=("$name=${!name}")
  done
  exec env -i HOME=/root USER=root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    "${carried[@]}" chroot "$root" /bin/bash -c "cd /src/lanewise && $1" </dev/null
}

# run_inside COMMAND: `inside` with its output shown and kept in $log.
run_inside() {
  unshare --mount --pid --fork --kill-child -- \
    bash -c "root=$(printf %q "$root"); $(declare -f inside); inside \"\$1\"" - "$1" 2>&1 | tee "$log"
}

# What the command's last words count: Bazel's tests, .ci/run's cases, or nothing.
counted() {
  { grep -oE '^Executed .*|^[0-9]+ passed, .*' "$log" || true; } | tail -n 1 | sed 's/\.$//'
}

[[ $(id -u) == 0 ]] || die 'needs root, for chroot'
commands=("$@")
[[ $# -gt 0 ]] || mapfile -t commands < <(readme_commands)
((${#commands[@]})) || die "README.md's first block has no command"
[[ ! -e $work ]] || die "$work is there already: another run, or the rest of one that was killed"
mkdir -p "$work"
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root log=$work/log
commit=$(git -C "$top" rev-parse --short HEAD)
[[ -z $(git -C "$top" status --porcelain) ]] ||
  say 'the tree has changes that are in no commit: they are left out'

find_debootstrap
make_root
mkdir -p "$root/src"
git clone --quiet --no-local "$top" "$root/src/lanewise"
git -C "$root/src/lanewise" checkout --quiet "$commit"
chroot "$root" update-ca-certificates >/dev/null 2>&1

status=0 rows=() machine="$suite, $(nproc) processors"
for command in "${commands[@]}"; do
  say "running $command"
  began=$SECONDS this=0
  run_inside "$command" || this=$?
  took=$((SECONDS - began))
  result=$(counted)
  ((this == 0)) && result=${result:-done} || result="exit status $this${result:+, $result}"
  took="$((took / 60)) min $((took % 60)) s"
  rows+=("| $(date -u +%F) | $commit | $machine | \`$command\` | $took | $result |")
  ((status)) || status=$this
done
printf '%s\n' "${rows[@]}"
exit "$status"
