// Package adapter observes, creates and deletes the Jobs of any owner with client-go.
// Packages scaling, history and rollout decide.
//
//	jobs, err := adapter.List(ctx, client, target, adapter.Options{})
//	plan := jobs.Plan(target.Owner.UID, metrics, time.Now()) // plan.Decision says why
//	result, err := jobs.Apply(ctx, client, plan)
//
// A [Target] is everything about one owner: identity, prototype of its Jobs, policies. Package
// adapter/scaledjob makes it of KEDA's ScaledJob. There are three sizes; take the first that is enough:
//
//	List, Plan, Apply  in any Reconcile, as above: a poll lists the owner's Jobs, and nothing runs
//	                   in the background (the example of [List] is the whole program)
//	Tracker            many owners: it counts Jobs from watch events, so that a poll requests
//	                   nothing to observe them. Call [Tracker.Track] for each owner and after each
//	                   edit, and [Tracker.Plan] and [Tracker.Apply] for each poll
//	adapter/loop       many owners that must not wait for each other, with a lease and terms: polls,
//	                   fair turns of requests, and the clients; adapter/member on several clusters
//
// The decision of a plan also says how many workers are desired and how many may be drained
// (Surplus of package scaling).
//
// # Ownership
//
// A Job belongs to the owner with the UID of its controller reference. Apply sets that
// reference in every Job, also if the prototype has another. Labels only select the Jobs to
// watch: a Job with the label and another controller is neither counted nor deleted.
//
// A Target is probably wrong if its owner has no Jobs, but its name (of the same API group
// and kind) has unfinished Jobs with another UID in its namespace. Its Jobs are then not known.
//
// # Pending Jobs
//
// An unfinished Job is pending until its status counts a pod that is ready or has
// succeeded. With Options.Pods the phases of the pods decide as well: until one is
// Running or has Succeeded, as in KEDA. With Target.PendingPodConditions a pod must have
// all of the conditions. A pending Job is stuck when it has been pending without
// interruption for Target.StuckAfter. If it ran before, the time starts when the tracker
// first observes it without a Running pod.
//
// # Creating
//
// Package slots decides which Jobs are created, read and deleted; its page has the rules, the
// promise and the limits. A Job's name depends on its owner's name and UID and on a number
// from 1. L is twice Options.Timeout, which
// must be the timeout of the client that Apply gets.
//
// [Plan].Holds names each reason why fewer Jobs are created than the decision says.
//
// # Limits of the promise
//
// Beside those of package slots: Jobs are created without ttlSecondsAfterFinished, and the
// tracker deletes them at that age itself. Jobs of others that have the field are counted in
// Plan.Expiring: their deletion is one by others. After an edit, the maximum that counts is the largest under which the create of
// an unfinished Job was decided. The cache is behind while the tracker lists anew, until it
// has the whole list.
//
// Jobs and pods in another namespace than the owner's change no decision, whatever UID they
// name.
package adapter
