package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// arrivalsOf reads a trace, and returns its arrivals in a line.
func arrivalsOf(t *testing.T, text, as string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	all, _, err := Read(file, as)
	if err != nil {
		return strings.ReplaceAll(err.Error(), file, "FILE")
	}
	var words []string
	for _, a := range all {
		word := fmt.Sprintf("%sx%d", a.At, a.Items)
		if a.Service != 0 {
			word += "/" + a.Service.String()
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestTrace(t *testing.T) {
	prometheus := func(metric, values string) string {
		return `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{` + metric + `},"values":[` + values + `]}]}}`
	}
	const timeHelp = "use RFC 3339 such as 2026-01-31T12:00:00Z, a Unix time, seconds since the start, or a duration such as 1m30s"
	const counter = `[1700000000,"5"],[1700000010,"7"],[1700000020,"1"]`
	for _, tt := range []struct{ text, as, want string }{
		{"time,items,service\n0,3,\n1m30s,2,5s\n", "", "0sx3 1m30sx2/5s"},
		{"\ufefftime,items\r\n0,3\r\n1.5,2\r\n", "", "0sx3 1.5sx2"},
		{"time;items\n0;3\n", "", "0sx3"},
		{"time\titems\tservice\n2023-11-16 18:17:03\t3\t\n2023-11-16 18:17:04\t1\t5s\n", "", "0sx3 1sx1/5s"},
		{"time;service\n0,5;1,5\n16;2\n", "", "500msx1/1.5s 16sx1/2s"},
		{"items, Time\n3, 0\n", "", "0sx3"},
		{"0,3\n60,1\n", "", "0sx3 1mx1"},
		{"time\n5\n0\n", "", "0sx1 5sx1"},
		{"time,items\n0,0\n10,2\n", "", "10sx2"},
		{"time,items\n0,0.5\n10,0.25\n20,0.25\n30,2.5\n40,0.5\n", "", "20sx1 30sx2 40sx1"},
		{"time\n2026-01-31T12:00:00Z\n2026-01-31T13:00:30.5+01:00\n2026-01-31 12:02:00Z\n", "", "0sx1 30.5sx1 2mx1"},
		{"time\n1700000000\n1700000060.25\n", "", "0sx1 1m0.25sx1"},
		{"time\n1700000000000\n1700000060250\n", "", "0sx1 1m0.25sx1"},
		{"time\n1700000000000000\n1700000060250000\n", "", "0sx1 1m0.25sx1"},
		{`[{"time":0,"items":2},{"time":"1m","items":1,"service":"5s"}]`, "", "0sx2 1mx1/5s"},
		{`[{"time":"2026-01-31T12:00:00Z"},{"time":"2026-01-31T12:01:00Z"}]`, "", "0sx1 1mx1"},
		{prometheus(`"__name__":"published_total"`, counter), "", "0sx1 5sx1 15sx1"},
		{prometheus(``, `[1700000000,"0.1"],[1700000020,"0.1"],[1700000040,"0"]`), "", "0sx1 10sx1 20sx1 30sx1"},
		{prometheus(`"__name__":"published"`, counter), "counter", "0sx1 5sx1 15sx1"},
		{"time,items\n0,0.1\n20,0.1\n40,0\n", "rate", "10sx1 20sx1 30sx1 40sx1"},
		{"time,items\n2026-01-31T12:00:00Z,0.1\n2026-01-31T12:00:40Z,0\n2026-01-31T12:00:20Z,0.1\n", "rate", "0sx1 10sx1 20sx1 30sx1"},
		{`[{"time":0,"items":5},{"time":10,"items":7},{"time":20,"items":1}]`, "counter", "5sx1 10sx1 20sx1"},

		// the header and first rows of a public trace of requests, and of SQL, data frames and spreadsheets
		{"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8\n", "", "0sx1 52msx1"},
		{",timestamp,duration\n0,2023-11-16 18:17:03.97+00:00,0 days 00:00:30.5\n1,2023-11-16 19:17:04.97+01:00,0 days 00:01:00\n", "", "0sx1/30.5s 1sx1/1m"},
		{"created_at;count\n2023-11-16 18:17:03 UTC;2\n2023-11-16 18:18:03 +0000 UTC;1\n", "", "0sx2 1mx1"},
		{"Start Time,Service Time\n11/16/2023 6:17 PM,0:30\n11/16/2023 6:18 PM,1:00:00\n", "", "0sx1/30s 1mx1/1h"},
		{"Date\n2023-11-16\n2023-11-17\n", "", "0sx1 24hx1"},
		{"datetime\n16.11.2023 18:17\n16.11.2023 18:19:30\n", "", "0sx1 2m30sx1"},
		{`[{"ts":"2023-11-16 18:17:03.97","n":3,"user":"x"}]`, "", "0sx3"},

		{"\xff\xfet\x00i\x00m\x00e\x00\n\x005\x00\n\x00", "", "5sx1"},
		{"time\n2026-01-31t12:00:00z\n2026-01-31T13:00:30+01:00\n", "", "0sx1 30sx1"},
		{`[{"Time":500,"ITEMS":3,"service":null},{"time":600,"items":null}]`, "", "8m20sx3 10mx1"},
		{`["2026-01-31T12:00:00Z","2026-01-31T12:01:00Z"]`, "", "0sx1 1mx1"},
		{`[0,1.5,"1m"]`, "", "0sx1 1.5sx1 1mx1"},

		{"", "", "FILE: the file is empty; " + traceHelp},
		{"[]", "", "FILE: no items; use rows with at least one item in all"},
		{"time,items\n0,0\n", "", "FILE: no items; use rows with at least one item in all"},
		{"[{\"time\":5}]\n[{\"time\":9}]", "", "FILE: invalid JSON; " + traceHelp},
		{`[{"time":null},[3],{"time":[1],"items":true}]`, "", "FILE: [0]: no column time; use time,items, or names such as timestamp, count and duration\nFILE: [1]: found no object; use one such as {\"time\": 0, \"items\": 1}\n" +
			`FILE: [2]: items: found "true"; use a number of 0 to 1e9` + "\nFILE: [2]: time: found \"[1]\"; " + timeHelp},
		{"\n\ntime,items\n1,1\nx,y\n", "", "FILE:5: time: found \"x\"; " + timeHelp + "\nFILE:5: items: found \"y\"; use a number of 0 to 1e9"},
		{"when,items\n1,2\n", "", "FILE:1: no column time; use time,items, or names such as timestamp, count and duration"},
		{"items\n1\n", "", "FILE:1: no column time; use time,items, or names such as timestamp, count and duration"},
		{"time,time\n1,1\n", "", "FILE:1: found the column time twice; use it once"},
		{"time,items\n1,x\n-1,3\n1\n", "", "FILE:2: items: found \"x\"; use a number of 0 to 1e9\nFILE:3: time: found \"-1\"; " +
			"use RFC 3339 such as 2026-01-31T12:00:00Z, a Unix time, seconds since the start, or a duration such as 1m30s\nFILE:4: found 1 values; use 2, for time, items"},
		{"time\n0\n1700000000\n", "", "FILE: found times since the start and times of day; use the same kind in all rows"},
		{"time,items\n0,NaN\n", "", `FILE:2: items: found "NaN"; use a number of 0 to 1e9`},
		{`[{"items":1},{"time":0,"n":1}]`, "", "FILE: [0]: no column time; use time,items, or names such as timestamp, count and duration"},
		{`{"a":1}`, "", "FILE: neither a trace nor the answer of a Prometheus range query; " + traceHelp},
		{`{"status":"error","error":"parse error"}`, "", `FILE: Prometheus answered "parse error"; use the answer of a query without an error`},
		{`{"data":{"resultType":"vector","result":[]}}`, "", `FILE: found the result type "vector"; use matrix, from /api/v1/query_range`},
		{prometheus(`"__name__":"published"`, counter), "", "FILE: data.result[0]: published may be a rate or a counter; use --trace-as rate or --trace-as counter"},
		{prometheus(``, `[1,"x"]`), "", "FILE: data.result[0].values[0]: found [1 x]; use a time and a number of 0 or more as text"},
		{prometheus(``, `[1e10,"1"]`), "", "FILE: data.result[0].values[0]: found [1e+10 1]; use a time and a number of 0 or more as text"},
		{prometheus(``, `[1,"1e300"],[2,"1"]`), "", "FILE: data.result[0]: found more than 1e7 items; use a shorter time, or CSV with the number of items in each row"},
		{"time\n99999999999\n", "", `FILE:2: time: found "99999999999"; use RFC 3339 such as 2026-01-31T12:00:00Z, a Unix time, seconds since the start, or a duration such as 1m30s`},
		{prometheus(``, `[1,"2"]`), "", "FILE: no values; use a query that returns at least two points"},
		{"time\n0\n", "gauge", `--trace-as "gauge": use items, rate or counter`},
	} {
		require.Equal(t, tt.want, arrivalsOf(t, tt.text, tt.as), tt.text)
	}
}

// A trace with many wrong rows reports the first ten.
func TestTraceWithManyErrors(t *testing.T) {
	said := arrivalsOf(t, "time\n"+strings.Repeat("soon\n", 25), "")
	require.Equal(t, 10, strings.Count(said, `found "soon"`))
	require.Contains(t, said, "FILE: 15 more errors")
}

// The items of a rate arrive at even distances, and no item is lost or added between points.
func TestTraceOfARate(t *testing.T) {
	for rate, want := range map[float64]int{0.7: 21000, 0.1: 3000, 1.0 / 30: 1000, 0.01: 300, 3.3: 99000} {
		var points []sample
		for i := range 1001 {
			points = append(points, sample{at: time.Duration(i) * 30 * time.Second, items: rate})
		}
		samples, err := between(nil, points, false)
		require.NoError(t, err)
		require.Len(t, samples, want)
		for i := 1; i < len(samples); i++ {
			require.InDelta(t, 1/rate, (samples[i].at - samples[i-1].at).Seconds(), 1e-6)
		}
	}
}
