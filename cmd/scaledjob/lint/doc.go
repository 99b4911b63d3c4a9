// Package lint finds what is wrong with KEDA ScaledJob manifests: what KEDA
// refuses, what it takes for something else without a word, and what ends its
// operator, creates Jobs without bound or deletes those that run.
//
// [Check] takes the text of one or several files and returns a [Report] of
// findings. A [Finding] has the rule, a severity, the line and column, the field,
// what was found, what happens under which releases, and what to write instead.
// [Rules] lists the rules.
//
// # What a finding rests on
//
// What a release does is asked of package keda, which is proven against KEDA's
// own code: an effect names exactly the releases whose model behaves that way
// (TestReleases), whatever a release refuses or lacks is found
// (TestWhatTheModelRefuses), and so is whatever package adapter refuses
// (TestWhatAdapterRefuses). The fields and types of a ScaledJob are those of
// [adapter.ScaledJob]. What KEDA's scalers and controller do besides was read in
// its source: which fields they refuse since when, and which metrics include the
// items being worked on.
//
// Not found is what no manifest can mend, such as the order in which KEDA prunes
// failed Jobs, and defaults that are as documented, such as that a changed spec
// deletes running Jobs.
//
// # Positions
//
// A finding stands at the value at fault: at the key where a map or list begins
// below it or a name is at fault, and where a field is missing, at the nearest
// key above. Lines and columns count from 1, and columns count characters. Aliases
// and merge keys are written out, and what is wrong within them is found where it
// is written. Values are read as kubectl does, so that yes and on are booleans.
//
// # Ignoring
//
// A comment on the line of a finding, or above it on lines with nothing but
// comments, silences rules there. What follows their names is the reason:
//
//	autoscaling.keda.sh/paused: "false" # scaledjob:ignore paused-false we have 2.18
//	# scaledjob:ignore min-without-max,custom-exceeds-max
//	minReplicaCount: 2
//
// # References
//
// Secrets, ConfigMaps, environment variables and TriggerAuthentications are looked
// up in all documents of all files. Where none of that kind is given, or one
// that might have it is not, a finding is a [Note]: the cluster may have it.
//
// testdata/rules has a manifest for each rule, testdata/samples those of KEDA's
// documentation, and testdata/findings.txt all that is said of them.
package lint
