"""Counts the test cases of one `bazel test`, for .ci/run.

count_cases.py EVENTS STATUS: EVENTS is what Bazel wrote under --build_event_json_file, STATUS its
exit status. Prints what failed and what was skipped, and a last line `N passed, M failed` (`, K
skipped`). Exits with 0 only where Bazel did, some case passed, none failed, and every skipped one
belongs to a target tagged gpu.

The events name the test.xml files of this run alone, so results of earlier runs that still lie in
bazel-testlogs do not count. A test that is no GoogleTest counts as one case, for Bazel writes such
a file for it.
"""

import json
import re
import sys
import urllib.parse
import xml.etree.ElementTree

SHOWN = 50  # lines for each of failed and skipped cases


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []  # names
        self.skipped = []  # (name, whether that is in order)

    def add(self, name, outcome, tags):
        if outcome == "passed":
            self.passed += 1
        elif outcome == "failed":
            self.failed.append(name)
        else:
            self.skipped.append((name, "gpu" in tags))


def read_events(path):
    """Three dicts by label: tags of each test target, its last result for each (run, shard), and
    how it ended where it was not run ("failed to build" or "incompatible")."""
    tags, results, ended = {}, {}, {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            event = json.loads(line)
            (kind, key), = event["id"].items()
            label = key.get("label") if isinstance(key, dict) else None
            if kind == "targetConfigured" and "configured" in event:
                if event["configured"].get("targetKind", "").endswith("_test rule"):
                    tags[label] = event["configured"].get("tag", [])
            elif kind == "targetCompleted" and "aborted" in event:
                # Bazel 4 says ANALYSIS_FAILURE of an incompatible target too, but then ends well.
                reason = event["aborted"].get("reason", "")
                incompatible = reason in ("SKIPPED", "ANALYSIS_FAILURE")
                ended[label] = "incompatible" if incompatible else "failed to build"
            elif kind == "targetCompleted" and not event.get("completed", {}).get("success"):
                ended[label] = "failed to build"
            elif kind == "testResult":
                # A later attempt of the same shard replaces the one before.
                shards = results.setdefault(label, {})
                place = (key.get("run", 1), key.get("shard", 1))
                attempt = key.get("attempt", 1)
                if place not in shards or shards[place][0] <= attempt:
                    shards[place] = (attempt, event.get("testResult", {}))
    return tags, results, ended


def name_of(case):
    return ".".join(filter(None, (case.get("classname"), case.get("name"))))


def outcome_of(case):
    children = {child.tag for child in case}
    if children & {"failure", "error"}:
        return "failed"
    if "skipped" in children or case.get("status") == "notrun":
        return "skipped"
    return "passed"


def read_cases(result):
    """[(name, outcome)] of one testResult, or None where its test.xml cannot be read."""
    for output in result.get("testActionOutput", []):
        if output.get("name") == "test.xml":
            uri = urllib.parse.urlparse(output.get("uri", ""))
            try:
                path = urllib.parse.unquote(uri.path)
                with open(path, encoding="utf-8", errors="replace") as file:
                    # Control characters that XML does not allow reach the file from test output.
                    text = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", "?", file.read())
                root = xml.etree.ElementTree.fromstring(text)
            except (OSError, xml.etree.ElementTree.ParseError):
                return None
            return [(name_of(case), outcome_of(case)) for case in root.iter("testcase")]
    return None


def tally_results(tags, results, ended):
    tally = Tally()
    for label, shards in sorted(results.items()):
        count = 0
        for place in sorted(shards):
            result = shards[place][1]
            status = result.get("status", "NO_STATUS")
            cases = read_cases(result)
            for name, outcome in cases or []:
                tally.add(f"{label} {name}", outcome, tags.get(label, []))
                count += 1
            # A test can fail beside its cases: a leak, a crash at the end, a timeout.
            outcomes = {outcome for _, outcome in cases or []}
            beside = status not in ("PASSED", "FLAKY") and "failed" not in outcomes
            if cases is None or beside:
                why = "no readable test.xml, " if cases is None else ""
                tally.add(f"{label} ({why}{status})", "failed", [])
                count += 1
        if not count:
            tally.add(f"{label} (it has no test cases)", "failed", [])
    for label in sorted(tags.keys() - results.keys()):
        if ended.get(label) == "incompatible":
            tally.add(f"{label} (incompatible)", "skipped", tags[label])
        elif label in ended:
            tally.add(f"{label} ({ended[label]})", "failed", [])
        # Otherwise a tag filter kept it from running: it was not asked for.
    return tally


def show(heading, names):
    if names:
        print(f"{heading}:")
        for name in names[:SHOWN]:
            print(f"  {name}")
        if len(names) > SHOWN:
            print(f"  and {len(names) - SHOWN} more")


def main(events, status):
    try:
        tally = tally_results(*read_events(events))
    except (OSError, ValueError, KeyError) as error:  # Bazel ended before or while it wrote them
        print(f"cannot read Bazel's events: {error}")
        tally = Tally()
    not_allowed = [name for name, in_order in tally.skipped if not in_order]
    show("failed", tally.failed)
    show("skipped, though not tagged gpu", not_allowed)
    if status:
        print(f"bazel ended with status {status}")
    if not tally.passed + len(tally.failed):
        print("no test case ran")
    skipped = f", {len(tally.skipped)} skipped" if tally.skipped else ""
    print(f"{tally.passed} passed, {len(tally.failed)} failed{skipped}", flush=True)
    return 0 if status == 0 and tally.passed and not tally.failed and not not_allowed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
