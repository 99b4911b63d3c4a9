// Package lint checks KEDA ScaledJob manifests. It finds values that KEDA rejects or
// silently replaces, and values with which KEDA's operator panics, creates too many
// Jobs or deletes running ones.
//
// [Check] takes the text of files and returns a [Report]. Each [Finding] has the rule,
// the severity, the position, the field and its value, the consequences in each release,
// and a fix. [Rules] lists the rules, and [Explain] describes a rule with a bad and a
// good example; RULES.md describes all of them. [Report.Filter] drops findings.
//
// # Releases
//
// An effect names the releases that behave as described in package keda, and package
// keda is compared with KEDA's own code. Lint finds every value that a release rejects or
// lacks, and every value that package adapter/scaledjob rejects. Two facts come from
// reading KEDA's source: the fields that its scalers reject, and the metrics that include
// in-progress items.
//
// Lint does not report problems that no manifest can avoid, such as the order in which
// KEDA deletes failed Jobs. It does not report documented defaults, such as the deletion
// of running Jobs after a change of the spec.
//
// # Metadata of triggers
//
// The keys, types, allowed values and places of parameters were read from the source of
// KEDA 2.8 to 2.21. Before 2.18 KEDA declares little, so that only unknown keys are found.
// A key that KEDA ignores is a warning. A value that makes KEDA reject the trigger is an
// error.
//
// Lint knows a value from a variable, a Secret or a ConfigMap if a document of the files
// holds it. The scheme of RabbitMQ's URL is the protocol. If no document holds the URL, a
// note reports that the protocol is unknown.
//
// Some values KEDA accepts and does not use as written, such as a key that needs another key.
// They are warnings.
//
// # The Job
//
// The template of the Job is checked as the API server checks it: required fields, allowed
// values, names, numbers and fields that exclude each other. Rare fields are left out, such as
// volumes of storage vendors. The API server alone checks quotas and policies.
//
// # Other objects
//
// Secrets, ConfigMaps and TriggerAuthentications of the files are read like the ScaledJob:
// unknown fields, wrong types and missing fields are errors. A parameter that no trigger takes
// from its TriggerAuthentication is a warning.
//
// # References
//
// Secrets, ConfigMaps, environment variables and TriggerAuthentications are looked up in
// all documents of all files. A missing object is a [Note] if the files hold no object of
// its kind, or if an object that is not given may provide it.
//
// # Positions
//
// A finding points to the invalid value. It points to the key if the key is invalid, or if
// a map or list begins below it. For a missing field it points to the nearest key above.
// Lines and columns count from 1, and columns count characters. Problems in aliases and
// merge keys are reported at their source. Values are read as kubectl does, so that yes
// and on are booleans.
//
// # Ignoring
//
// A comment silences rules on its line. If it stands alone, it silences them on the next
// line that is not a comment. The text after the rules is the reason:
//
//	autoscaling.keda.sh/paused: "false" # scaledjob:ignore paused-false we have 2.18
//	# scaledjob:ignore min-without-max,custom-exceeds-max
//	minReplicaCount: 2
//
// # Tests
//
//	effects name the releases whose model behaves that way      TestReleases
//	every value that a release rejects or lacks is found        TestWhatTheModelRefuses
//	every value that adapter/scaledjob rejects is found         TestWhatAdapterRefuses
//	a Job that Kubernetes refuses has a finding                 TestTemplates
//	each rule has a bad example with a finding and a good one   TestExamples
//	a field that a named release does not have is found         TestFieldsOfReleases
package lint
