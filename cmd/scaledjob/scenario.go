package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/internal/triggers"
)

const scenarioHelp = `# A scenario. Times are text such as 30s or 1h30m; what is left out has the default. What follows #| is another choice.
name: nightly import
seed: 1                         # makes the random numbers
duration: 2h                    # how long items arrive; until the last of the traces if left out
drain: 1h                       # how long the run may go on after that
policy:
  release: spec                 #| "2.21", with quotes; the written specification is for several clusters too
  spec:                         # of a ScaledJob: the polling interval, replica counts, history limits and scaling strategy
    pollingInterval: 30
    maxReplicaCount: 50
    scalingStrategy: {strategy: accurate}
  stuckAfter: 1m                # spec: when a pending Job is stuck
  subtractPending: false        # spec: accurate compares T + R - P with M
  minAsFloor: false             # spec: minReplicaCount as a floor
  #| placement:                 # spec: of several clusters
  #|   members: [{name: east, weight: 2, priority: 100, maxJobs: 15}]
  #|   scheduling: priorityFailover
  #|   workload: {class: team-a, size: 4}
  #|   failover: {gracePeriod: 1m, hardTaint: 5m, softTaint: 3m, duplication: preferFailover}
queues:                         # one for each trigger
  - name: orders
    arrivals: poisson:0.2/s     #| constant:2/s, bursts:100/10m, daily:1/s,5/s,2/s
    #| trace: [{at: 0s, items: 3}, {at: 1m30s, items: 10, service: 5s}]
    service: exp:30s            #| 30s, lognormal:30s,1m, recorded:12s,30s
    target: 1                   # items that one Job serves
    activationThreshold: 0
    metric: waiting             #| all: with the items being worked on
    staleness: 15s              # how old the metric is when a poll reads it
    outages: [{from: 30m, until: 40m}]  # when the metric cannot be read
    visibilityTimeout: 5m       # when an item that was taken and not acknowledged can be taken again
    maxDeliveries: 3            # how often an item is handed out before it is given up
jobs:
  startup: 20s                  # until a pod asks for an item
  acknowledge: end              #| start: an item is lost if the Job fails
  itemsPerJob: 1
  drainQueue: false             # instead: go on until the queue is empty
  wait: 10s                     # for an item, before a Job ends that finds none
  failureProbability: 0.01      # each time an item is worked on
  backoffLimit: 6
  backoff: 10s
  termination: 0s
clusters:
  - name: east
    capacity: 20                # pods; further Jobs stay pending
    outages: [{from: 10m, until: 20m, kind: noStart}]  #| unreachable, rejects, down
    listAge: 5s                 # how old the list of Jobs is when a poll reads it
`

// readScenario reads a scenario. Each problem has its line.
func readScenario(s source) (*scenario, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(s.data, &document); err != nil {
		return nil, s.notYAML(0, fmt.Errorf("not YAML: %w", err))
	}
	if len(document.Content) == 0 {
		return nil, fmt.Errorf("%s: nothing in it: see scaledjob simulate --help-scenario", s.name)
	}
	root := document.Content[0]
	data, err := k8syaml.YAMLToJSONStrict(s.data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	read := &scenario{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(read); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", s.name, lineOfProblem(root, err), withNearest(err, reflect.TypeOf(read)))
	}
	if err := read.check(); err != nil {
		return nil, located(s.name, root, err)
	}
	return read, nil
}

// located puts file and line in front of each problem.
func located(file string, root *yaml.Node, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, located(file, root, e))
		}
		return errors.Join(all...)
	}
	var problem *field.Error
	if !errors.As(err, &problem) {
		return fmt.Errorf("%s: %w", file, err)
	}
	return fmt.Errorf("%s:%d: %w", file, lineOf(root, problem.Path), err)
}

var quotedText = regexp.MustCompile(`"([^"]+)"`)

var unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)

// lineOfProblem returns the line of a decoder's error: that with the path of a field, a
// unique name, or a text that cannot be parsed.
func lineOfProblem(root *yaml.Node, err error) int {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return lineOf(root, strings.TrimPrefix(kind.Field, "Scenario."))
	}
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		return lineOfNode(root, func(n *yaml.Node) bool { return n.Value == m[1] })
	}
	quoted := quotedText.FindStringSubmatch(err.Error())
	if quoted == nil {
		return root.Line
	}
	return lineOfNode(root, func(n *yaml.Node) bool { return n.Tag == "!!str" && strings.Contains(n.Value, quoted[1]) })
}

// withNearest adds the name that was probably meant to an error about an unknown field.
func withNearest(err error, of reflect.Type) error {
	m := unknownField.FindStringSubmatch(err.Error())
	if m == nil {
		return plain(err)
	}
	names := map[string]bool{}
	fieldNames(of, names)
	if near := triggers.Nearest(m[1], slices.Sorted(maps.Keys(names))); near != "" {
		return fmt.Errorf("unknown field %q; use %s", m[1], near)
	}
	return fmt.Errorf("unknown field %q", m[1])
}

// fieldNames collects the JSON names of the fields of a type and of the types in it.
func fieldNames(of reflect.Type, names map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		fieldNames(of.Elem(), names)
	case reflect.Struct:
		for f := range of.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				names[name] = true
			}
			fieldNames(f.Type, names)
		}
	}
}

func lineOfNode(n *yaml.Node, is func(*yaml.Node) bool) int {
	if is(n) {
		return n.Line
	}
	for _, c := range n.Content {
		if line := lineOfNode(c, is); line > 0 {
			return line
		}
	}
	return 0
}

// lineOf is the line of the field at a path such as queues[0].arrivals, or of as much
// of the path as there is.
func lineOf(n *yaml.Node, path string) int {
	line := n.Line
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := child(n, step)
		if next == nil {
			return line
		}
		n, line = next, next.Line
	}
	return line
}

func child(n *yaml.Node, step string) *yaml.Node {
	if i, err := strconv.Atoi(step); err == nil && n.Kind == yaml.SequenceNode && i < len(n.Content) {
		return n.Content[i]
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == step {
			return n.Content[i+1]
		}
	}
	return nil
}
