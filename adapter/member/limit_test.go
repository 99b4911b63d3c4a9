package member

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An answer above the bound is an error. The events of a watch may have more together, in each minute.
func TestLimit(t *testing.T) {
	b := &limitedBody{ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("x", 1000))), most: 100, often: 100}
	data, err := io.ReadAll(io.LimitReader(b, 10_000))
	require.ErrorContains(t, err, "the answer of the member is too large: it has more than 100 bytes; if it should, raise maxBytes of its registration")
	require.Empty(t, data)
	_, err = (&limitedBody{ReadCloser: io.NopCloser(iotest.DataErrReader(strings.NewReader("all"))), most: 2, often: 2}).Read(make([]byte, 9))
	require.ErrorIs(t, err, errTooLarge, "the end comes with the bytes")
	data, err = io.ReadAll(&limitedBody{ReadCloser: io.NopCloser(strings.NewReader("all")), most: math.MaxInt64, often: math.MaxInt64})
	require.NoError(t, err)
	require.Equal(t, "all", string(data))
	of := func(query string) *limitedBody {
		body := func(*http.Request) (*http.Response, error) {
			return &http.Response{Header: http.Header{"Content-Type": {jsonType}}, Body: io.NopCloser(strings.NewReader(strings.Repeat("{}", 2000)))}, nil
		}
		response, err := limited{next: roundTrip(body), most: 100}.RoundTrip(httptest.NewRequest(http.MethodGet, "/jobs?"+query, nil))
		require.NoError(t, err)
		return response.Body.(*limitedBody)
	}
	_, err = io.ReadFull(of("limit=500"), make([]byte, 102))
	require.Error(t, err)
	b = of("watch=true") // which may begin with all Jobs
	_, err = io.ReadFull(b, make([]byte, 100*watches))
	require.NoError(t, err)
	p := make([]byte, 1)
	_, err = b.Read(p)
	require.Error(t, err)
	b.begin = b.begin.Add(-2 * time.Minute)
	_, err = b.Read(p)
	require.NoError(t, err)
}

// Values are counted alike however the text is split, not within texts, and anew for each document.
func TestValues(t *testing.T) {
	for text, want := range map[string]int{
		`{"items":[{},{"a":[1,2]},{}]`:        6 + 1 + 2*(1+itemValues),
		`{"a":"{[,\"{[,","b\\":{"c":",\\"}`:   3,
		`{"a":[1,2]} {"a":{"b":[[],[]]`:       6,
		strings.Repeat(`{"a":[]}`, maxValues): 0,
	} {
		for _, size := range []int{1, 3, len(text)} {
			v, left := values{}, text
			for left != "" {
				part := left[:min(size, len(left))]
				v.count([]byte(part))
				require.LessOrEqual(t, v.peak, maxValues)
				left = left[len(part):]
			}
			require.Equal(t, want, v.n, text[:min(40, len(text))])
		}
	}
	many := values{}
	text := `{"a":{"b":[` + strings.Repeat(`{},`, maxValues/2) + `{}]}}`
	many.count([]byte(" {}" + text + "{"))
	require.Greater(t, many.peak, maxValues, "also if the document ends")
	require.EqualValues(t, len(text), many.longest)
	require.EqualValues(t, 1, many.size)
}

// A value of any object that client-go decodes has at most half a kilobyte, and an item of a list as
// many as it counts for.
func TestSizesOfValues(t *testing.T) {
	const most = 512
	lists, largest := 0, uintptr(0)
	known := map[reflect.Type]bool{}
	var visit func(in, of reflect.Type, field string)
	visit = func(in, of reflect.Type, field string) {
		switch of.Kind() {
		case reflect.Pointer:
			visit(in, of.Elem(), field)
		case reflect.Map:
			require.LessOrEqual(t, of.Elem().Size()+of.Key().Size(), uintptr(most), "%s.%s", in, field)
			visit(in, of.Elem(), field)
		case reflect.Slice:
			size := of.Elem().Size()
			if field == "Items" && reflect.PointerTo(in).Implements(reflect.TypeFor[metav1.ListInterface]()) {
				lists++
				require.LessOrEqual(t, size, uintptr(most*(1+itemValues)), in)
			} else {
				largest = max(largest, size)
				require.LessOrEqual(t, size, uintptr(most), "%s.%s", in, field)
			}
			visit(in, of.Elem(), field)
		case reflect.Struct:
			if known[of] {
				return
			}
			known[of] = true
			for i := range of.NumField() {
				visit(of, of.Field(i).Type, of.Field(i).Name)
			}
		}
	}
	for _, of := range scheme.Scheme.AllKnownTypes() {
		visit(of, of, "")
	}
	require.Greater(t, lists, 50)
	require.Greater(t, largest, uintptr(most/2))
}

