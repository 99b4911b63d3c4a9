package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
)

// A reading holds the parameters of a type in a release.
type reading struct {
	parameters []triggers.Parameter
	open       bool
}

// tagged is the first release in which most scalers have tags. Before it, KEDA's own
// declarations may be beside code that reads the same metadata.
const tagged = 10 // v2.18

// tableOf joins the readings of all releases.
func tableOf(readings []map[string]reading) map[string]triggers.Type {
	table := map[string]triggers.Type{}
	for i, types := range readings {
		for _, kind := range sorted(types) {
			r, t := types[kind], table[kind]
			t.Releases = extend(t.Releases, i)
			t.Open = t.Open || r.open
			for _, p := range r.parameters {
				t.Parameters = appendParameter(t.Parameters, p, i)
			}
			table[kind] = t
		}
	}
	return table
}

// minor names a release of versions: 2.8.
func minor(i int) string {
	return strings.TrimPrefix(versions[i][:strings.LastIndexByte(versions[i], '.')], "v")
}

// extend adds a release to a text such as "2.8 2.9".
func extend(releases string, i int) string {
	first, _, ok := strings.Cut(releases, " ")
	if !ok {
		first = minor(i)
	}
	return first + " " + minor(i)
}

// appendParameter adds a parameter of a release, or extends that of the previous release.
func appendParameter(table []triggers.Parameter, p triggers.Parameter, i int) []triggers.Parameter {
	for k := range table {
		before := table[k]
		if i > 0 && strings.HasSuffix(before.Releases, " "+minor(i-1)) {
			if before.Releases = ""; fmt.Sprintf("%+v", before) == fmt.Sprintf("%+v", p) {
				table[k].Releases = extend(table[k].Releases, i)
				return table
			}
		}
	}
	p.Releases = extend("", i)
	return append(table, p)
}

// byHand are the scalers without tags in a release that have them later. A person read
// their code: a parameter is as the later tag declares it.
var byHand = map[string][]string{
	"v2.18.3": {"azure-app-insights", "azure-blob", "azure-data-explorer", "graphite", "kafka", "openstack-swift"},
	"v2.19.0": {"azure-app-insights", "azure-data-explorer", "kafka"},
}

// notRequired are parameters that code without tags does not require, or whose code has not
// been read.
var notRequired = []string{"threshold", "containerName", "swiftURL", "authURL"}

// stan is the declaration of a type that no release with tags has.
var stan = []triggers.Parameter{
	{Names: []string{"natsServerMonitoringEndpoint"}, From: "mae", Type: "string", Required: true},
	{Names: []string{"queueGroup"}, From: "m", Type: "string", Required: true},
	{Names: []string{"durableName"}, From: "m", Type: "string", Required: true},
	{Names: []string{"subject"}, From: "m", Type: "string", Required: true},
	{Names: []string{"lagThreshold"}, From: "m", Type: "int64", Default: "10"},
	{Names: []string{"activationLagThreshold"}, From: "m", Type: "int64", Default: "0"},
}

// pulsar are the keys of the metadata that code copies to the authentication, since 2.20.
var pulsar = []triggers.Parameter{
	{Names: []string{"EndpointParams"}, From: "m"}, {Names: []string{"clientID"}, From: "m"},
	{Names: []string{"oauthTokenURI"}, From: "m"}, {Names: []string{"scope"}, From: "m"},
}

// declareByHand gives the parameters of scalers without tags the declarations of the next
// release that has them.
func declareByHand(readings []map[string]reading) {
	for i := len(readings) - 1; i >= 0; i-- {
		for _, kind := range byHand[versions[i]] {
			r := readings[i][kind]
			r.parameters = sameNames(r.parameters, readings[i+1][kind].parameters)
			readings[i][kind] = r
		}
		if r, ok := readings[i]["pulsar"]; ok && i >= tagged+2 {
			r.parameters = append(r.parameters, pulsar...)
			readings[i]["pulsar"] = r
		}
		if r, ok := readings[i]["stan"]; ok && i >= tagged {
			r.parameters = sameNames(r.parameters, stan)
			readings[i]["stan"] = r
		}
	}
}

// sameNames returns the declarations with a name that is read, and the other read keys.
func sameNames(read, declared []triggers.Parameter) (merged []triggers.Parameter) {
	named := map[string]bool{}
	for _, d := range declared {
		if d.Type == "" || !slices.ContainsFunc(read, func(p triggers.Parameter) bool { return slices.Contains(d.Names, p.Names[0]) }) {
			continue
		}
		d.Declared = "hand"
		d.Required = d.Required && !slices.Contains(notRequired, d.Names[0])
		merged = append(merged, d)
		for _, name := range d.Names {
			named[name] = true
		}
	}
	for _, p := range read {
		if !named[p.Names[0]] {
			merged = append(merged, p)
		}
	}
	return merged
}

// encode writes a parameter a line.
func encode(table map[string]triggers.Type) []byte {
	var b bytes.Buffer
	b.WriteString("{\n")
	for i, kind := range slices.Sorted(maps.Keys(table)) {
		t := table[kind]
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "%q: {\"releases\": %q, \"open\": %v, \"parameters\": [", kind, t.Releases, t.Open)
		for k, p := range t.Parameters {
			line, err := json.Marshal(p)
			if err != nil {
				panic(err) // a struct of texts
			}
			b.WriteString(strings.Repeat(",", min(k, 1)) + "\n  ")
			b.Write(line)
		}
		b.WriteString("]}")
	}
	b.WriteString("\n}\n")
	return b.Bytes()
}
