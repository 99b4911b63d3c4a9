"""Answers the questions of `scaledjob conform` with scaledjob.py, a line each."""

import json
import re
import sys

import scaledjob


def condition(job, name):
    return next((c for c in job.get("conditions", []) if c["type"] == name and c.get("status", "True") == "True"), None)


def finished(job):
    """The fields of a Job of a history."""
    failed = condition(job, "Failed")
    outcome = "succeeded" if condition(job, "Complete") else "failed" if failed else ""
    time = job.get("completionTime") or (failed or {}).get("lastTransitionTime") or job["creationTimestamp"]
    return {"name": job["name"], "outcome": outcome, "finished": time, "deleting": "deletionTimestamp" in job}


def outdated(job):
    """The fields of a Job of a rollout."""
    text = job.get("generationAnnotation", "")
    return {
        "revision": {"generation": int(text) if re.fullmatch("[+-]?[0-9]+", text) else 0, "templateHash": job.get("templateHash")},
        "finished": finished(job)["outcome"] != "",
        "deleting": "deletionTimestamp" in job,
        "neverStarted": all(pod["phase"] == "Pending" for pod in job.get("pods", [])),
    }


def answer(q):
    kind = q.get("kind", "create")
    if "release" in q:
        return {"unsupported": "releases of KEDA"}
    if kind == "create":
        return {"create": scaledjob.decide(q)}
    if kind == "strategy":
        name, deduction, percentage = scaledjob.strategy(q)
        r, p, s, _ = scaledjob.jobs(q)
        t, m = max(0, q.get("maxScale", 0)), max(0, q.get("maxReplicaCount", 100))
        return {"effectiveMaxScale": scaledjob.propose(name, t, r, p, s, m, deduction, percentage)}
    jobs = q.get("jobs", [])
    if kind == "history":
        policy = {"succeeded": q.get("successfulJobsHistoryLimit", 100), "failed": q.get("failedJobsHistoryLimit", 100), "age": q.get("age")}
        return {"deleted": scaledjob.history(policy, [finished(job) for job in jobs], q.get("now"))}
    policy = {"strategy": q.get("rollout", {}).get("strategy", "default"), "everyEdit": q.get("everyEdit", True)}
    current = {"generation": q.get("generation", 0), "templateHash": q.get("templateHash")}
    return {"deleted": [job["name"] for job in jobs if scaledjob.rolls_out(policy, outdated(job), current)]}


if __name__ == "__main__":
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps({"id": question.get("id"), **answer(question)}), flush=True)
