"""Runs the vectors, and prints each that differs."""

import json
import pathlib
import sys

import scaledjob

FIELDS = {"decisions": "create", "history": "deleted", "rollout": "deleted"}


def cases(name):
    return json.loads((pathlib.Path(__file__).parent.parent / f"{name}.json").read_text())["cases"]


def questions():
    """Each vector: its name, the question and the right answer."""
    for file, field in FIELDS.items():
        for case in cases(file):
            yield case["name"], case["input"], {field: case[field]}
    for case in cases("strategies"):
        for name, proposal in case["effectiveMaxScale"].items():
            yield name, {**case["input"], "strategy": name}, {"effectiveMaxScale": proposal}


if __name__ == "__main__":
    wrong = [(name, question, right) for name, question, right in questions() if scaledjob.answer(question) != right]
    for name, question, right in wrong:
        print(f"{name}: {question}: {scaledjob.answer(question)} instead of {right}")
    print(f"vectors that differ: {len(wrong)}")
    sys.exit(bool(wrong))
