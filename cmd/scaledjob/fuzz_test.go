package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation"
)

// A trace that can be read has arrivals of at least one item, in the order of time. Each
// item of the rows is in it.
func FuzzTrace(f *testing.F) {
	for _, text := range []string{
		"time,items,service\n0,3,\n1m30s,2,5s\n", "items; Time\n3; 0\n", "0,0.5\n10,0.25\n20,0.25\n", "time\n2026-01-31T12:00:00Z\n2026-01-31 12:02:00Z\n",
		"time\n1700000000000\n1700000060250\n", "time\n99999999999\n", `[{"time":0,"items":2},{"time":"1m","items":1,"service":"5s"}]`,
		`{"data":{"resultType":"matrix","result":[{"metric":{"__name__":"a_total"},"values":[[1700000000,"5"],[1700000010,"7"],[1700000020,"1"]]}]}}`,
		`{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"0.1"],[2,"0.1"],[3,"0.8"],[4,"0.1"],[5,"0.1"]]}]}}`,
		`{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"1e300"],[2,"1e300"]]}]}}`,
		`{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"1"],[1e300,"1"]]}]}}`,
		`{"status":"error","error":"parse error"}`, "",
	} {
		for _, as := range []string{"", "rate", "counter"} {
			f.Add([]byte(text), as)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, as string) {
		all, began, err := arrivalsIn(data, as)
		if err != nil {
			require.Empty(t, all)
			return
		}
		items, sum, last := 0.0, 0.0, simulation.Duration(0)
		for _, a := range all {
			if a.Items < 1 || a.Service < 0 || a.At < last || began < 0 {
				t.Fatalf("%+v after %v, from %v on", a, last, began)
			}
			items, last = items+float64(a.Items), a.At
		}
		samples, err := samplesIn(data, func(data []byte) ([]sample, error) { return samplesOfPrometheus(data, as) })
		require.NoError(t, err)
		for _, s := range samples {
			sum += s.items
		}
		require.InDelta(t, math.Floor(sum), items, 1)
	})
}

// A schedule that can be read has occurrences in the order of time, and its own text reads
// the same.
func FuzzSchedule(f *testing.F) {
	for _, text := range []string{"0 6 * * *", "*/5 0-23/2 1,15 jan-dec sun", "0 0 30 2 *", "0 0 29 2 1", "@daily", "@every 1h", "@reboot", "TZ=UTC 0 6 * * *",
		"60 * * * *", "5-1 * * * *", "*/0 * * * *", "? ? ? ? ?", "R/2026-01-01 02:00:00Z/P1D", "R5/T01:00:00/PT1H", "r5//p1d", ""} {
		f.Add(text)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(f, err)
	created := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSchedule(text, berlin, created)
		if err != nil {
			return
		}
		next := func(s parsed) (all []time.Time) {
			last := created.Add(-1)
			for range 5 {
				at, ok := s.Next(last)
				if !ok {
					break
				}
				require.True(t, at.After(last), "%q: %v after %v", text, at, last)
				s.notes(at)
				all, last = append(all, at), at
			}
			return all
		}
		again, err := parseSchedule(s.text, berlin, created)
		require.NoError(t, err, s.text)
		require.Equal(t, next(s), next(again), s.text)
	})
}

// A test file that can be read has tests with a name, and each problem has the file's name.
func FuzzTestFile(f *testing.F) {
	files, err := filepath.Glob("testdata/tests/*.test.yaml")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("tests: [{name: a, queue: {redis: 12}, releases: ['2.20'], simulate: {arrivals: {redis: constant:1/s}}}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := readTestFile(source{"a.test.yaml", data})
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "a.test.yaml:"), "%v", err)
			return
		}
		require.NotEmpty(t, file.Releases)
	})
}

// A scenario that can be read is valid, and each problem has the file's name.
func FuzzScenario(f *testing.F) {
	f.Add([]byte(scenarioHelp))
	f.Add([]byte("queues: [{name: a, trace: [{at: 0s, items: 3}]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readScenario(source{"s.yaml", data})
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "s.yaml:"), "%v", err)
			return
		}
		require.NoError(t, s.Validate())
	})
}

// A dump that can be read gives a ScaledJob some of its Jobs and pods, and nothing panics.
func FuzzDump(f *testing.F) {
	for _, name := range []string{"testdata/jobs.json", "testdata/pods.json"} {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("NAME READY"))
	f.Add([]byte("{kind: Job, metadata: {name: a, ownerReferences: [{controller: true, kind: ScaledJob, name: orders, uid: b}]}, status: {ready: 1}}"))
	f.Add([]byte(`{"kind":"PodList","items":[{"metadata":{"name":"a"}},null,{"kind":"Job"}]}`))
	var flags manifestFlags
	manifests, err := flags.read([]string{"testdata/manifest.yaml"}, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		var d dump
		if d.add(data) != nil {
			return
		}
		for _, by := range []release{{}, newestKEDA()} {
			o, err := d.of(manifests[0], by)
			if err == nil {
				require.Len(t, o.kedaJobs(), len(o.jobs))
				require.LessOrEqual(t, len(o.jobs), len(d.jobs))
				require.LessOrEqual(t, len(o.podTimes()), len(d.pods))
			}
		}
	})
}
