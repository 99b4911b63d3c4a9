// Package manifest reads KEDA's manifests without a client of Kubernetes: ScaledJobs and
// their triggers, and objects of any other kind.
//
//	Read               a text          -> ScaledJobs, or every problem in them
//	ScaledJob.Config   a ScaledJob     -> the settings that the pure packages take
//	ScaledJob.Triggers a ScaledJob     -> its triggers
//	Trigger.Metric     a queue length  -> a metric of package scaling
//	ScaledJob.KEDA     a ScaledJob     -> the form that package keda reads
//	Trigger.Scaler     a queue length  -> a scaler of package keda
package manifest
