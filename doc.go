// Package scaledjob is the root of a library that decides how many Kubernetes
// Jobs to create for queued work, which finished Jobs to delete, what happens to
// Jobs of an older spec, and which cluster a Job goes to. It holds nothing itself:
//
//	field                  an invalid configuration value
//	strategy               how many Jobs a load asks for
//	strategy/strategytest  properties of any strategy
//	scaling                from metrics to a decision, with its trace
//	history                which finished Jobs to delete
//	rollout                which Jobs of an older spec to delete
//	keda                   what each release of KEDA computes, quirks included
//	placement              which cluster each replica and Job goes to
//	schedule               which runs of a job are due
//	schedule/interval      ISO 8601 repeating intervals
//	simulation             a policy played against a workload
//	adapter                the same on Kubernetes, through client-go
//
// All but adapter are pure and import the standard library and each other alone,
// strategytest apart, which needs rapid; TestImports checks that. examples/quickstart shows
// them at work.
package scaledjob