// A server answers as an API server without objects does, unless it lies.
type server struct {
	lies func(w http.ResponseWriter, r *http.Request) bool
}

func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case s.lies != nil && s.lies(w, r):
	case q.Get("sendInitialEvents") != "":
		w.WriteHeader(http.StatusUnprocessableEntity)
	case q.Get("watch") != "":
		say(w, 200, "")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case strings.HasSuffix(r.URL.Path, "/jobs"):
		say(w, 200, `{"kind":"JobList","apiVersion":"batch/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	default:
		say(w, 404, `{"kind":"Status","apiVersion":"v1","code":404,"reason":"NotFound","status":"Failure"}`)
	}
}

func say(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
}

// large is a JSON text of as many parts after one another, separated by commas.
func large(begin, part, end string, n int) string {
	return begin + strings.TrimSuffix(strings.Repeat(part+",", n), ",") + end
}

// Answers that would take many times their bytes are not decoded. The member is unreachable, with the
// reason, and the others go on.
func TestLargeAnswers(t *testing.T) {
	const megabyte = 1 << 20 / 3
	listed := func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/jobs") && r.URL.Query().Get("watch") == ""
	}
	jobsOf := func(part string, n int) string {
		return large(`{"kind":"JobList","apiVersion":"batch/v1","metadata":{"resourceVersion":"1"},"items":[`, part, `]}`, n)
	}
	list := func(text, kind string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if listed(r) {
				w.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(w, text)
			}
			return listed(r)
		}
	}
	for name, test := range map[string]struct {
		lies func(http.ResponseWriter, *http.Request) bool
		want string
	}{
		"Jobs":          {list(jobsOf("{}", megabyte), jsonType), "watch of Jobs: unexpected error when reading response body. Please retry. Original error: the answer of the member is too large: it has more than 100000 values"},
		"texts as Jobs": {list(jobsOf(`""`, megabyte), jsonType), "more than 100000 values"},
		"containers":    {list(jobsOf(large(`{"spec":{"template":{"spec":{"containers":[`, "{}", "]}}}}", megabyte), 1), jsonType), "more than 100000 values"},
		"labels":        {list(jobsOf(large(`{"metadata":{"labels":{`, `"":""`, "}}}", megabyte), 1), jsonType), "more than 100000 values"},
		"another kind":  {list(large(`{"kind":"CronJobList","apiVersion":"batch/v1","items":[`, "{}", "]}", megabyte), jsonType), "more than 100000 values"},
		"protobuf":      {list("k8s\x00", "application/vnd.kubernetes.protobuf"), `content type "application/vnd.kubernetes.protobuf"`},
		"YAML":          {list("items: [{}, {}]", "application/yaml"), `content type "application/yaml"`},
		"bytes":         {list(jobsOf(`{"metadata":{"name":"`+strings.Repeat("x", 5<<20)+`"}}`, 1), jsonType), "more than 4194304 bytes"},
		"causes of an error": {func(w http.ResponseWriter, r *http.Request) bool {
			if listed(r) {
				say(w, 403, large(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"details":{"causes":[`, "{}", `]}}`, megabyte))
			}
			return listed(r)
		}, "more than 100000 values"},
		"an event": {func(w http.ResponseWriter, r *http.Request) bool {
			is := r.URL.Query().Get("watch") != "" && r.URL.Query().Get("sendInitialEvents") == ""
			if is {
				say(w, 200, `{"type":"ADDED","object":`+large(`{"kind":"Job","apiVersion":"batch/v1","spec":{"template":{"spec":{"containers":[`, "{}", "]}}}}}", megabyte))
			}
			return is
		}, "more than 100000 values"},
		"Jobs in an event": {func(w http.ResponseWriter, r *http.Request) bool {
			is := r.URL.Query().Get("watch") != "" && r.URL.Query().Get("sendInitialEvents") == ""
			if is {
				say(w, 200, `{"type":"ADDED","object":`+jobsOf("{}", maxValues/4)+"}")
			}
			return is
		}, "more than 100000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			var all Clusters
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			for name, s := range map[string]server{"honest": {}, "liar": {test.lies}} {
				api := httptest.NewServer(s)
				t.Cleanup(api.Close)
				t.Cleanup(api.CloseClientConnections)
				c, err := Dial(name, &rest.Config{Host: api.URL}, Options{Terms: requests.Alone(), Home: "home", MaxBytes: 4 << 20, Interval: 50 * time.Millisecond})
				require.NoError(t, err)
				require.NoError(t, all.Add(ctx, c))
			}
			track(t, &all, "shop")
			most := heapWhile(func() {
				require.Eventually(t, func() bool { return all.Problems()["liar"] != nil }, 10*time.Second, time.Millisecond)
			})
			require.ErrorContains(t, all.Problems()["liar"], test.want)
			require.Less(t, most, uint64(128<<20))
			require.Eventually(t, func() bool { return reach(&all, "shop")["honest"] == jobs.Reachable }, 10*time.Second, time.Millisecond)
			require.NotEqual(t, jobs.Reachable, reach(&all, "shop")["liar"])
			require.NotContains(t, all.Problems(), "honest")
		})
	}
}

// The largest answers that are decoded take at most 256 MiB, whatever their values are.
func TestLargestAnswers(t *testing.T) {
	for name, text := range map[string]string{
		"Jobs":       large(`{"kind":"JobList","apiVersion":"batch/v1","items":[`, "0", "]}", maxValues/(1+itemValues)-10),
		"containers": large(`{"kind":"Job","apiVersion":"batch/v1","spec":{"template":{"spec":{"containers":[`, "0", "]}}}}", maxValues-10),
		"pods":       large(`{"kind":"PodList","apiVersion":"v1","items":[`, `{"spec":{"affinity":{}}}`, "]}", maxValues/(4+itemValues)-10),
		"labels":     large(`{"kind":"Job","apiVersion":"batch/v1","metadata":{"labels":{`, `"":""`, "}}}", maxValues-10),
	} {
		if name == "labels" {
			i := 0
			text = regexp.MustCompile(`"":""`).ReplaceAllStringFunc(text, func(string) string { i++; return fmt.Sprintf(`"%d":""`, i) })
		}
		api := httptest.NewServer(server{func(w http.ResponseWriter, _ *http.Request) bool { say(w, 200, text); return true }})
		t.Cleanup(api.Close)
		c, err := Dial("a", &rest.Config{Host: api.URL}, Options{Terms: requests.Alone(), Home: "home"})
		require.NoError(t, err)
		most := heapWhile(func() { _, err = c.clients.Requests.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{}) })
		require.NotErrorIs(t, err, errTooLarge, name)
		require.Less(t, most, uint64(256<<20), name)
		require.Greater(t, most, uint64(4<<20), "%s: it is decoded", name)
		t.Logf("%s: %d KiB take %d MiB", name, len(text)>>10, most>>20)
	}
}

// A member's large answers are decoded one after another, however many requests and watches there are.
func TestManyLargeAnswers(t *testing.T) {
	text := large(`{"kind":"Job","apiVersion":"batch/v1","spec":{"template":{"spec":{"containers":[`, "{}", "]}}}}", maxValues/2-10)
	const gets = 10
	var sent atomic.Int64
	api := httptest.NewServer(server{func(w http.ResponseWriter, r *http.Request) bool {
		switch q := r.URL.Query(); {
		case q.Get("sendInitialEvents") != "":
			sent.Add(1)
			say(w, 200, strings.Repeat(`{"type":"ADDED","object":`+text+"}", 2))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/jobs/a"), q.Get("limit") == "100":
			sent.Add(1)
			say(w, 200, text)
		default:
			return false
		}
		return true
	}})
	t.Cleanup(api.Close)
	t.Cleanup(api.CloseClientConnections)
	var namespaces []string
	for i := range 6 {
		namespaces = append(namespaces, fmt.Sprint("n", i))
	}
	c, err := Dial("a", &rest.Config{Host: api.URL}, Options{Terms: requests.Alone(), Home: "home", Namespaces: namespaces, Pods: true, Timeout: time.Minute})
	require.NoError(t, err)
	most := heapWhile(func() {
		var group sync.WaitGroup
		for range gets {
			group.Go(func() {
				_, _ = c.sender(t.Context(), time.Now()).client().BatchV1().Jobs("n").Get(t.Context(), "a", metav1.GetOptions{})
			})
		}
		for _, n := range namespaces {
			group.Go(func() {
				w, err := c.clients.Watches.BatchV1().Jobs(n).Watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)})
				if err != nil {
					return
				}
				defer w.Stop()
				for range 2 {
					<-w.ResultChan()
				}
			})
			group.Go(func() {
				_ = decoding(t.Context(), func(ctx context.Context) (err error) {
					_, err = smaller(ctx, metav1.ListOptions{Limit: 500}, c.clients.Watches.BatchV1().Jobs(n).List)
					return err
				})
			})
		}
		group.Wait()
	})
	require.EqualValues(t, gets+6+6, sent.Load())
	t.Logf("%d MiB at most", most>>20)
	require.Less(t, most, uint64(300<<20))
}

