package lint_test

import (
	"fmt"
	"os"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

const example = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata:
  name: orders
spec:
  jobTargetRef:
    template:
      spec:
        containers:
          - {name: main, image: example.com/orders:1}
  minReplicaCount: 10
  maxReplicaCount: 1
  triggers:
    - type: redis
      metadata: {listName: orders, listLength: 5}
`

// A check for all releases tells which of them do what.
func ExampleCheck() {
	report := lint.Check([]lint.File{{Name: "job.yaml", Data: []byte(example)}})
	for _, f := range report.Findings {
		fmt.Printf("line %d, %s: %s, found %s, want %s\n", f.Line, f.Severity, f.Path, f.Found, f.Want)
		for _, e := range f.Effects {
			fmt.Printf("\t%s: %s\n", e.Releases, e.Text)
		}
	}
	// Output:
	// line 11, error: spec.minReplicaCount, found 10, want maxReplicaCount or less: 1
	// 	2.8 to 2.10: the minimum is taken as 1 and uses up the maximum: the queue gets no Job
	// 	since 2.11: the minimum is taken as 1, and the queue gets the maximum once more: up to 2 Jobs
	// line 15, error: spec.triggers[0].metadata.listLength, found 5, which YAML reads as a number, want "5", with the quotes
	// 	: the API server refuses it
}

// For one release there is nothing to tell apart.
func ExampleReport_WriteText() {
	release, err := keda.Release("2.9")
	if err != nil {
		panic(err)
	}
	report := lint.Check([]lint.File{{Name: "job.yaml", Data: []byte(example)}}, release)
	_ = report.WriteText(os.Stdout)
	// Output:
	// job.yaml:11:20: error: spec.minReplicaCount: found 10: the minimum is taken as 1 and uses up the maximum: the queue gets no Job: want maxReplicaCount or less: 1 [min-above-max]
	// job.yaml:15:48: error: spec.triggers[0].metadata.listLength: found 5, which YAML reads as a number: the API server refuses it: want "5", with the quotes [not-a-string]
	// 2 errors in 1 ScaledJob
}
