package member_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/term"
)

// bytesOf returns a field of protobuf.
func bytesOf(number uint64, value []byte) []byte {
	to := binary.AppendUvarint(nil, number<<3|2)
	return append(binary.AppendUvarint(to, uint64(len(value))), value...)
}

// beginOf returns the begin of an object of the kind, whose length follows.
func beginOf(version, kind string) []byte {
	of := append(bytesOf(1, []byte(version)), bytesOf(2, []byte(kind))...)
	return append(append([]byte("k8s\x00"), bytesOf(1, of)...), 2<<3|2)
}

// nested returns the field in the fields.
func nested(value []byte, fields ...uint64) []byte {
	for _, number := range slices.Backward(fields) {
		value = bytesOf(number, value)
	}
	return value
}

const huge = 2 << 20

// hugeObjects are the worst Jobs of 2 MiB.
func hugeObjects() map[string][]byte {
	empty := func(number uint64) []byte { return bytes.Repeat(bytesOf(number, nil), huge/2) }
	labels := func(number uint64, prefix string) (all []byte) {
		for i := 0; len(all) < huge; i++ {
			all = append(all, nested(append(bytesOf(1, fmt.Append(nil, prefix, i)), bytesOf(2, []byte("x"))...), number)...)
		}
		return all
	}
	return map[string][]byte{
		"empty containers": nested(empty(2), 2, 6, 2),
		"empty conditions": nested(empty(1), 3),
		"empty owners":     nested(empty(13), 1),
		"finalizers":       nested(empty(14), 1),
		"labels":           nested(labels(11, "a"), 1),
		"labels of ours":   nested(labels(11, "scaledjob.github.io/"), 1),
		"annotations":      nested(labels(12, "scaledjob.github.io/"), 1),
		"a long name":      nested(bytes.Repeat([]byte("x"), huge), 1, 1),
		"a long message":   nested(bytes.Repeat([]byte("x"), huge), 3, 1, 6),
		"a long label":     nested(append(bytesOf(1, []byte(adapter.LabelOwner)), bytesOf(2, make([]byte, huge))...), 1, 11),
	}
}

// write sends a part of an answer so many times.
func write(w io.Writer, part []byte, times int) {
	for range times {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

const most = 200 << 20

// lists are answers of 200 MiB, or without end, to a request for Jobs, and the errors that the
// member gets, if any.
func lists() map[string]struct {
	kind, problem string
	send          func(w io.Writer)
} {
	type lie = struct {
		kind, problem string
		send          func(w io.Writer)
	}
	const proto = "application/vnd.kubernetes.protobuf"
	begin := binary.AppendUvarint(beginOf("batch/v1", "JobList"), most)
	all := map[string]lie{
		"JSON": {"application/json", `content type "application/json"`, func(w io.Writer) {
			write(w, []byte(`{"kind":"JobList","apiVersion":"batch/v1","items":[{}`), 1)
			write(w, []byte(",{}"), most/3)
		}},
		"tiny": {proto, "more objects than the 100", func(w io.Writer) { write(w, begin, 1); write(w, bytes.Repeat(bytesOf(2, nil), 512), most/1024) }},
		"one": {proto, "an object of", func(w io.Writer) {
			write(w, begin, 1)
			write(w, binary.AppendUvarint([]byte{2<<3 | 2}, most), 1)
			write(w, make([]byte, 1024), most/1024)
		}},
		"another kind": {proto, `the kind "apps/v1 Deployment"`, func(w io.Writer) {
			write(w, binary.AppendUvarint(beginOf("apps/v1", "DeploymentList"), most), 1)
			write(w, bytes.Repeat(bytesOf(2, nil), 512), most/1024)
		}},
		"groups":  {proto, "malformed", func(w io.Writer) { write(w, begin, 1); write(w, bytes.Repeat([]byte{2<<3 | 3}, 1024), most/1024) }},
		"no end":  {proto, "more objects than the 100", func(w io.Writer) { write(w, begin, 1); write(w, bytes.Repeat(bytesOf(1, nil), 512), 1<<30) }},
		"garbage": {proto, "malformed", func(w io.Writer) { write(w, bytes.Repeat([]byte{0xff}, 1024), most/1024) }},
	}
	for name, object := range hugeObjects() {
		item := bytesOf(2, object)
		all["a page of "+name] = lie{proto, "", func(w io.Writer) {
			write(w, binary.AppendUvarint(beginOf("batch/v1", "JobList"), uint64(10*len(item))), 1)
			write(w, item, 10)
		}}
	}
	return all
}

// A liar is an API server that lies in lists or watches of Jobs.
type liar struct {
	config *rest.Config
	lied   atomic.Int64
}

func newLiar(t *testing.T, watch, list func(w http.ResponseWriter)) *liar {
	codec, l := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), new(liar)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(object kruntime.Object, version, kind string) {
			object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
			_ = codec.Encode(object, w) // a client that has gone
		}
		query := r.URL.Query()
		switch {
		case strings.HasSuffix(r.URL.Path, "/kube-system"):
			answer(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "u"}}, "v1", "Namespace")
		case query.Get("limit") == "1", query.Get("watch") == "" && list == nil:
			answer(&batchv1.JobList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, "batch/v1", "JobList")
		case query.Get("watch") != "" && watch == nil:
			w.WriteHeader(http.StatusUnprocessableEntity)
		case query.Get("watch") != "":
			watch(w)
			l.lied.Add(1)
		default:
			list(w)
			l.lied.Add(1)
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	l.config = &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	return l
}

