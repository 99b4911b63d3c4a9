// Package testdata holds the test vectors, for the tests of all modules. README.md describes
// the files.
package testdata

import "embed"

// Files holds the JSON files and the directory manifests.
//
//go:embed *.json manifests
var Files embed.FS

// ScaledJob is a ScaledJob with the required fields only.
const ScaledJob = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata:
  name: consumer
  namespace: shop
  uid: 7d2b2f3c-6a55-4a4f-8f50-111111111111
  generation: 2
spec:
  jobTargetRef:
    template:
      spec:
        containers:
          - name: main
            image: example.com/consumer:1
  triggers:
    - type: rabbitmq
      metadata:
        queueLength: "5"
`