// Answers of large Jobs are read one after another, and none waits longer than for those before it.
func TestManyLargeJobs(t *testing.T) {
	text := large(`{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"a","uid":"a"},"spec":{"template":{"spec":{"containers":[{"args":[`, `"x"`, "]}]}}}}", 2*freeValues)
	api := httptest.NewServer(server{func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		say(w, 201, text)
		return true
	}})
	t.Cleanup(api.Close)
	c, err := Dial("a", &rest.Config{Host: api.URL}, Options{Terms: requests.Alone(), Home: "home", QPS: -1})
	require.NoError(t, err)
	s := c.sender(t.Context(), time.Now())
	begin := time.Now()
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			_, err := s.client().BatchV1().Jobs("shop").Create(t.Context(), &batchv1.Job{}, metav1.CreateOptions{})
			assert.NoError(t, err)
		})
	}
	group.Wait()
	require.Less(t, time.Since(begin), c.options.Timeout)
	require.NoError(t, c.Probe(t.Context()))
}

// client-go lists again without a limit. The pages have one nevertheless, and follow one another.
func TestListWithoutLimit(t *testing.T) {
	var limits []string
	api := httptest.NewServer(server{func(w http.ResponseWriter, r *http.Request) bool {
		limits = append(limits, r.URL.Query().Get("limit"))
		say(w, 200, `{"kind":"JobList","apiVersion":"batch/v1","metadata":{"continue":"more"},"items":[]}`)
		return true
	}})
	t.Cleanup(api.Close)
	c, err := Dial("a", &rest.Config{Host: api.URL}, Options{Terms: requests.Alone(), Home: "home"})
	require.NoError(t, err)
	for _, limit := range []int64{0, 50, 500} {
		list, err := c.sender(t.Context(), time.Now()).client().BatchV1().Jobs("shop").List(t.Context(), metav1.ListOptions{Limit: limit})
		require.NoError(t, err)
		require.Equal(t, "more", list.Continue)
	}
	require.Equal(t, []string{"100", "50", "100"}, limits)
}

