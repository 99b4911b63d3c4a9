#!/usr/bin/env python3
"""Writes intervals.json: time specs with their first instants.

Independent of the Go code: zoneinfo and datetime say what clocks show, fractions
are exact, and instants are found one by one.

    python3 intervals.py > intervals.json
"""

import json
import re
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction
from itertools import islice
from zoneinfo import ZoneInfo

UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NANO = 10**9


def seconds(t):
    """An aware datetime in whole seconds since 1970."""
    d = t - EPOCH
    return d.days * 86400 + d.seconds


def of(text):
    """An offset in seconds."""
    if text in ("", "Z", None):
        return 0
    m = re.fullmatch(r"([+-])(\d\d)(?::(\d\d))?", text)
    n = int(m[2]) * 3600 + int(m[3] or 0) * 60
    return -n if m[1] == "-" else n


def instant(text):
    """A date-time with an offset in nanoseconds since 1970."""
    m = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d))?(?:[.,](\d+))?(Z|[+-].*)", text)
    t = datetime(*(int(m[n]) for n in range(1, 4)), tzinfo=UTC)
    t += timedelta(hours=int(m[4]), minutes=int(m[5]), seconds=int(m[6] or 0))
    return (seconds(t) - of(m[8])) * NANO + int(Fraction("0." + (m[7] or "0")) * NANO)


