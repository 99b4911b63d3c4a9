"""The rules of ../SPECIFICATION.md. It answers the questions of `scaledjob conform` on standard input, a line each."""

import json
import math
import re
import sys
from datetime import datetime, timedelta
from fractions import Fraction

NO_LIMIT = 2**63 - 1


def propose(name, t, r, p, s, m, deduction, percentage):
    """Rules 1 to 5. The percentage is a decimal as text."""
    if name == "custom":
        return min(m, t - deduction - math.floor(r * Fraction(percentage)))
    if name == "accurate":
        return m - r if t + r > m else t - p
    if name == "eager":
        return min(m - r - p, t)
    if name == "pendingAware":
        return min(max(0, t - r + s), max(0, m - r))
    return t - r


def number(value):
    return 0.0 if value is None else float(value)


def count(poll, name):
    return max(0, int(poll.get(name) or 0))


def jobs(poll):
    """Rules 7 and 8: running, pending, stuck and terminating Jobs."""
    running = count(poll, "running")
    pending = min(count(poll, "pending"), running)
    stuck = pending - min(count(poll, "suspended"), pending)
    if poll.get("stuck") is not None:
        stuck = min(count(poll, "stuck"), stuck)
    in_flight = count(poll, "inFlight")
    return running + in_flight, pending + in_flight, stuck, count(poll, "terminating")


def readable(scaler):
    """Rule 9."""
    value, target = number(scaler.get("queueLength")), number(scaler.get("target"))
    failed = scaler.get("failed") or scaler.get("error")
    return not failed and value >= 0 and 0 < target < math.inf


def active(scaler):
    """Rule 10."""
    if scaler.get("isActive") is not None:
        return scaler["isActive"]
    return number(scaler.get("queueLength")) > number(scaler.get("activationTarget"))


def round_up(quotient):
    """Rule 13."""
    if quotient >= 2**63:
        return NO_LIMIT
    whole = math.floor(quotient)
    return whole if 0.5 > quotient - whole <= whole * 1e-9 else whole + 1


def demand(scalers, calculation):
    """Rules 11 to 13: the Jobs that the queues ask for."""
    pairs = [(number(s.get("queueLength")), number(s.get("target"))) for s in scalers]
    if calculation in ("avg", "sum"):
        quotient = math.fsum(value / target for value, target in pairs)
        if calculation == "avg":
            quotient /= len(pairs)
    else:
        sign = 1 if calculation == "min" else -1
        value, target = min(pairs, key=lambda pair: (sign * pair[0], pair[1]))
        quotient, pairs = value / target, [(value, target)]
    return max(round_up(quotient), int(any(value > 0 for value, _ in pairs)))


def decide(poll):
    """Rules 14 to 22: the Jobs to create."""
    if poll.get("paused") or poll.get("jobsUnknown"):
        return 0
    running, pending, stuck, terminating = jobs(poll)
    maximum = 100 if poll.get("maxReplicaCount") is None else count(poll, "maxReplicaCount")
    minimum = min(count(poll, "minReplicaCount"), maximum)
    room = max(0, maximum - running - terminating)
    below = max(0, minimum - running)
    scalers = poll.get("scalers") or []
    read = [s for s in scalers if readable(s)]
    chosen = [s for s in read if active(s)]
    if not chosen or (poll.get("hold") and len(read) < len(scalers)):
        return min(below, room)
    t = demand(chosen, poll.get("multipleScalersCalculation") or "max")
    name, deduction, percentage = strategy(poll)
    floor = poll.get("min") == "floor"
    if not floor:
        maximum, running = maximum - minimum, max(0, running - minimum)
    pending, stuck, t = min(pending, running), min(stuck, running), min(t, maximum)
    if floor and name in ("default", "pendingAware"):
        t = max(t, minimum)
    proposal = max(0, propose(name, t, running, pending, stuck, maximum, deduction, percentage))
    return min(max(below, proposal) if floor else below + proposal, room)


def strategy(poll):
    """Rule 6: the name, and the parameters of custom, which without a percentage is default."""
    name, percentage = poll.get("strategy") or "default", poll.get("customScalingRunningJobPercentage")
    if name == "custom" and not percentage:
        name = "default"
    return name, poll.get("customScalingQueueLengthDeduction") or 0, percentage


def condition(job, name):
    return next((c for c in job.get("conditions", []) if c["type"] == name and c.get("status", "True") == "True"), None)


def finished(job):
    """The outcome of a Job, "" for an unfinished one, and when it finished. RFC 3339 in UTC is ordered as text."""
    failed = condition(job, "Failed")
    outcome = "succeeded" if condition(job, "Complete") else "failed" if failed else ""
    return outcome, job.get("completionTime") or (failed or {}).get("lastTransitionTime") or job["creationTimestamp"]


def history(question):
    """Rules 23 to 26: the names of the Jobs to delete."""
    counted = [j for j in question.get("jobs", []) if finished(j)[0] and "deletionTimestamp" not in j]
    deleted = []
    for outcome, limit in (("succeeded", "successfulJobsHistoryLimit"), ("failed", "failedJobsHistoryLimit")):
        ended = sorted((finished(j)[1], j["name"]) for j in counted if finished(j)[0] == outcome)
        deleted += [name for _, name in ended[: max(0, len(ended) - max(0, question.get(limit, 100)))]]
    if "age" in question:
        parts = {unit: int(n) for n, unit in re.findall(r"(\d+)([hms])", question["age"])}
        age = timedelta(hours=parts.get("h", 0), minutes=parts.get("m", 0), seconds=parts.get("s", 0))
        end = datetime.fromisoformat(question["now"]) - age
        deleted += [j["name"] for j in counted if datetime.fromisoformat(finished(j)[1]) <= end and j["name"] not in deleted]
    return deleted


def rolls_out(question, job):
    """Rules 27 to 30: whether a Job is deleted because it is outdated."""
    text = job.get("generationAnnotation", "")
    generation = int(text) if re.fullmatch("[+-]?[0-9]+", text) else 0
    if finished(job)[0] or "deletionTimestamp" in job or not 0 < generation < question.get("generation", 0):
        return False
    if not question.get("everyEdit", True):
        old, new = job.get("templateHash"), question.get("templateHash")
        if not old or not new or old == new:
            return False
    strategy = question.get("rollout", {}).get("strategy", "immediate")
    if strategy == "drain":
        return all(pod["phase"] == "Pending" for pod in job.get("pods", []))
    return strategy in ("immediate", "default")


def answer(question):
    kind = question.get("kind", "create")
    if "release" in question:
        return {"unsupported": "releases of KEDA"}
    if kind == "create":
        return {"create": decide(question)}
    if kind == "strategy":
        name, deduction, percentage = strategy(question)
        r, p, s, _ = jobs(question)
        t, m = max(0, question.get("maxScale", 0)), max(0, question.get("maxReplicaCount", 100))
        return {"effectiveMaxScale": propose(name, t, r, p, s, m, deduction, percentage)}
    if kind == "history":
        return {"deleted": history(question)}
    return {"deleted": [job["name"] for job in question.get("jobs", []) if rolls_out(question, job)]}


if __name__ == "__main__":
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps({"id": question.get("id"), **answer(question)}), flush=True)
