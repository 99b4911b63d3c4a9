// Package oracle answers questions in JSON with the decisions of the ScaledJob
// specification and of each release of KEDA. Implementations in any language can be
// compared with them. A question is a line, and so is its answer:
//
//	{"id":1,"release":"2.21","scalers":[{"queueLength":10,"target":2,"isActive":true}],"maxReplicaCount":3,"running":0,"pending":0}
//	{"id":1,"isActive":true,"queueLength":10,"target":3,"create":3,"effectiveMaxScale":3,"scaleTo":10,"trace":"…"}
//
// [Help] documents the fields. A line of each kind with its answer is in testdata.
package oracle

// Help documents the format.
const Help = `Each line of the input is a JSON object. Its answer is one line, in the same order. Empty lines are skipped.

In every line
  id       any value; the answer has the same
  release  "spec" (default: the ScaledJob specification), or a release of KEDA such as "2.21" (its last patch) or "2.14.1"
  kind     the question; default: a decision
  comment  any value; ignored
Any other name that is not below is an error; names are case-sensitive. null is the same as leaving a field out.
A number that is not finite is "NaN", "+Inf" or "-Inf". A whole number may be written as 10, 10.0 or 1e1.

Decisions (kind "create", or none)
  scalers           [{"queueLength":10,"target":2,"isActive":true}, …]; isActive left out: queueLength > activationTarget, or 0;
                    maxValue in place of target: the Jobs that the scaler asks for; in spec, 0 for a queue that is not empty is unreadable;
                    failed or error: it could not be read
                    KEDA only: metrics in place of queueLength and target: [{"name":"a","value":10,"averageValue":2}, …];
                    isActive left out: those of them with "isActive":true are active
  multipleScalersCalculation
                    max (default), min, avg or sum
  minReplicaCount   null and 0 differ for KEDA
  maxReplicaCount   null is 100
  strategy          default, accurate, eager, custom, and pendingAware in spec
  customScalingQueueLengthDeduction   a number
  customScalingRunningJobPercentage   a string such as "0.5"
  running           unfinished Jobs, including pending and suspended ones, excluding terminating and in-flight ones
  pending           the part of running without a Running or Succeeded pod, including suspended Jobs
  jobsUnknown       true: the Jobs could not be listed
  paused            true or false
  Spec only (a release of KEDA ignores these fields):
  terminating       unfinished Jobs that are being deleted; independent of running
  suspended         the part of pending that is suspended
  inFlight          Jobs created but not yet listed; added to both running and pending
  stuck             the part of pending that has waited for the grace period; left out, or with "agesUnknown":true, every pending
                    Job that is neither suspended nor in flight; stuck together with "agesUnknown":true is an error
  min               "additive" (default): minReplicaCount is added to the queue's Jobs; "floor": it is a floor under them
  hold              true: keep to the minimum as soon as one scaler could not be read
  accurate          "subtractPending": accurate compares T + R - P with M
-> isActive, queueLength, target (Jobs, within the bounds), create, total (running and create), trace
   spec: rule, which determined create; KEDA: effectiveMaxScale and scaleTo too; "wrapsAround":true if a number left the range of int64

Jobs (kinds "history", "pending" and "rollout")
  jobs              [{"name":"a","creationTimestamp":…,"completionTime":…,"deletionTimestamp":…,"suspend":false,"annotations":{},
                    "conditions":[{"type":"Failed","status":"True","lastTransitionTime":…}],
                    "pods":[{"phase":"Pending","conditions":[{"type":"Ready","status":"True"}]}]}, …], as the API server lists them;
                    a condition without a status is true; "Complete" is short for {"type":"Complete"}; "finished":true is the same;
                    generationAnnotation is the annotation scaledjob.keda.sh/generation
  history           successfulJobsHistoryLimit, failedJobsHistoryLimit (default 100)                          -> deleted: names in order
  pending           pendingPodConditions; pods and jobFinished at the top level are those of a single Job        -> running, pending
  rollout           rolloutStrategy, "rollout.strategy", "rollout.propagationPolicy", generation           -> deleted, propagationPolicy
                    strategy is short for the one of the two that the release reads

Parts (KEDA; those marked * in spec too)
  aggregate *           scalers, multipleScalersCalculation, minReplicaCount, maxReplicaCount              -> isActive, queueLength, maxScale
  strategy *            maxScale, the counts of Jobs as above, maxReplicaCount (for the queue), scaleTo    -> effectiveMaxScale, scaleTo (KEDA)
  strategy-select *     strategy, customScalingRunningJobPercentage                                        -> selected
  replicas *            minReplicaCount, maxReplicaCount                                                   -> min, queueMax
  paused *              annotation: the value of autoscaling.keda.sh/paused                                -> paused
  target-average        averageValues                                                                      -> target
  rollout-precedence    rolloutStrategy, rollout {"strategy":…}                                            -> effective
  generate              name, namespace, generation, labels, annotations, restartPolicy, build ("main")    -> generateName, labels, annotations,
                                                                                                              restartPolicy, podLabels, jobLabel, countedAsRunning
Other answers
  "panic":true               KEDA's operator panics; "fault" is the cause
  "unsupported":"since 2.15" the release lacks a feature that the line uses; a default value does not use a feature
  "error":"…"                the line cannot be read: each problem with its field, value and fix. Other lines are answered, and the
                             exit status is 1. "line" is the number of the line, from 1
`
