#!/usr/bin/env bash
# .ci/run over a fake bazelw, which leaves the events and the test.xml files of each scene.
set -u

source_tree=$PWD  # the runfiles
failures=0

fail() {
  echo "FAIL $current: $*"
  sed 's/^/  | /' out
  failures=$((failures + 1))
}

# scene NAME: an empty tree in which bazelw ends with the status in the file `bazel_status` (0).
scene() {
  current=$1
  rm -rf "${TEST_TMPDIR:?}/$current"
  mkdir -p "$TEST_TMPDIR/$current/.ci" && cd "$TEST_TMPDIR/$current" || exit 1
  cp -L "$source_tree/.ci/run" "$source_tree/.ci/count_cases.py" .ci/
  echo 0 >bazel_status
  : >events
  cat >bazelw <<'FAKE'
#!/usr/bin/env bash
echo "$CI $*" >called
for argument in "$@"; do
  case $argument in
    --build_event_json_file=*) [[ ! -e events ]] || cat events >"${argument#*=}" ;;
  esac
done
[[ ! -t 0 ]] && ! read -r || exit 99
exit "$(cat bazel_status)"
FAKE
  chmod +x bazelw
}

event() { tr '\n' ' ' <<<"$1" >>events && echo >>events; }

# target LABEL [TAG]: a test target that Bazel looked at.
target() {
  event "{\"id\": {\"targetConfigured\": {\"label\": \"$1\"}},
    \"configured\": {\"targetKind\": \"cc_test rule\", \"tag\": [${2:+\"$2\"}]}}"
}