def show(ns):
    text = (EPOCH + timedelta(seconds=ns // NANO)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    if ns % NANO:
        text += (".%09d" % (ns % NANO)).rstrip("0")
    return text + "Z"


def at(tz, wall):
    """When clocks show that. fold=0: the first of two; in a gap the offset from before it."""
    return seconds(wall.replace(tzinfo=tz, fold=0).astimezone(UTC))


def first(text, created, tz):
    """When a start is, for a job of then, and what clocks should show."""

    def shows(ns):
        return (EPOCH + timedelta(seconds=ns // NANO)).astimezone(tz).replace(tzinfo=None)

    if text == "":
        return created, shows(created)
    if text[0] != "T":
        return instant(text), shows(instant(text))
    m = re.fullmatch(r"T(\d\d):(\d\d)(?::(\d\d))?(?:[.,](\d+))?(Z|[+-].*)?", text)
    there = timezone(timedelta(seconds=of(m[5]))) if m[5] else tz
    nanos = int(Fraction("0." + (m[4] or "0")) * NANO)
    today = (EPOCH + timedelta(seconds=created // NANO)).astimezone(there).date()
    for days in range(-2, 4):
        d = today + timedelta(days=days)
        wall = datetime(d.year, d.month, d.day, int(m[1]) % 24, int(m[2]), int(m[3] or 0))
        t = at(there, wall) * NANO + nanos
        if t >= created:
            return t, (shows(t) if m[5] else wall)


def duration(text):
    """Months, days, and nanoseconds."""
    day, _, clock = text[1:].partition("T")
    months, days, exact = 0, 0, Fraction(0)
    for number, unit in re.findall(r"([\d.,]+)([YMWD])", day):
        n = Fraction(number.replace(",", "."))
        if unit in "YM":
            months += int(n) * (12 if unit == "Y" else 1)
        else:
            days += int(n) * (7 if unit == "W" else 1)
            exact += (n - int(n)) * (7 if unit == "W" else 1) * 86400
    for number, unit in re.findall(r"([\d.,]+)([HMS])", clock):
        exact += Fraction(number.replace(",", ".")) * {"H": 3600, "M": 60, "S": 1}[unit]
    exact *= NANO
    assert exact.denominator == 1
    return months, days, int(exact)


def month_later(d, months):
    year, month = divmod(d.year * 12 + d.month - 1 + months, 12)
    for day in range(d.day, 0, -1):
        try:
            return date(year, month + 1, day)
        except ValueError:
            pass


def instants(spec, created, zone):
    """All of them, from the job's creation on."""
    times, start, step = spec.split("/")
    count = int(times[1:]) if times[1:] else 10**12
    created, tz = instant(created), ZoneInfo(zone)
    ends = start.startswith("P")
    if ends:
        start, step = step, start
    start_text = start
    start, wall = first(start, created, tz)
    months, days, exact = (0, 0, instant(step) - instant(start_text)) if step[0] != "P" else duration(step)
    previous = None
    steps = range(0 if months or days else max(0, (created - start) // exact), count)
    if ends:  # as far back as there may be one after the creation
        least = months * 28 * 86400 * NANO + days * 86400 * NANO + exact
        steps = range(-min(count, (start - created) // least + 3), 0)
    for k in steps:
        t = start
        if k and (months or days):
            d = month_later(wall.date(), k * months) + timedelta(days=k * days)
            t = at(tz, datetime.combine(d, wall.time().replace(microsecond=0))) * NANO + start % NANO
        t += k * exact
        if previous is not None and t <= previous:
            continue
        previous = t
        if t >= created:
            yield t


C = "2026-01-01T00:00:00Z"
B, N, L, A = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"

# name, time spec, created, zone, and in the canonical spelling where it is another
CASES = [
    ("five days", "R5/2026-01-01T02:00:00Z/P1D", C, "UTC"),
    ("once", "R1/2026-01-01T02:00:00Z/P1D", C, "UTC"),
    ("never", "R0/2026-01-01T02:00:00Z/P1D", C, "UTC"),
    ("without end", "R/2026-01-01T02:00:00Z/PT6H", C, "UTC"),
    ("leading zeros", "R003/2026-01-01T02:00:00Z/PT01H", C, "UTC", "R3/2026-01-01T02:00:00Z/PT1H"),
    ("the proposal's, with a unit", "R5/T01:00:00/PT1H", "2026-03-04T05:06:07Z", "UTC"),

    ("end of month", "R6/2026-01-31T00:00:00Z/P1M", C, "UTC"),
    ("end of month in a leap year", "R6/2028-01-31T12:00:00Z/P1M", C, "UTC"),
    ("the 30th", "R5/2026-12-30T00:00:00Z/P1M", C, "UTC"),
    ("the 29th over a leap year", "R5/2027-11-29T00:00:00Z/P3M", C, "UTC"),
    ("quarters from the last of May", "R6/2026-05-31T00:00:00Z/P3M", C, "UTC"),
    ("leap day by year", "R6/2024-02-29T00:00:00Z/P1Y", "2024-01-01T00:00:00Z", "UTC"),
    ("leap day by four years, over 2100", "R6/2088-02-29T00:00:00Z/P4Y", C, "UTC"),
    ("leap day by century, over 2400", "R5/2096-02-29T06:00:00Z/P100Y", C, "UTC"),
    ("years and months", "R5/2026-08-31T00:00:00Z/P1Y6M", C, "UTC"),
    ("months in years", "R3/2026-01-01T00:00:00Z/P12M", C, "UTC", "R3/2026-01-01T00:00:00Z/P1Y"),
    ("a month and a day", "R6/2026-01-31T00:00:00Z/P1M1D", C, "UTC"),
    ("a month and a day and an hour", "R6/2026-01-31T23:30:00Z/P1M1DT1H", C, "UTC"),
    ("all units", "R4/2026-01-31T10:20:30Z/P1Y2M3W4DT5H6M7S", C, "UTC", "R4/2026-01-31T10:20:30Z/P1Y2M25DT5H6M7S"),
    ("over the year's end", "R4/2026-12-31T23:59:59Z/P1D", C, "UTC"),
    ("days over the end of February", "R4/2027-02-27T00:00:00Z/P1D", C, "UTC"),
    ("days over a leap day", "R4/2028-02-27T00:00:00Z/P1D", C, "UTC"),

    ("weeks", "R4/2026-01-01T09:00:00Z/P1W", C, "UTC"),
    ("weeks and days", "R4/2026-01-01T09:00:00Z/P1W1D", C, "UTC", "R4/2026-01-01T09:00:00Z/P8D"),
    ("days that are weeks", "R4/2026-01-01T09:00:00Z/P14D", C, "UTC", "R4/2026-01-01T09:00:00Z/P2W"),

    ("half an hour", "R4/2026-01-01T00:00:00Z/PT0.5H", C, "UTC", "R4/2026-01-01T00:00:00Z/PT30M"),
    ("half a second, with a comma", "R4/2026-01-01T00:00:00Z/PT0,5S", C, "UTC", "R4/2026-01-01T00:00:00Z/PT0.5S"),
    ("nanoseconds", "R4/2026-01-01T00:00:00Z/PT0.000000001S", C, "UTC"),
    ("a minute and a fraction", "R4/2026-01-01T00:00:00Z/PT1M1.25S", C, "UTC"),
    ("a fraction of a day", "R4/2026-01-01T00:00:00Z/P1.5D", C, "UTC", "R4/2026-01-01T00:00:00Z/P1DT12H"),
    ("a fraction of a week", "R4/2026-01-01T00:00:00Z/P0.5W", C, "UTC", "R4/2026-01-01T00:00:00Z/PT84H"),
    ("a fraction of an hour to the nanosecond", "R4/2026-01-01T00:00:00Z/PT0.00000000001H", C, "UTC",
     "R4/2026-01-01T00:00:00Z/PT0.000000036S"),
    ("a fraction of a minute", "R4/2026-01-01T00:00:00Z/PT2.1M", C, "UTC", "R4/2026-01-01T00:00:00Z/PT2M6S"),
    ("a fraction in the start", "R4/2026-01-01T00:00:00.75Z/PT0.5S", C, "UTC"),
    ("more minutes than an hour has", "R3/2026-01-01T00:00:00Z/PT90M", C, "UTC", "R3/2026-01-01T00:00:00Z/PT1H30M"),
    ("more hours than a day has", "R3/2026-01-01T00:00:00Z/PT36H", C, "UTC"),

    ("an offset east", "R3/2026-01-01T02:00:00+02:00/P1D", C, "UTC"),
    ("an offset west", "R3/2026-01-01T22:00:00-05:00/P1D", C, "UTC"),
    ("an offset of hours and minutes", "R3/2026-01-02T00:00:00+05:45/PT12H", C, "UTC"),
    ("an offset of hours", "R3/2026-01-02T00:00:00+02/PT12H", C, "UTC", "R3/2026-01-02T00:00:00+02:00/PT12H"),
    ("an offset that makes it another month", "R4/2026-01-31T23:00:00-05:00/P1M", C, "UTC"),
    ("the same in its own zone", "R4/2026-01-31T23:00:00-05:00/P1M", C, N),
    ("an offset of zero", "R3/2026-01-02T00:00:00+00:00/PT12H", C, "UTC", "R3/2026-01-02T00:00:00Z/PT12H"),

    ("a gap: Berlin, 02:30 by day", "R4/2026-03-28T02:30:00+01:00/P1D", C, B),
    ("a gap: at its very beginning", "R3/2026-03-28T02:00:00+01:00/P1D", C, B),
    ("a gap: its end", "R3/2026-03-28T03:00:00+01:00/P1D", C, B),
    ("a gap: exact hours pass over it", "R4/2026-03-28T02:30:00+01:00/PT24H", C, B),
    ("a gap: New York, 02:15 by week", "R3/2026-03-01T02:15:00-05:00/P1W", C, N),
    ("a gap: New York, by month", "R4/2026-02-08T02:30:00-05:00/P1M", C, N),
    ("a gap of half an hour: Lord Howe", "R3/2026-10-03T02:15:00+10:30/P1D", C, L),
    ("a gap and hours after it", "R3/2026-03-28T02:30:00+01:00/P1DT1H", C, B),
    ("a gap on a year's day", "R3/2025-03-29T02:30:00+01:00/P1Y", "2025-01-01T00:00:00Z", B),

    ("an overlap: Berlin, 02:30 by day is the first", "R4/2026-10-24T02:30:00+02:00/P1D", C, B),
    ("an overlap: its beginning", "R3/2026-10-24T02:00:00+02:00/P1D", C, B),
    ("an overlap: its end", "R3/2026-10-24T03:00:00+02:00/P1D", C, B),
    ("an overlap: a start that means the second", "R3/2026-10-25T02:30:00+01:00/P1D", C, B),
    ("an overlap: a start that means the first", "R3/2026-10-25T02:30:00+02:00/P1D", C, B),
    ("an overlap: exact hours pass through both", "R5/2026-10-25T00:30:00+02:00/PT1H", C, B),
    ("an overlap: New York, 01:30 by day", "R3/2026-10-31T01:30:00-04:00/P1D", C, N),
    ("an overlap: New York, the second", "R3/2026-11-01T01:30:00-05:00/P1D", C, N),
    ("an overlap of half an hour: Lord Howe", "R3/2026-04-04T01:45:00+11:00/P1D", C, L),
    ("an overlap of half an hour: the second", "R3/2026-04-05T01:45:00+10:30/P1D", C, L),
    ("an overlap and hours after it", "R3/2026-10-24T02:30:00+02:00/P1DT1H", C, B),

    ("wall clock through a year", "R5/2026-01-15T08:00:00+01:00/P3M", C, B),
    ("another offset than the zone's", "R4/2026-03-28T01:30:00Z/P1D", C, B),
    ("a day that the zone skipped", "R5/2011-12-28T12:00:00-10:00/P1D", "2011-01-01T00:00:00Z", A),
    ("every second day over it", "R4/2011-12-28T12:00:00-10:00/P2D", "2011-01-01T00:00:00Z", A),
    ("exact days over it", "R4/2011-12-28T12:00:00-10:00/PT24H", "2011-01-01T00:00:00Z", A),

    ("empty start", "R3//PT1H", "2026-05-06T07:08:09Z", "UTC"),
    ("empty start, to the nanosecond", "R3//PT1H", "2026-05-06T07:08:09.123456789Z", "UTC"),
    ("empty start, by month in a zone", "R4//P1M", "2026-01-31T23:30:00Z", B),
    ("time of day, later that day", "R3/T18:00:00/P1D", "2026-05-06T07:08:09Z", "UTC"),
    ("time of day, at the creation", "R3/T07:08:09Z/P1D", "2026-05-06T07:08:09Z", "UTC"),
    ("time of day, the next day", "R3/T07:08:08.5Z/P1D", "2026-05-06T07:08:09Z", "UTC"),
    ("time of day with an offset, a day ahead", "R3/T01:00:00+09:00/P1D", "2026-05-06T15:30:00Z", "UTC"),
    ("time of day with an offset, a day behind", "R3/T23:00:00-08:00/P1D", "2026-05-06T03:00:00Z", "UTC"),
    ("time of day in UTC, kept in a zone", "R4/T01:00:00Z/P1D", "2026-03-27T12:00:00Z", B),
    ("time of day of the zone, over a gap", "R4/T02:30:00/P1D", "2026-03-27T12:00:00Z", B),
    ("time of day of the zone, created in the gap", "R3/T02:30:00/P1D", "2026-03-29T01:10:00Z", B),
    ("time of day of the zone, first in a gap", "R3/T02:30:00/P1D", "2026-03-28T23:00:00Z", B),
    ("time of day of the zone, first in a gap, by week", "R3/T02:30:00/P1W", "2026-03-28T23:00:00Z", B),
    ("time of day of the zone, over an overlap", "R4/T02:30:00/P1D", "2026-10-23T12:00:00Z", B),
    ("time of day of the zone, created between the two", "R3/T02:30:00/P1D", "2026-10-25T00:45:00Z", B),
    ("time of day of the zone, exact hours", "R4/T02:30:00/PT24H", "2026-03-27T12:00:00Z", B),
    ("time of day of the zone, New York", "R4/T01:30:00/P1D", "2026-10-31T00:00:00Z", N),
    ("time of day of the zone, half an hour", "R4/T02:15:00/P1D", "2026-10-02T00:00:00Z", L),
    ("time of day of the zone, over a skipped day", "R4/T12:00:00/P1D", "2011-12-28T12:00:00Z", A),
    ("time of day of the zone, a day ahead of UTC", "R3/T00:30:00/P1D", "2026-05-06T15:30:00Z", "Asia/Tokyo"),
    ("time of day of the zone, by month", "R6/T02:30:00/P1M", "2026-01-31T00:00:00Z", B),
    ("time of day without seconds", "R3/T02:30/P1D", "2026-01-31T00:00:00Z", B, "R3/T02:30:00/P1D"),
    ("the end of the day", "R3/T24:00:00/P1D", "2026-01-31T00:00:00Z", B, "R3/T00:00:00/P1D"),

    ("without seconds", "R2/2026-01-01T02:00Z/P1D", C, "UTC", "R2/2026-01-01T02:00:00Z/P1D"),
    ("the end of a year", "R2/2026-12-31T24:00:00Z/P1M", C, "UTC", "R2/2027-01-01T00:00:00Z/P1M"),
    ("start and end", "R3/2026-01-31T02:00Z/2026-02-01T02:30Z", C, "UTC", "R3/2026-01-31T02:00:00Z/PT24H30M"),
    ("start and end are exact", "R4/2026-03-28T02:30:00+01:00/2026-03-29T03:30:00+02:00", C, B, "R4/2026-03-28T02:30:00+01:00/PT24H"),
    ("start and end, long before the job", "R/2000-01-01T00:00:00Z/2000-01-01T00:00:07Z", C, "UTC", "R/2000-01-01T00:00:00Z/PT7S"),
    ("duration and end", "R3/PT6H/2026-01-02T00:00:00Z", C, "UTC"),
    ("duration and end, by month", "R5/P1M/2026-07-31T12:00:00Z", C, "UTC"),
    ("duration and end, over a gap", "R4/P1D/2026-03-31T02:30:00+02:00", C, B),
    ("duration and end, over an overlap", "R4/P1DT1H/2026-10-27T02:30:00+01:00", C, B),
    ("duration and end, without a number", "R/P1W/2026-02-01T00:00:00Z", C, "UTC"),
    ("duration and end, all before the job", "R3/P1D/2025-12-20T00:00:00Z", C, "UTC"),
    ("duration and end, by quarter", "R4/P3M/2027-02-28T12:00:00Z", C, N),
    ("time of day on a leap day", "R2/T12:00:00Z/P1Y", "2028-02-28T13:00:00Z", "UTC"),

    ("started before the job", "R5/2025-12-30T06:00:00Z/P1D", C, "UTC"),
    ("all before the job", "R5/2025-12-20T06:00:00Z/P1D", C, "UTC"),
    ("the last at the creation", "R3/2025-12-30T00:00:00Z/P1D", C, "UTC"),
    ("long before the job", "R/2000-01-01T00:00:00Z/PT1S", C, "UTC"),
    ("end of month, long before the job", "R/1999-12-31T05:00:00Z/P1M", C, N),
]


def case(name, spec, created, zone, text=None):
    endless = spec.startswith("R/") and not spec.startswith("R/P")
    found = list(islice(instants(spec, created, zone), 6 if endless else 100))
    c = {"name": name, "timeSpec": spec, "created": created, "zone": zone, "text": text or spec,
         "first": [show(t) for t in found[:6]]}
    if not endless:
        c["count"] = len(found)
    return c


if __name__ == "__main__":
    print('{\n "cases": [')
    print(",\n".join("  " + json.dumps(case(*c)) for c in CASES))
    print(" ]\n}")
