// Package scaledjob is the empty root of a library for Kubernetes Jobs. The library decides
// how many Jobs to create for queued work, which finished and outdated Jobs to delete, and
// which cluster each Job runs on. Start with one of these packages:
//
//	scaling            a poll of a queue: how many Jobs to create, and why
//	adapter            the same on Kubernetes: count, create and delete Jobs of any owner
//	adapter/scaledjob  KEDA's ScaledJob: read a manifest, set conditions and events
//
// The others decide a single thing each:
//
//	strategy               how many Jobs a load asks for; strategytest checks any strategy,
//	                       and scalingtest a whole decision
//	history                which finished Jobs to delete
//	rollout                which outdated Jobs to delete
//	slots                  names to create, read and delete, so that nothing is made twice
//	horizontal             replicas, as the HorizontalPodAutoscaler and KEDA compute them
//	keda                   the decisions of each KEDA release, faults included
//	placement/jobs         the cluster of each Job
//	placement/replicas     the replicas of each cluster
//	schedule               which runs of a job are due; interval reads ISO 8601 intervals
//	simulation             a policy against a workload in virtual time
//	field                  invalid configuration values
//
// These packages are pure: they take the time as an argument, do no I/O and import the
// standard library only, except strategytest and scalingtest, which also import rapid. The packages
// adapter/member and adapter/scheduledjob apply placement and schedule on Kubernetes.
//
// The smallest controller is that of adapter.List; examples has whole programs. The command is a module of
// its own:
//
//	go install ./cmd/scaledjob    # in a clone
package scaledjob

//go:generate go run ./internal/tools/generate
//go:generate go generate -C cmd/scaledjob ./...
//go:generate go generate -C controllers ./...
