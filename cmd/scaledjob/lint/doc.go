// Package lint checks KEDA ScaledJob manifests for mistakes: values that KEDA
// rejects or silently takes as others, and values with which its operator panics,
// creates too many Jobs or deletes running ones.
//
// [Check] takes the text of one or several files and returns a [Report] of
// findings. A [Finding] has the rule, a severity, the line and column, the field
// and its content, the consequences in each release, and a fix. [Rules] lists the
// rules, [Explain] describes one with a bad and a good example, and RULES.md
// describes all of them. [Report.Filter] drops rules and severities.
//
// # Metadata of triggers
//
// The keys, types, allowed values and places of each scaler's parameters are those
// that KEDA 2.8 to 2.21 declare. They are read out of KEDA's source code. Before
// 2.18 KEDA declares little, and only unknown keys are found. A key that KEDA ignores
// is a warning, and a value that makes KEDA reject the trigger is an error.
//
// A value from a variable, a Secret or a ConfigMap is known if a document of the
// files has it. RabbitMQ's protocol is the scheme of such a URL. If nothing shows the
// protocol, a note says so.
//
// # What a finding rests on
//
// What a release does is asked of package keda, which is proven against KEDA's
// own code: an effect names exactly the releases whose model behaves that way
// (TestReleases), whatever a release refuses or lacks is found
// (TestWhatTheModelRefuses), and so is whatever package adapter refuses
// (TestWhatAdapterRefuses). The fields and types of a ScaledJob are those of
// [scaledjob.ScaledJob]. What KEDA's scalers and controller do besides was read in
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
