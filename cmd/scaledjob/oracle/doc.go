// Package oracle answers questions in JSON about what the core of scaledjob or a
// release of KEDA does, so that implementations in any language can be tested
// against both. A question is one line, and so is its answer:
//
//	{"id":1,"as":"keda@2.21","scalers":[{"queueLength":10,"target":2,"isActive":true}],"maxReplicaCount":3,"running":0,"pending":0}
//	{"id":1,"isActive":true,"queueLength":10,"target":3,"create":3,"effectiveMaxScale":3,"scaleTo":10,"trace":"…"}
//
// [Help] documents the fields. A line of each kind with its answer is in testdata.
package oracle

// Help documents the format.
const Help = `Each line of the input is a JSON object, and is answered by a line, in order. Empty lines are passed over.

In every line
  id       anything; the answer has the same
  as       "core", or a release of KEDA such as "keda@2.21" (its last patch) or "keda@2.14.1"
  kind     what is asked; without it, a decision
  comment  anything; it is ignored
Any other name that is not below is an error. null is the same as leaving a field out. A number that is not finite is "NaN", "+Inf" or "-Inf".
A whole number may be written as 10, 10.0 or 1e1.

Decisions (kind "create", or none)
  scalers           [{"queueLength":10,"target":2,"isActive":true}, …]; isActive left out: queueLength > activationTarget, or 0;
                    maxValue in place of target: the Jobs that the scaler asks for; in the core, 0 for a queue that is not empty is unreadable;
                    failed or error: it could not be read
                    KEDA only: metrics in place of queueLength and target: [{"name":"a","value":10,"averageValue":2}, …]
  calculation       max (default), min, avg or sum
  minReplicaCount   null and 0 differ for KEDA
  maxReplicaCount   null is 100
  strategy          default, accurate, eager, custom, and pendingAware in the core
  customScalingQueueLengthDeduction   a number
  customScalingRunningJobPercentage   a string such as "0.5"
  running, pending  unfinished Jobs, and those of them that are pending; jobsUnknown: they could not be listed
  paused            true or false
  Core only:
  terminating, suspended, stuck       those of the running that terminate; those of the pending that are suspended, or stuck
  inFlight          added to both running and pending
  min               "adds" (default): minReplicaCount is on top of the queue's Jobs; "floor": it is a floor under them
  accurate          "subtractPending": accurate compares T + R - P with M
-> isActive, queueLength, target (Jobs, within the bounds), create, total (running and create), trace
   KEDA: effectiveMaxScale and scaleTo too; "wrapsAround":true where a number left the range of int64

Jobs (kinds "history", "pending" and "rollout")
  jobs              [{"name":"a","creationTimestamp":…,"completionTime":…,"deletionTimestamp":…,"suspend":false,"annotations":{},
                    "conditions":[{"type":"Failed","status":"True","lastTransitionTime":…}],
                    "pods":[{"phase":"Pending","conditions":[{"type":"Ready","status":"True"}]}]}, …], as the API server lists them;
                    a condition without a status is true; "Complete" is short for {"type":"Complete"}; "finished":true is the same;
                    generationAnnotation is the annotation scaledjob.keda.sh/generation
  history           successfulJobsHistoryLimit, failedJobsHistoryLimit (default 100)                          -> deleted: names in order
  pending           pendingPodConditions; pods and jobFinished at the top are those of a single Job        -> running, pending
  rollout           rolloutStrategy, "rollout.strategy", "rollout.propagationPolicy", generation           -> deleted, propagationPolicy
                    strategy is short for whichever of the two the release reads

Parts (KEDA; those marked * in the core too)
  aggregate *           scalers, calculation, minReplicaCount, maxReplicaCount                             -> active, queueLength, maxScale
  strategy *            maxScale, running, pending, maxReplicaCount (what the queue may have), scaleTo     -> effectiveMaxScale, scaleTo (KEDA)
  strategy-select *     strategy, customScalingRunningJobPercentage                                        -> selected
  replicas *            minReplicaCount, maxReplicaCount                                                   -> min, queueMax
  paused *              annotation: the value of autoscaling.keda.sh/paused                                -> paused
  target-average        averageValues                                                                      -> target
  rollout-precedence    rolloutStrategy, rollout {"strategy":…}                                            -> effective
  generate              name, namespace, generation, labels, annotations, restartPolicy, build ("main")    -> generateName, labels, annotations,
                                                                                                              restartPolicy, podLabels, jobLabel, countedAsRunning
Instead of all that
  "panic":true               KEDA's operator dies there; "fault" says of what
  "unsupported":"since 2.15" the release lacks a feature that the line uses. A default value is no use of it
  "error":"…"                the line cannot be read; the rest goes on, and the exit status is 1. "line" is its number, from 1
`
