// Package schedule says which runs of a job are due, which of them start, wait, or
// are missed, and what has become of those that ran: runs on an ISO 8601 repeating
// schedule, on demand, and after runs of other jobs.
//
// # Intervals
//
// A time spec is R[n]/[start]/duration. Instant k is at start + k durations, k from
// 0; n is how many there are, and without it there is no end. The start is a date
// and time with an offset, or a time of day (the first one that is not before the
// job's creation), or nothing, which is the creation. Instants before the creation
// were never due.
//
// Durations are counted from the start and never from the instant before, so that
// 31 January and P1M is 28 February and then 31 March. Years and months are added
// first, then weeks and days, then hours to seconds. Up to days the wall clock in the
// zone of the [Spec] is kept; hours, minutes and seconds are exact, and so is a
// fraction of a week or a day. A wall clock time that does not exist is as much later
// as the clocks were put forward; one that exists twice is its first, but for a start
// whose offset says the second. A day that a zone skipped has no instant of its own.
// Instants end with the year 9999.
//
// testdata/intervals.json, which a program in another language has written, has cases
// of all of these (TestIntervals), testdata/interval-errors.json has what [Parse] says
// to bad texts (TestIntervalErrors). Whatever parses prints back to an equal interval
// (FuzzParse). [Instants] agree with finding them one by one (FuzzOneByOne).
//
// Finding the next instant, or counting those between two times, takes a bounded
// number of steps and no memory, however many have been missed: for the 820,540,800
// seconds from 2000 to 2026 the same as for ten (BenchmarkCount, TestAllocations).
//
// # Runs
//
// [Decide] takes a [Spec], a [State], what is [Observed] and the time, and returns the
// state after, the runs to start, the Jobs to delete, events, and the next instant at
// which it should be asked again if nothing happens before. Its documentation has the
// rules. What they come to:
//
//   - Deciding again at one instant changes nothing (FuzzIdempotent).
//   - No run starts twice: not when the program dies between any two steps, not from
//     an older state, not when the clock goes back, nor under another time spec
//     (FuzzNoRunTwice).
//   - Without AllowConcurrentRun at most one run is active (FuzzOneAtATime).
//   - With SkipOutdated at most one scheduled run waits, and never more than
//     MaxWaiting do (FuzzWaiting).
//   - While the last completed run failed, BlockOnFailure starts no scheduled run
//     (FuzzBlocked); a run on demand starts all the same, and its success ends the block,
//     whatever waits (FuzzBlockEnds).
//   - Of the scheduled runs, due = started + waiting + missed + dropped
//     (FuzzConservation), and each instant is due once (FuzzAllDue).
//   - The same runs start at the same time as when one looks every second
//     (FuzzSecondBySecond).
//
// An instant that has been due is never due again. So a clock that was wrongly set
// ahead and is put right leaves the schedule silent until it has caught up.
//
// # State
//
// A [State] is plain data, with the names of a job's status in JSON. A run takes at
// most 420 bytes there, with a UID as its request's id. With the default limits, and
// with no more than one run active and one waiting, the state is below 120 KiB, and
// below 310 KiB where a thousand scheduled runs wait (TestStateSize). It grows with
// what nothing limits: runs that overlap, requests that wait or are listed, and Jobs
// that cannot be deleted.
package schedule