// peak returns by how much the heap grows at most while do runs.
func peak(do func()) int64 {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	before, highest := heap(), int64(0)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
				highest = max(highest, heap()-before)
			}
		}
	}()
	do()
	close(over)
	<-done
	return highest
}

// bound is the most memory that an answer of a member may need.
const bound = 32 << 20

// Whatever API servers answer to a list of Jobs or send in a watch, it needs little memory.
func TestMemoryOfAnswers(t *testing.T) {
	observe := func(t *testing.T, most int64, problem string, liars ...*liar) {
		var all member.Clusters
		grown := peak(func() {
			for i, l := range liars {
				c, err := member.Dial(fmt.Sprint(i), l.config, member.Options{Terms: term.Alone(), Home: home, Key: []byte("k"), Interval: time.Hour, Timeout: time.Minute})
				require.NoError(t, err)
				require.NoError(t, all.Add(t.Context(), c))
			}
			for i, l := range liars {
				require.Eventually(t, func() bool { return l.lied.Load() > 1 && problem == "" || all.Problems()[fmt.Sprint(i)] != nil }, time.Minute, 10*time.Millisecond)
				if problem != "" {
					require.ErrorContains(t, all.Problems()[fmt.Sprint(i)], problem)
				}
			}
			for i := range liars {
				all.Remove(fmt.Sprint(i))
			}
		})
		t.Logf("%.1f MiB", float64(grown)/(1<<20))
		require.Less(t, grown, most)
	}
	for name, lie := range lists() {
		t.Run(name, func(t *testing.T) {
			observe(t, bound, lie.problem, newLiar(t, nil, func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", lie.kind)
				lie.send(w)
			}))
		})
	}
	var several []*liar
	for name, object := range hugeObjects() {
		job := append(binary.AppendUvarint(beginOf("batch/v1", "Job"), uint64(len(object))), object...)
		event := append(bytesOf(1, []byte("ADDED")), nested(job, 2, 1)...)
		frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...)
		l := newLiar(t, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
			write(w, frame, 10)
		}, nil)
		several = append(several, l)
		t.Run("a watch of "+name, func(t *testing.T) { observe(t, bound, "", l) })
	}
	for _, l := range several {
		l.lied.Store(0)
	}
	t.Run("ten at once", func(t *testing.T) { observe(t, 2*bound, "", several...) })
}
