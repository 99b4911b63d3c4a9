// Package keda says what each release of KEDA does with a ScaledJob: how many
// Jobs it creates in a poll, which finished ones it deletes, which ones of an
// older spec, and what it writes on a new Job. It is exact where KEDA does
// something odd too; what should be done instead is package scaling's.
//
//	release, err := keda.Release("2.18")
//	decision := release.Decide(&scaledJob, keda.State{Scalers: scalers, Running: 3, Pending: 1})
//
// [Release] takes "2.18", the last patch of that minor, or "2.18.1"; the releases
// known are [Releases], from 2.0.0 on. It gives a [Profile], which has one [Rule]
// for each [Part] in which releases differ:
//
//	aggregation  2.0  2.5   2.8     2.13         how several scalers become one demand
//	cap          2.0  2.8   2.12                 how a quotient is held to the maximum
//	replicas     2.0  2.8   2.11                 what the minimum and the maximum mean
//	accurate     2.0  2.1   2.19                 the strategy accurate
//	eager        2.0  2.15                       the strategy eager
//	custom       2.0  2.20.2                     the strategy custom
//	creation     2.0  2.13  2.14.1               how a number of Jobs is created
//	pending      2.0  2.1   2.4     2.18         which Jobs are pending
//	history      2.0                             which finished Jobs are deleted
//	rollout      2.0  2.4   2.5     2.8  2.14.1  which Jobs of an older spec are deleted
//	pause        2.0  2.11  2.13                 what pauses a ScaledJob
//	labels       2.0  2.1   2.4     2.18         the labels of a Job
//	annotations  2.0  2.13  2.14.1               the annotations of a Job
//	admission    2.0  2.20  2.20.2               what the API server refuses
//
// [Part.Rules] has the sentence of each. [Changes] lists what is new between two
// releases, and [Profile.With] puts one rule into the other's place, which tells
// the rule that an answer depends on.
//
// Nothing here panics. Where KEDA does, or where a number of its wraps around,
// the result has a [Fault]. A manifest that uses what a release lacks gets from
// Decide what KEDA does with it, which is to ignore it; [Profile.Validate] says
// since when it is known, and what the API server refuses.
//
// Numbers are those of amd64, on every machine: a float64 that no int64 can hold
// becomes the smallest int64. Queue lengths and targets are what float64 makes of
// the quantities that scalers report.
//
// TestVectors runs testdata/keda.json at each release that a case holds for. The
// module conformance compares the model with KEDA's own code, release by release;
// its README has the table. Neither has seen 2.0 to 2.3 compiled: what is here of
// them was read.
package keda
