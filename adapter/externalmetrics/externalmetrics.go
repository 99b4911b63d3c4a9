// Package externalmetrics reads external metrics of Kubernetes, of KEDA's metrics server or of any
// other, as metrics of package scaling.
//
//	reader, err := externalmetrics.Connect(config, externalmetrics.Options{})
//	reading := reader.Read(externalmetrics.Metric{Namespace: "shop", Resource: "s0-redis-orders", Selector: selector, Target: 5})
//	decision := scaling.Decide(policy, scaling.Observation{Metrics: []scaling.Metric{reading.Metric}})
//
// A metric is unreadable if the server answers with an error, with no value or with several values. A
// [Reading] then has a [Reason], which has a fixed text: the texts of a metrics server may hold
// credentials.
//
// KEDA reports NaN, infinite and negative values as 0. Such a queue therefore looks empty.
package externalmetrics

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/metrics/pkg/client/external_metrics"

	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/scaling"
)

// A Metric says what to read. The zero value names no metric.
type Metric struct {
	Name      string // of the result, for explanations
	Namespace string
	Resource  string          // the name of the metric in the API
	Selector  labels.Selector // nil selects everything
	Target    float64         // the target average value: items per Job
}

// A Reading is the answer about a metric. The zero value is unreadable.
type Reading struct {
	// Metric has the value. Its Activity is ByThreshold with threshold 0.
	scaling.Metric
	// Timestamp is the server's time of the value, in whole seconds. It is zero if the metric is unreadable.
	Timestamp time.Time
	// Reason is why the metric is unreadable, or "".
	Reason Reason
	// Err is the server's error, if there is one. Its text may hold credentials: do not show it.
	Err error
}

// A Reason says why a metric is unreadable.
type Reason string

const (
	NotServed     Reason = "NotServed"     // no server has registered external.metrics.k8s.io
	NotFound      Reason = "NotFound"      // the server does not know the metric
	NoValue       Reason = "NoValue"       // the server answered without a value
	SeveralValues Reason = "SeveralValues" // the server answered with several values
	Forbidden     Reason = "Forbidden"     // RBAC does not allow the read
	Unavailable   Reason = "Unavailable"   // the server, or what it reads from, is away or did not answer in time
	ServerError   Reason = "ServerError"   // the server could not read the metric
)

var texts = map[Reason]string{
	NotServed:     "no metrics server is installed: external.metrics.k8s.io is not served",
	NotFound:      "the metrics server does not know the metric",
	NoValue:       "the metrics server has no value",
	SeveralValues: "the metrics server has several values for one metric",
	Forbidden:     "reading external.metrics.k8s.io is forbidden: grant get and list on its resources",
	Unavailable:   "the metrics server does not answer",
	ServerError:   "the metrics server could not read the metric",
}

// Text returns the reason in words.
func (r Reason) Text() string { return cmp.Or(texts[r], string(r)) }

// Options configure a connection. The zero value has the defaults.
type Options struct {
	Timeout  time.Duration // of a read; 0 means 5 s
	InFlight int           // greatest number of reads at once; 0 means 128. Others wait.
}

// A Reader reads metrics. Its methods may be called from several goroutines.
type Reader struct {
	client external_metrics.ExternalMetricsClient
	slots  chan struct{}
}

// Connect returns a reader with connections of its own, so that reads delay no other request.
func Connect(config *rest.Config, o Options) (*Reader, error) {
	c, err := external_metrics.NewForConfig(loop.SeparateConfig(config, cmp.Or(o.Timeout, 5*time.Second)))
	if err != nil {
		return nil, err
	}
	return New(c, o), nil
}

// New returns a reader that uses a client. The client must have a timeout of its own: its List takes no
// context, and Options.Timeout is not used.
func New(c external_metrics.ExternalMetricsClient, o Options) *Reader {
	return &Reader{c, make(chan struct{}, cmp.Or(o.InFlight, 128))}
}

// Read asks for the metric once.
func (r *Reader) Read(m Metric) Reading {
	r.slots <- struct{}{}
	defer func() { <-r.slots }()
	reading := Reading{Metric: scaling.Metric{Name: m.Name, Target: m.Target, Failed: true}}
	selector := m.Selector
	if selector == nil {
		selector = labels.Everything()
	}
	list, err := r.client.NamespacedMetrics(m.Namespace).List(m.Resource, selector)
	switch {
	case err != nil:
		reading.Reason, reading.Err = reasonOf(err), err
	case list == nil || len(list.Items) == 0:
		reading.Reason = NoValue
	case len(list.Items) > 1:
		reading.Reason = SeveralValues
	default:
		reading.Failed, reading.Timestamp = false, list.Items[0].Timestamp.Time
		reading.Value = list.Items[0].Value.AsApproximateFloat64()
	}
	return reading
}

// reasonOf classifies an error. Without an answer of the API server, nobody knows more than that.
func reasonOf(err error) Reason {
	var status apierrors.APIStatus
	var network net.Error
	switch {
	case !errors.As(err, &status), errors.As(err, &network):
		return Unavailable
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return Forbidden
	case apierrors.IsNotFound(err) && unregistered(status.Status()):
		return NotServed
	case apierrors.IsNotFound(err):
		return NotFound
	case awayStatus(status.Status()):
		return Unavailable
	}
	return ServerError
}

// unregistered reports whether the API server itself has answered: it does not know the group.
func unregistered(s metav1.Status) bool {
	return s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeUnexpectedServerResponse
	})
}

// awayStatus reports whether a server behind the API server is away: the metrics server, or the process
// that KEDA's metrics server asks over gRPC.
func awayStatus(s metav1.Status) bool {
	switch s.Code {
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusBadGateway, http.StatusTooManyRequests:
		return true
	}
	for _, text := range []string{"code = Unavailable", "code = DeadlineExceeded", "gRPC connection", "Handler timeout"} {
		if strings.Contains(s.Message, text) {
			return true
		}
	}
	return false
}