// An event of a watch has as many bytes as an answer at the most, whatever its values are.
func TestLongEvent(t *testing.T) {
	api := httptest.NewServer(server{func(w http.ResponseWriter, _ *http.Request) bool {
		say(w, 200, `{"type":"ADDED","object":{"kind":"Job","apiVersion":"batch/v1","metadata":{"annotations":{"a":"`)
		part := []byte(strings.Repeat("x", 1<<20))
		for range 300 {
			if _, err := w.Write(part); err != nil {
				return true
			}
		}
		return true
	}})
	t.Cleanup(api.Close)
	t.Cleanup(api.CloseClientConnections)
	c, err := Dial("a", &rest.Config{Host: api.URL}, Options{Terms: requests.Alone(), Home: "home"})
	require.NoError(t, err)
	var e watch.Event
	most := heapWhile(func() {
		w, err := c.clients.Watches.BatchV1().Jobs("shop").Watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)})
		require.NoError(t, err)
		defer w.Stop()
		e = <-w.ResultChan()
	})
	require.Equal(t, watch.Error, e.Type)
	require.Contains(t, e.Object.(*metav1.Status).Message, "it has more than 33554432 bytes")
	require.Less(t, most, uint64(256<<20))
}

// A tenant of a member may label as the hub's what is too large to read. Only objects that act in his
// namespace notice, in a list and in a watch.
func TestLargeObjectOfATenant(t *testing.T) {
	job := large(`{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[{"args":[`, `""`, "]}]}}}}", maxValues)
	for _, name := range []string{"list", "watch", "watch with initial events"} {
		watched := name != "list"
		s := server{func(w http.ResponseWriter, r *http.Request) bool {
			q := r.URL.Query()
			is := strings.Contains(r.URL.Path, "/mail/") && (q.Get("sendInitialEvents") != "") == (name == "watch with initial events") && (q.Get("watch") != "") == watched
			if is && watched {
				say(w, 200, `{"type":"ADDED","object":`+job+"}")
			} else if is {
				say(w, 200, `{"kind":"JobList","apiVersion":"batch/v1","items":[`+job+`]}`)
			}
			return is
		}}
		api := httptest.NewServer(s)
		t.Cleanup(api.Close)
		t.Cleanup(api.CloseClientConnections)
		var all Clusters
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		c, err := Dial("a", &rest.Config{Host: api.URL}, Options{Terms: requests.Alone(), Home: "home", Namespaces: []string{"mail", "shop"}, Interval: 50 * time.Millisecond})
		require.NoError(t, err)
		require.NoError(t, all.Add(ctx, c))
		track(t, &all, "mail")
		track(t, &all, "shop")
		require.Eventually(t, func() bool {
			_, err := c.health.refusal("mail")
			return err != nil && strings.Contains(err.Error(), "more than 100000 values") && reach(&all, "shop")["a"] == jobs.Reachable
		}, 10*time.Second, time.Millisecond, name)
		require.NotEqual(t, jobs.Reachable, reach(&all, "mail")["a"], name)
		require.Empty(t, all.Problems(), name)
		if name == "watch" { // its list shows all objects, and ends the refusal
			continue
		}
		since, _ := c.health.refusal("mail")
		c.health.mu.Lock()
		for what, r := range c.health.refused {
			r.until = time.Time{} // it is tried again
			c.health.refused[what] = r
		}
		c.health.mu.Unlock()
		for range 200 {
			time.Sleep(5 * time.Millisecond)
			still, _ := c.health.refusal("mail")
			require.Equal(t, since, still, name)
		}
	}
}

