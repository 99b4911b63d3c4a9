package externalmetrics_test

// What the tests hold:
//
//	Claim                                         Test
//	values, and everything that is unreadable     TestRead
//	what answers mean                             TestReasons
//	a server that hangs, many reads at once       TestHangingServer

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter/externalmetrics"
	"github.com/scaledjob/scaledjob/scaling"
)

func connect(t *testing.T, handler http.HandlerFunc, o externalmetrics.Options) *externalmetrics.Reader {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	r, err := externalmetrics.Connect(&rest.Config{Host: server.URL}, o)
	require.NoError(t, err)
	return r
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}

func list(items ...string) string {
	all := []any{}
	for _, value := range items {
		all = append(all, map[string]any{"metricName": "orders", "metricLabels": nil, "timestamp": "2026-01-02T03:04:05Z", "value": value})
	}
	data, _ := json.Marshal(map[string]any{"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": map[string]any{}, "items": all})
	return string(data)
}

var metric = externalmetrics.Metric{Name: "orders", Namespace: "shop", Resource: "s0-redis-orders", Target: 5,
	Selector: labels.SelectorFromSet(labels.Set{"scaledobject.keda.sh/name": "orders-1"})}

func TestRead(t *testing.T) {
	for text, value := range map[string]float64{"0": 0, "12": 12, "1500m": 1.5, "3k": 3000, "9e18": 9e18, "-4": -4} {
		r := connect(t, func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/s0-redis-orders", r.URL.Path)
			require.Equal(t, "scaledobject.keda.sh/name=orders-1", r.URL.Query().Get("labelSelector"))
			require.Equal(t, "5s", r.URL.Query().Get("timeout"), "the API server is told")
			answer(w, 200, list(text))
		}, externalmetrics.Options{}).Read(metric)
		require.Equal(t, scaling.Metric{Name: "orders", Value: value, Target: 5}, r.Metric)
		require.Empty(t, r.Reason)
		require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), r.Timestamp.UTC())
	}
	require.Equal(t, 0, scaling.Decide(scaling.DefaultPolicy(), scaling.Observation{Metrics: []scaling.Metric{{Value: -4, Target: 5}, {Value: math.NaN(), Target: 5}}}).Trace.Demand.Read,
		"a negative value is unreadable")
}

// status is the text of an answer of Kubernetes, whose code follows.
func status(reason, text string) string {
	return `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + reason + `","message":"` + text + `","code":CODE}`
}

// Each answer with the reason for it. The texts of KEDA's metrics server are those of its release 2.21.
func TestReasons(t *testing.T) {
	for _, c := range []struct {
		code int
		text string
		want externalmetrics.Reason
	}{
		{200, list(), externalmetrics.NoValue},
		{200, list("1", "2"), externalmetrics.SeveralValues},
		{200, "{}", externalmetrics.NoValue},
		{404, "404 page not found", externalmetrics.NotServed},
		{404, status("NotFound", "the server could not find the metric orders"), externalmetrics.NotFound},
		{403, status("Forbidden", "no"), externalmetrics.Forbidden},
		{401, status("Unauthorized", "no"), externalmetrics.Forbidden},
		{503, "service unavailable", externalmetrics.Unavailable},
		{503, status("ServiceUnavailable", "error trying to reach service"), externalmetrics.Unavailable},
		{504, status("Timeout", "no"), externalmetrics.Unavailable},
		{429, "Too many requests, please try again later.", externalmetrics.Unavailable},
		{500, status("InternalError", "Timeout: Handler timeout"), externalmetrics.Unavailable},
		{500, status("InternalError", "rpc error: code = Unavailable desc = error reading from server: connection reset by peer"), externalmetrics.Unavailable},
		{500, status("InternalError", "rpc error: code = DeadlineExceeded desc = context deadline exceeded"), externalmetrics.Unavailable},
		{500, status("InternalError", "timeout while waiting to establish gRPC connection to KEDA Metrics Service server"), externalmetrics.Unavailable},
		{500, status("InternalError", "rpc error: code = Unknown desc = error when getting metric values metric:s0-redis-orders encountered error"), externalmetrics.ServerError},
		{500, "not JSON", externalmetrics.ServerError},
	} {
		r := connect(t, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, c.code, strings.Replace(c.text, "CODE", strconv.Itoa(c.code), 1))
		}, externalmetrics.Options{}).Read(metric)
		require.Equal(t, c.want, r.Reason, c.text)
		require.True(t, r.Failed, c.text)
		require.Equal(t, "orders", r.Name)
		require.NotEqual(t, string(c.want), r.Reason.Text(), "it has a text")
		require.NotContains(t, r.Reason.Text(), "rpc error")
	}
	away, err := externalmetrics.Connect(&rest.Config{Host: "http://127.0.0.1:1"}, externalmetrics.Options{})
	require.NoError(t, err)
	require.Equal(t, externalmetrics.Unavailable, away.Read(metric).Reason)
}

// A server that hangs costs a read its timeout, and no more reads are in flight than allowed.
func TestHangingServer(t *testing.T) {
	r := connect(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, externalmetrics.Options{Timeout: 200 * time.Millisecond, InFlight: 3})
	begin := time.Now()
	var reads sync.WaitGroup
	for range 6 {
		reads.Go(func() { require.Equal(t, externalmetrics.Unavailable, r.Read(metric).Reason) })
	}
	reads.Wait()
	require.GreaterOrEqual(t, time.Since(begin), 400*time.Millisecond, "three, and then three")
}
