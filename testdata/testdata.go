// Package testdata holds the test vectors, for the tests of all modules. README.md describes
// the files.
package testdata

import (
	"bytes"
	"embed"
	"encoding/json"
)

// Files holds the JSON files, the specification, and the directories manifests, python and recordings.
//
//go:embed *.json SPECIFICATION.md manifests python/*.py recordings
var Files embed.FS

// Multicluster returns one kind of the vectors of multicluster.json. A field that T lacks is an
// error, so that nothing in a vector is ignored.
func Multicluster[T any](kind string) (vectors T, err error) {
	data, err := Files.ReadFile("multicluster.json")
	if err != nil {
		return vectors, err
	}
	var kinds map[string]json.RawMessage
	if err := json.Unmarshal(data, &kinds); err != nil {
		return vectors, err
	}
	d := json.NewDecoder(bytes.NewReader(kinds[kind]))
	d.DisallowUnknownFields()
	return vectors, d.Decode(&vectors)
}

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
