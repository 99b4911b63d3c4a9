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
        restartPolicy: Never
        containers:
          - {name: main, image: example.com/orders:1}
  minReplicaCount: 10
  maxReplicaCount: 1
  triggers:
    - type: prometheus
      metadata: {serverAddress: "http://metrics.io", query: sum(orders), threshold: 5}
`

// A check for all releases tells which of them do what.
func ExampleCheck() {
	report := lint.Check([]lint.File{{Name: "job.yaml", Data: []byte(example)}})
	for _, f := range report.Findings {
		fmt.Printf("line %d, %s: %s is %s. %s.\n", f.Line, f.Severity, f.Path, f.Found, f.Fix)
		for _, e := range f.Effects {
			fmt.Printf("\t%s: %s\n", e.Releases, e.Text)
		}
	}
	// Output:
	// line 12, error: spec.minReplicaCount is 10. Write less than maxReplicaCount; the queue gets the difference.
	// 	2.8 to 2.10: KEDA lowers the minimum to the maximum of 1, so the queue gets no Job
	// 	since 2.11: KEDA lowers the minimum to the maximum of 1 and gives the queue the maximum once more, so up to 2 Jobs run
	// line 16, error: spec.triggers[0].metadata.threshold is 5, which YAML reads as a number. Write "5", with the quotes.
	// 	: the API server rejects it
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
	// job.yaml:12:20: error: spec.minReplicaCount is 10: KEDA lowers the minimum to the maximum of 1, so the queue gets no Job. Write less than maxReplicaCount; the queue gets the difference. [min-above-max]
	//   12 |   minReplicaCount: 10
	//      |                    ^~
	// job.yaml:16:85: error: spec.triggers[0].metadata.threshold is 5, which YAML reads as a number: the API server rejects it. Write "5", with the quotes. [not-a-string]
	//   16 |       metadata: {serverAddress: "http://metrics.io", query: sum(orders), threshold: 5}
	//      |                                                                                     ^~
	// 2 errors in 1 ScaledJob
}
