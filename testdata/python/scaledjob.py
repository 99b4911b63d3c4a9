"""The rules of ../SPECIFICATION.md. It answers questions of `scaledjob oracle` on standard input, a line each."""

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


def history(policy, jobs, now=None):
    """Rules 23 to 26: the names of the Jobs to delete. Times are RFC 3339 in UTC, whose order is that of text."""
    deleted, counted = [], [j for j in jobs if j["outcome"] in ("succeeded", "failed") and not j.get("deleting")]
    for outcome in ("succeeded", "failed"):
        if policy.get(outcome) is not None:
            finished = [j for j in counted if j["outcome"] == outcome]
            finished.sort(key=lambda j: (j["finished"], j["name"]))
            deleted += [j["name"] for j in finished[: max(0, len(finished) - max(0, policy[outcome]))]]
    if policy.get("age") is not None:
        parts = {unit: int(n) for n, unit in re.findall(r"(\d+)([hms])", policy["age"])}
        age = timedelta(hours=parts.get("h", 0), minutes=parts.get("m", 0), seconds=parts.get("s", 0))
        aged = [j["name"] for j in counted if datetime.fromisoformat(j["finished"]) + age <= datetime.fromisoformat(now)]
        deleted += [name for name in aged if name not in deleted]
    return deleted


def rolls_out(policy, job, current):
    """Rules 27 to 30: whether a Job is deleted because it is outdated."""
    revision = job.get("revision", {})
    if job.get("finished") or job.get("deleting"):
        return False
    if not 0 < revision.get("generation", 0) < current["generation"]:
        return False
    if not policy.get("everyEdit"):
        old, new = revision.get("templateHash"), current.get("templateHash")
        if not old or not new or old == new:
            return False
    if policy["strategy"] == "drain":
        return bool(job.get("neverStarted"))
    return policy["strategy"] in ("immediate", "default")


if __name__ == "__main__":
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps({"id": question.get("id"), "create": decide(question)}), flush=True)