// track tracks an owner of a namespace, whose UID is its name.
func track(t *testing.T, all *Clusters, namespace string) {
	require.NoError(t, all.Track(adapter.Target{
		Owner: adapter.Owner{APIVersion: "example.com/v1", Kind: "Queue", Namespace: namespace, Name: "processor", UID: types.UID(namespace)},
		Job:   &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}}},
	}, nil))
}

// reach returns which members the owner of the namespace reaches.
func reach(all *Clusters, namespace string) map[string]jobs.Reach {
	reach := map[string]jobs.Reach{}
	for _, c := range all.Observe(types.UID(namespace)).Clusters {
		reach[c.Name] = c.Reach
	}
	return reach
}

// Reading 500 Jobs of a member that is honest, as JSON in pages, and as client.Connect would: as protobuf.
func BenchmarkPage(b *testing.B) {
	list := batchv1.JobList{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "JobList"}}
	fields := &metav1.FieldsV1{}
	require.NoError(b, fields.UnmarshalJSON([]byte(large(`{"f:metadata":{"f:labels":{`, `"f:scaledjob.example.com/label":{}`, `}}}`, 60))))
	for i := range 500 {
		list.Items = append(list.Items, batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("job-", i), UID: types.UID(fmt.Sprint(i)), ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "hub", FieldsV1: fields}}},
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "worker", Image: "registry.example.com/worker:1", Env: slices.Repeat([]corev1.EnvVar{{Name: "QUEUE", Value: "rabbitmq.shop.svc"}}, 10),
			}}}}},
			Status: batchv1.JobStatus{Active: 1, Ready: new(int32(1)), Conditions: slices.Repeat([]batchv1.JobCondition{{Type: "A", Status: "True", Reason: "B"}}, 3)},
		})
	}
	texts := map[string][]byte{}
	for _, s := range scheme.Codecs.SupportedMediaTypes() {
		var text bytes.Buffer
		require.NoError(b, s.Serializer.Encode(&list, &text))
		texts[s.MediaType] = text.Bytes()
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(texts[kind])
	}))
	defer api.Close()
	config := &rest.Config{Host: api.URL}
	before, err := loop.Connect(config, time.Minute, nil)
	require.NoError(b, err)
	after, err := dial(config, Options{MaxBytes: maxBytes, Timeout: time.Minute})
	require.NoError(b, err)
	for name, clients := range map[string]kubernetes.Interface{"protobuf": before.Requests, "JSON": after.Requests} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list, err := clients.BatchV1().Jobs("").List(b.Context(), metav1.ListOptions{Limit: 500})
				require.NoError(b, err)
				require.Len(b, list.Items, 500)
			}
		})
	}
	b.Run("count", func(b *testing.B) {
		b.SetBytes(int64(len(texts[jsonType])))
		for b.Loop() {
			v := values{}
			v.count(texts[jsonType])
			require.LessOrEqual(b, v.peak, maxValues)
			runtime.KeepAlive(v)
		}
	})
}

// heapWhile returns by how much the heap has grown at most.
func heapWhile(do func()) (most uint64) {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				if runtime.ReadMemStats(&now); now.HeapAlloc > before.HeapAlloc {
					most = max(most, now.HeapAlloc-before.HeapAlloc)
				}
			}
		}
	}()
	do()
	close(stop)
	<-stopped
	return most
}
