"""The rules of ../SPECIFICATION.md. It answers the questions of `scaledjob conform` on standard input, a line each."""

import json
import math
import re
import sys
from datetime import datetime, timedelta
from fractions import Fraction


def propose(question, t, r, p, s, m):
    """Rules 1 to 6."""
    name, percentage = question.get("strategy"), question.get("customScalingRunningJobPercentage")
    if name == "custom" and percentage:
        return min(m, t - question.get("customScalingQueueLengthDeduction", 0) - math.floor(r * Fraction(percentage)))
    if name == "accurate":
        return m - r if t + r > m else t - p
    if name == "eager":
        return min(m - r - p, t)
    if name == "pendingAware":
        return min(max(0, t - r + s), max(0, m - r))
    return t - r


def number(fields, name, missing=0):
    return float(fields.get(name, missing))


def count(poll, name, missing=0):
    return max(0, poll.get(name, missing))


def jobs(poll):
    """Rules 7 and 8: running, pending and stuck Jobs."""
    running = count(poll, "running")
    pending = min(count(poll, "pending"), running)
    stuck = pending - min(count(poll, "suspended"), pending)
    stuck = min(count(poll, "stuck", stuck), stuck)
    return running + count(poll, "inFlight"), pending + count(poll, "inFlight"), stuck


def readable(scaler):
    """Rule 9."""
    failed = scaler.get("failed") or scaler.get("error")
    return not failed and number(scaler, "queueLength") >= 0 and 0 < number(scaler, "target") < math.inf


def round_up(quotient):
    """Rule 13."""
    if quotient >= 2**63:
        return 2**63 - 1
    whole = math.floor(quotient)
    return whole if 0.5 > quotient - whole <= whole * 1e-9 else whole + 1


def demand(scalers, calculation):
    """Rules 11 to 13: the Jobs that the queues ask for."""
    pairs = [(number(s, "queueLength"), number(s, "target")) for s in scalers]
    if calculation in ("max", "min"):
        sign = 1 if calculation == "min" else -1
        pairs = [min(pairs, key=lambda pair: (sign * pair[0], pair[1]))]
    quotient = math.fsum(value / target for value, target in pairs)
    if calculation == "avg":
        quotient /= len(pairs)
    return max(round_up(quotient), int(any(value > 0 for value, _ in pairs)))


def decide(poll):
    """Rules 14 to 22: the Jobs to create."""
    if poll.get("paused") or poll.get("jobsUnknown"):
        return 0
    running, pending, stuck = jobs(poll)
    maximum = count(poll, "maxReplicaCount", 100)
    minimum = min(count(poll, "minReplicaCount"), maximum)
    room = max(0, maximum - running - count(poll, "terminating"))
    below = max(0, minimum - running)
    scalers = poll.get("scalers", [])
    read = [s for s in scalers if readable(s)]
    chosen = [s for s in read if s.get("isActive", number(s, "queueLength") > number(s, "activationTarget"))]
    if not chosen or (poll.get("hold") and len(read) < len(scalers)):
        return min(below, room)
    t = demand(chosen, poll.get("multipleScalersCalculation", "max"))
    floor = poll.get("min") == "floor"
    if not floor:
        maximum, running = maximum - minimum, max(0, running - minimum)
    pending, stuck, t = min(pending, running), min(stuck, running), min(t, maximum)
    if floor and poll.get("strategy") == "pendingAware":  # rule 21 does the same for default
        t = max(t, minimum)
    proposal = max(0, propose(poll, t, running, pending, stuck, maximum))
    return min(max(below, proposal) if floor else below + proposal, room)


def finished(job):
    """The outcome of a Job, "" for an unfinished one, and when it finished. RFC 3339 in UTC is ordered as text."""
    true = {c["type"]: c for c in reversed(job.get("conditions", [])) if c["status"] == "True"}
    outcome = "succeeded" if "Complete" in true else "failed" if "Failed" in true else ""
    return outcome, job.get("completionTime") or true.get("Failed", {}).get("lastTransitionTime", job["creationTimestamp"])


def history(question):
    """Rules 23 to 26: the names of the Jobs to delete."""
    counted = [j for j in question.get("jobs", []) if finished(j)[0] and "deletionTimestamp" not in j]
    deleted = []
    for outcome, limit in (("succeeded", "successfulJobsHistoryLimit"), ("failed", "failedJobsHistoryLimit")):
        ended = sorted((finished(j)[1], j["name"]) for j in counted if finished(j)[0] == outcome)
        deleted += [name for _, name in ended[: max(0, len(ended) - max(0, question.get(limit, 100)))]]
    if "age" in question:
        parts = re.findall(r"(\d+)([hms])", question["age"])
        age = sum(int(n) * {"h": 3600, "m": 60, "s": 1}[unit] for n, unit in parts)
        end = datetime.fromisoformat(question["now"]) - timedelta(seconds=age)
        old = [j["name"] for j in counted if datetime.fromisoformat(finished(j)[1]) <= end]
        deleted += [name for name in old if name not in deleted]
    return deleted


def rolls_out(question, job):
    """Rules 27 to 30: whether a Job is deleted because it is outdated."""
    text = job.get("generationAnnotation", "")
    generation = int(text) if re.fullmatch("[+-]?[0-9]+", text) else 0
    if finished(job)[0] or "deletionTimestamp" in job or not 0 < generation < question.get("generation", 0):
        return False
    old, new = job.get("templateHash"), question.get("templateHash")
    if not question.get("everyEdit", True) and (not old or not new or old == new):
        return False
    started = any(pod.get("phase", "Pending") != "Pending" for pod in job.get("pods", []))
    strategy = question.get("rollout", {}).get("strategy", "immediate")
    return strategy in ("immediate", "default") or (strategy == "drain" and not started)


def answer(question):
    kind = question.get("kind", "create")
    if "release" in question:
        return {"unsupported": "releases of KEDA"}
    if kind == "create":
        return {"create": decide(question)}
    if kind == "strategy":
        t, m = count(question, "maxScale"), count(question, "maxReplicaCount", 100)
        return {"effectiveMaxScale": propose(question, t, *jobs(question), m)}
    if kind == "history":
        return {"deleted": history(question)}
    return {"deleted": [job["name"] for job in question.get("jobs", []) if rolls_out(question, job)]}


if __name__ == "__main__":
    for question in map(json.loads, sys.stdin):
        print(json.dumps({"id": question.get("id"), **answer(question)}), flush=True)
