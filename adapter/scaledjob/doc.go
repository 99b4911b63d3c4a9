// Package scaledjob turns KEDA's ScaledJob into an adapter.Target, and the polls of
// a ScaledJob into conditions and events.
//
//	manifest.Read      a manifest      -> ScaledJob
//	Configure          a ScaledJob     -> Config
//	Config.Target      everything that package adapter needs
//	PollResult         a poll          -> conditions and events
//
// # Jobs
//
// A Job has the labels and annotations of the ScaledJob, except the following:
// reserved keys (scaledjob.keda.sh/ and the keys of package adapter), the pause
// annotation, the annotation of kubectl apply, and the labels that the annotation
// [manifest.AnnotationExcludedLabels] excludes. The labels and annotations of the pod template
// stay on the pods. A Job also has KEDA's label [manifest.LabelName] and annotation
// [manifest.AnnotationGeneration], so that KEDA counts it too.
//
// A tracker with the selector [Selector] counts the Jobs that KEDA created for the
// ScaledJob, and the Jobs that package adapter created. In both cases the controller
// reference decides, and not the label.
package scaledjob
