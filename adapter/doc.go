// Package adapter connects the deciding packages to Kubernetes, through
// client-go and nothing else.
//
//	ReadScaledJobs   a manifest            -> ScaledJob
//	ScaledJob.Config a ScaledJob           -> policies, limits, triggers
//	List, Tracker    the API server        -> the Fleet of Jobs that a ScaledJob owns
//	Classify         a Job and its pods    -> what the rules need to know of it
//	NewPlan          all of the above      -> what to delete and what to create
//	Apply            a plan                -> the API server
//
// Where there are several clusters, package member does what the last two lines say
// for package placement: a [Tracker] for each cluster, of an [Ownership] by labels, and
// an [Order] in place of a plan.
//
// Only List, Apply and Tracker do IO; the rest is pure. A [Tracker] watches, so that a
// poll makes no request and costs the same for any number of Jobs; [List] is for
// programs that look now and then.
//
// # Ownership
//
// A Job belongs to the object that its controller reference names by UID. The
// label [LabelName] is an index to find candidates with, and no more: a Job with
// the label and another controller, or none, is neither counted nor touched.
//
// # Generated Jobs
//
// A Job's name is made of the owner's name, its UID, its generation and a
// sequence number that goes on from the highest seen, in this life of the process
// or one before. A create that timed out after it succeeded is therefore recognized
// when it is tried again: the name is taken, by the Job that was meant
// (TestUnanswered). Two writers choose the same names as well, whatever part of each
// other's Jobs they have seen, and the API server keeps one Job of each
// (TestTwoWriters).
//
// The ScaledJob's labels and annotations are copied to the Job. The Job template
// has labels and annotations of its own on its pods only, and those are left as
// they are, so that neither wins over the other. Not copied are keys that begin
// with scaledjob.keda.sh/, which are reserved, the pause annotation, kubectl's
// last-applied-configuration, and the labels that the annotation
// [AnnotationExcludedLabels] names, separated by commas.
package adapter
