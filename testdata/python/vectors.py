"""Runs the vectors, and prints each that differs."""

import json
import pathlib
import sys

import scaledjob

DATA = pathlib.Path(__file__).parent.parent


def failures():
    for case in json.loads((DATA / "decisions.json").read_text())["cases"]:
        found = scaledjob.decide(case["input"])
        if found != case["create"]:
            yield f"{case['name']}: {found} instead of {case['create']}"
    for case in json.loads((DATA / "strategies.json").read_text())["cases"]:
        for name, want in case["want"].items():
            load = [case.get(field, 0) for field in ("target", "running", "pending", "stuck", "max")]
            found = scaledjob.propose(name, *load, case.get("deduction", 0), case.get("percentage", "0"))
            if found != want:
                yield f"{name} {load}: {found} instead of {want}"
    for case in json.loads((DATA / "history.json").read_text())["cases"]:
        found = scaledjob.history(case["policy"], case["jobs"], case.get("now"))
        if found != case["delete"]:
            yield f"{case['name']}: {found} instead of {case['delete']}"
    for case in json.loads((DATA / "rollout.json").read_text())["cases"]:
        found = scaledjob.rolls_out(case["policy"], case["job"], case["current"])
        if found != case["delete"]:
            yield f"{case['name']}: {found} instead of {case['delete']}"


if __name__ == "__main__":
    lines = list(failures())
    print("\n".join(lines) or "all vectors pass")
    sys.exit(bool(lines))