# result LABEL STATUS [SHARD [ATTEMPT]]: one testResult; its test.xml holds the cases on stdin.
result() {
  local shard=${3:-1} attempt=${4:-1} file
  file=$PWD/$(tr -c 'a-z0-9\n' _ <<<"$1")_${shard}_$attempt.xml
  {
    echo '<?xml version="1.0" encoding="UTF-8"?><testsuites><testsuite>'
    cat
    echo '</testsuite></testsuites>'
  } >"$file"
  event "{\"id\": {\"testResult\":
      {\"label\": \"$1\", \"run\": 1, \"shard\": $shard, \"attempt\": $attempt}},
    \"testResult\": {\"status\": \"$2\", \"testActionOutput\": [
      {\"name\": \"test.log\", \"uri\": \"file:///none\"},
      {\"name\": \"test.xml\", \"uri\": \"file://$file\"}]}}"
}

passing='<testcase classname="S" name="Good" status="run" result="completed" />'
failing='<testcase classname="S" name="Bad" status="run">
  <failure message="x"><![CDATA[<testcase name="no" />]]></failure></testcase>'
skipping='<testcase classname="S" name="Left" status="run" result="skipped">
  <skipped message="x"/></testcase>'
disabled='<testcase classname="S" name="DISABLED_Off" status="notrun" result="suppressed" />'

# run_ends STATUS LAST_LINE
run_ends() {
  .ci/run >out 2>&1
  local status=$?
  [[ $status == "$1" ]] || fail "exit status $status, expected $1"
  [[ $(tail -n 1 out) == "$2" ]] || fail "last line should be: $2"
}
says() { grep -qF -- "$1" out || fail "output lacks: $1"; }

scene passes
target //a:one
target //b:plain
event '{"id": {"targetConfigured": {"label": "//b:library"}},
  "configured": {"targetKind": "cc_library rule"}}'
result //a:one PASSED <<<"$passing$passing"
result //b:plain PASSED <<<'<testcase name="b/plain" status="run"></testcase>'
run_ends 0 '3 passed, 0 failed'
grep -q '^true test .*//\.\.\.$' called || fail "bazelw was called with: $(cat called)"

scene counts-every-shard
target //a:one
result //a:one PASSED 1 <<<"$passing"
result //a:one PASSED 2 <<<"$passing$passing"
result //a:one PASSED 3 <<<''
run_ends 0 '3 passed, 0 failed'

scene last-attempt-counts
target //a:one
result //a:one FAILED 1 1 <<<"$failing"
result //a:one PASSED 1 2 <<<"$passing"
run_ends 0 '1 passed, 0 failed'

scene stale-results-do-not-count
mkdir -p bazel-testlogs/gone
echo "<testsuites>$failing</testsuites>" >bazel-testlogs/gone/test.xml
target //a:one
result //a:one PASSED <<<"$passing"
run_ends 0 '1 passed, 0 failed'

scene fails
target //a:one
result //a:one FAILED <<<"$passing$failing"
echo 3 >bazel_status
run_ends 1 '1 passed, 1 failed'
says '//a:one S.Bad'

scene failing-case-in-spite-of-bazel
target //a:one
result //a:one PASSED <<<"$failing"
run_ends 1 '0 passed, 1 failed'

scene fails-beside-its-cases
target //a:one
result //a:one FAILED <<<"$passing"
echo 3 >bazel_status
run_ends 1 '1 passed, 1 failed'
says '//a:one (FAILED)'

scene timeout
target //a:one
result //a:one TIMEOUT <<<'<testcase name="a/one"><error message="exited with 142"/></testcase>'
echo 3 >bazel_status
run_ends 1 '0 passed, 1 failed'

scene timeout-without-a-report
target //a:one
event '{"id": {"testResult": {"label": "//a:one"}}, "testResult": {"status": "TIMEOUT"}}'
echo 3 >bazel_status
run_ends 1 '0 passed, 1 failed'

scene does-not-build
target //a:one
target //a:two
result //a:one PASSED <<<"$passing"
event '{"id": {"targetCompleted": {"label": "//a:two"}}, "completed": {"failureDetail": {}}}'
echo 1 >bazel_status
run_ends 1 '1 passed, 1 failed'
says '//a:two (failed to build)'

scene library-does-not-build
target //a:one
result //a:one PASSED <<<"$passing"
echo 1 >bazel_status
run_ends 1 '1 passed, 0 failed'
says 'bazel ended with status 1'

scene skipped-case
target //a:one
result //a:one PASSED <<<"$passing$skipping"
run_ends 1 '1 passed, 0 failed, 1 skipped'
says '//a:one S.Left'

scene disabled-case
target //a:one
result //a:one PASSED <<<"$passing$disabled"
run_ends 1 '1 passed, 0 failed, 1 skipped'

scene incompatible-target
target //a:one
target //a:two
result //a:one PASSED <<<"$passing"
event '{"id": {"targetCompleted": {"label": "//a:two"}}, "aborted": {"reason": "SKIPPED"}}'
run_ends 1 '1 passed, 0 failed, 1 skipped'
says '//a:two (incompatible)'

scene skipped-on-a-gpu
target //a:one gpu
target //a:two gpu
target //a:three
result //a:one PASSED <<<"$skipping"
result //a:three PASSED <<<"$passing"
event '{"id": {"targetCompleted": {"label": "//a:two"}}, "aborted": {"reason": "ANALYSIS_FAILURE"}}'
run_ends 0 '1 passed, 0 failed, 2 skipped'

scene left-out-by-a-tag-filter
target //a:one
target //a:long nightly
result //a:one PASSED <<<"$passing"
event '{"id": {"targetCompleted": {"label": "//a:long"}}, "completed": {"success": true}}'
run_ends 0 '1 passed, 0 failed'

scene no-tests
run_ends 1 '0 passed, 0 failed'
says 'no test case ran'

scene test-without-cases
target //a:one
result //a:one PASSED <<<''
run_ends 1 '0 passed, 1 failed'

scene bazel-cannot-start
rm events
echo 1 >bazel_status
run_ends 1 '0 passed, 0 failed'

scene cut-off-events
target //a:one
result //a:one PASSED <<<"$passing"
printf '{"id": {"test' >>events
echo 37 >bazel_status
run_ends 1 '0 passed, 0 failed'

scene odd-bytes-in-a-report
target //a:one
printf '%s\033\377%s' "$passing" "$passing" | result //a:one PASSED
run_ends 0 '2 passed, 0 failed'

scene through-a-pipe
target //a:one
result //a:one FAILED <<<"$failing"
set -o pipefail
.ci/run 2>&1 | cat >out && fail 'a pipe hides the failure'
set +o pipefail

echo "$failures failures"
((failures == 0))
