// Package lint checks KEDA ScaledJob manifests. It finds values that KEDA rejects or silently replaces, and values with
// which KEDA's operator panics, creates too many Jobs or deletes running ones.
//
//	r := lint.Check([]lint.File{{Name: "orders.yaml", Data: text}})
//	r.WriteText(os.Stdout)
//
// An effect names the releases that behave as package keda describes, which is compared with KEDA's own code. Two facts come
// from reading KEDA's source: the parameters that its scalers read (package triggers), and the metrics that include
// in-progress items. Documented defaults, and problems that no manifest can avoid, are not reported.
//
// The checks stand in the file of their subject: strategy.go, triggers.go, authentication.go (TriggerAuthentications), address.go
// (hosts and URLs in triggers), podspec.go and fields.go (what the API server refuses in a Job), template.go (what it accepts
// in one, with bad effects). The metadata of triggers is judged by package triggers.
//
// Secrets, ConfigMaps, variables and TriggerAuthentications are looked up in all documents of all files: the nearest
// object of a name counts. A missing one is a [Note] if the files hold none of its kind.
//
// A finding points to the invalid value, or to the key if the key is at fault or a map begins below it; for a missing
// field to the nearest key above, and in an alias to the alias. Columns count characters from 1. Values are read as
// kubectl does, so that yes and on are booleans. A comment silences rules on its line, or on the next line that is not a
// comment; the text after the rules is the reason:
//
//	autoscaling.keda.sh/paused: "false" # scaledjob:ignore paused-false we have 2.18
package lint
