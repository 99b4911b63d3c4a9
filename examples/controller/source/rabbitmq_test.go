package source_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/examples/controller/source"
	"github.com/scaledjob/scaledjob/scaling"
)

func rabbitParams(host string, metadata values) source.Params {
	m := values{"queueName": "jobs", "host": host}
	maps.Copy(m, metadata)
	return source.Params{Type: "rabbitmq", Namespace: "mail", Metadata: m}
}

// answers serves body and tells the URI and user of the last request.
func answers(t *testing.T, status int, body string) (s *httptest.Server, last *http.Request) {
	t.Helper()
	last = new(http.Request)
	var mu sync.Mutex
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		*last = *r
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s, last
}

const state = `{"name":"jobs","messages":7,"messages_ready":4,"messages_unacknowledged":3,
"message_stats":{"publish_details":{"rate":6},"deliver_get_details":{"rate":2}}}`

func TestManagementModes(t *testing.T) {
	s, _ := answers(t, 200, state)
	for name, c := range map[string]struct {
		metadata values
		want     source.Reading
	}{
		"unset":         {nil, source.Reading{Value: 7}},
		"queueLength":   {values{"queueLength": "3"}, source.Reading{Value: 7}},
		"length":        {values{"mode": "QueueLength", "value": "3"}, source.Reading{Value: 7}},
		"ready":         {values{"excludeUnacknowledged": "true"}, source.Reading{Value: 4}},
		"rate":          {values{"mode": "MessageRate", "value": "3"}, source.Reading{Value: 6, Activity: scaling.Active}},
		"rate, few":     {values{"mode": "MessageRate", "value": "3", "activationValue": "7"}, source.Reading{Value: 6}},
		"delivered":     {values{"mode": "DeliverGetRate", "value": "3"}, source.Reading{Value: 2}},
		"ratio":         {values{"mode": "PublishedToDeliveredRatio", "value": "3"}, source.Reading{Value: 3}},
		"time":          {values{"mode": "ExpectedQueueConsumptionTime", "value": "3"}, source.Reading{Value: 5.5}},
		"http protocol": {values{"protocol": "http", "timeout": "5s"}, source.Reading{Value: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := open(t, rabbitParams(s.URL, c.metadata)).Length(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, r)
		})
	}
}

func TestManagementModesWithoutDelivery(t *testing.T) {
	for _, c := range []struct {
		mode, body string
		want       source.Reading
	}{
		{"PublishedToDeliveredRatio", `{"messages":7,"message_stats":{"publish_details":{"rate":6}}}`, source.Reading{Value: 2, Activity: scaling.Active}},
		{"PublishedToDeliveredRatio", `{"messages":7}`, source.Reading{}},
		{"ExpectedQueueConsumptionTime", `{"messages":7}`, source.Reading{Value: 2, Activity: scaling.Active}},
		{"ExpectedQueueConsumptionTime", `{"messages":0}`, source.Reading{}},
		{"ExpectedQueueConsumptionTime", `{"messages":1,"message_stats":{"deliver_get_details":{"rate":5}}}`, source.Reading{}},
		{"MessageRate", `{"messages":1}`, source.Reading{}},
	} {
		s, _ := answers(t, 200, c.body)
		r, err := open(t, rabbitParams(s.URL, values{"mode": c.mode, "value": "1", "activationValue": "2"})).Length(t.Context())
		require.NoError(t, err)
		require.Equal(t, c.want, r, c)
	}
}

func TestManagementURL(t *testing.T) {
	s, last := answers(t, 200, state)
	base := strings.TrimPrefix(s.URL, "http://")
	for name, c := range map[string]struct {
		host     string
		metadata values
		want     string
	}{
		"root":              {base, nil, "/api/queues/%2F/jobs"},
		"root, slash":       {base + "/", nil, "/api/queues/%2F/jobs"},
		"root, encoded":     {base + "/%2f", nil, "/api/queues/%2f/jobs"},
		"virtual host":      {base + "/mail", nil, "/api/queues/mail/jobs"},
		"behind a prefix":   {base + "/rabbit/mq/mail", nil, "/rabbit/mq/api/queues/mail/jobs"},
		"prefix, root":      {base + "/rabbit/", nil, "/rabbit/api/queues/%2F/jobs"},
		"vhostName":         {base + "/x", values{"vhostName": "a/b"}, "/api/queues/a%2Fb/jobs"},
		"vhostName, root":   {base, values{"vhostName": "/"}, "/api/queues/%2F/jobs"},
		"vhostName encoded": {base, values{"vhostName": "%2f"}, "/api/queues/%2F/jobs"},
		"queue":             {base, values{"queueName": "a b/c?d"}, "/api/queues/%2F/a%20b%2Fc%3Fd"},
		"query":             {base + "/mail?x=1", nil, "/api/queues/mail/jobs"},
	} {
		t.Run(name, func(t *testing.T) {
			reads(t, open(t, rabbitParams("http://u:p%40@"+c.host, c.metadata)), 7)
			require.Equal(t, c.want, last.RequestURI)
			user, pass, _ := last.BasicAuth()
			require.Equal(t, "u:p@", user+":"+pass)
		})
	}
	p := rabbitParams("http://u:p@"+base, nil)
	p.Authentication = values{"username": "keda", "password": password}
	reads(t, open(t, p), 7)
	user, pass, _ := last.BasicAuth()
	require.Equal(t, "keda:"+password, user+":"+pass)

	p = rabbitParams("", values{"hostFromEnv": "RABBIT"})
	p.Env = values{"RABBIT": s.URL}
	reads(t, open(t, p), 7)
}

func TestManagementRegex(t *testing.T) {
	queues := []string{
		`{"name":"a","messages":1,"messages_ready":1}`,
		`{"name":"b","messages":2,"messages_ready":1}`,
		`{"name":"c","messages":6,"messages_ready":1}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/api/queues/mail", r.URL.Path)
		q := r.URL.Query()
		require.Equal(t, "true", q.Get("use_regex"))
		if q.Get("name") != "^jobs.*$" {
			io.WriteString(w, `{"items":[],"page_count":1}`)
			return
		}
		size, _ := strconv.Atoi(q.Get("page_size"))
		page, _ := strconv.Atoi(q.Get("page"))
		items := queues[(page-1)*size : min(page*size, len(queues))]
		fmt.Fprintf(w, `{"items":[%s],"page_count":%d}`, strings.Join(items, ","), (len(queues)+size-1)/size)
	}))
	defer s.Close()
	for _, c := range []struct {
		metadata values
		want     float64
	}{
		{values{}, 9},
		{values{"operation": "sum"}, 9},
		{values{"operation": "avg"}, 3},
		{values{"operation": "max"}, 6},
		{values{"pageSize": "2"}, 9},
		{values{"pageSize": "1", "excludeUnacknowledged": "true"}, 3},
		{values{"queueName": "none", "operation": "avg"}, 0},
	} {
		m := values{"queueName": "^jobs.*$", "useRegex": "true"}
		maps.Copy(m, c.metadata)
		reads(t, open(t, rabbitParams(s.URL+"/mail", m)), c.want)
	}
	not, _ := answers(t, 200, `[]`)
	fails(t, t.Context(), open(t, rabbitParams(not.URL, values{"useRegex": "true"})))
	not, _ = answers(t, 200, `{}`)
	fails(t, t.Context(), open(t, rabbitParams(not.URL, values{"useRegex": "true"})))
	not, _ = answers(t, 200, `{"items":[{"name":"a","messages":1},{"name":"b"}],"page_count":1}`)
	require.ErrorContains(t, fails(t, t.Context(), open(t, rabbitParams(not.URL, values{"useRegex": "true"}))), "message count of a queue")
}

func TestManagementFails(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"wrong password":  {401, `{"error":"not_authorised"}`},
		"no queue":        {404, `{"error":"Object Not Found"}`},
		"down":            {500, password},
		"another page":    {200, "<html>"},
		"no count yet":    {200, `{"name":"jobs"}`},
		"a count of text": {200, `{"name":"jobs","messages":"7"}`},
		"a negative one":  {200, `{"name":"jobs","messages":-1}`},
		"elsewhere":       {302, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := answers(t, c.status, c.body)
			host := strings.Replace(s.URL, "://", "://u:"+password+"@", 1)
			fails(t, t.Context(), open(t, rabbitParams(host, nil)))
		})
	}
	closed := "http://u:" + password + "@" + closedPort(t)
	fails(t, t.Context(), open(t, rabbitParams(closed, nil)))
}

// What a server says is neither told nor kept, and ends.
func TestManagementHostile(t *testing.T) {
	regex := values{"useRegex": "true"}
	for name, c := range map[string]struct {
		body, want string
		metadata   values
	}{
		"pages without end":      {`{"items":[],"page_count":1000000000}`, "found 1000000000 pages of queues: want 1000 or fewer", regex},
		"the password as a name": {`{"items":[{"name":"` + password + `"}],"page_count":1}`, "message count of a queue", regex},
		"and as a number":        {`{"messages":"` + password + `"}`, "not the management API's", nil},
		"a number without end":   {`{"messages":1` + strings.Repeat("0", 1<<20) + `}`, "not the management API's", nil},
		"long pages":             {`{"page_count":1000,"items":[` + strings.Repeat(" ", 3<<20) + `]}`, "found more than 16777216 bytes", regex},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				io.WriteString(w, c.body)
			}))
			defer s.Close()
			err := fails(t, within(t, soon), open(t, rabbitParams(s.URL, c.metadata)))
			require.ErrorContains(t, err, c.want)
			require.Less(t, len(err.Error()), 300)
			require.LessOrEqual(t, requests.Load(), int64(6))
		})
	}
}

// A server that closes the connection may say anything.
func TestAMQPNoPassword(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	method := func(arguments string) []byte { // of the class connection
		payload := "\x00\x0a" + arguments
		return []byte("\x01\x00\x00" + string(binary.BigEndian.AppendUint32(nil, uint32(len(payload)))) + payload + "\xce")
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buffer := make([]byte, 4<<10)
			c.Read(buffer)
			c.Write(method("\x00\x0a\x00\x09\x00\x00\x00\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x05en_US")) // start
			c.Read(buffer)
			if bytes.Contains(buffer, []byte(password)) {
				c.Write(method("\x00\x32\x01\x93" + string(byte(len(password))) + password + "\x00\x00\x00\x00")) // close, 403
			}
			c.Read(buffer)
			c.Close()
		}
	}()
	err = fails(t, within(t, soon), open(t, rabbitParams("amqp://u:"+password+"@"+l.Addr().String(), nil)))
	require.ErrorContains(t, err, "the server answers 403: the login is rejected")
}

// A server that proposes frames of any length gets a limit.
func TestAMQPFrames(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	limits := make(chan uint32, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buffer := make([]byte, 4<<10)
		c.Read(buffer)
		io.WriteString(c, "\x01\x00\x00\x00\x00\x00\x1c\x00\x0a\x00\x0a\x00\x09\x00\x00\x00\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x05en_US\xce") // start
		c.Read(buffer)
		io.WriteString(c, "\x01\x00\x00\x00\x00\x00\x0c\x00\x0a\x00\x1e\x00\x00\x00\x00\x00\x00\x00\x00\xce") // tune, without limits
		io.ReadFull(c, buffer[:20])
		limits <- binary.BigEndian.Uint32(buffer[13:17])
	}()
	fails(t, within(t, soon), open(t, rabbitParams("amqp://u:"+password+"@"+l.Addr().String(), nil)))
	require.Equal(t, uint32(128<<10), <-limits)
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestManagementHeedsContext(t *testing.T) {
	heeds(t, open(t, rabbitParams("http://u:"+password+"@"+silent(t), values{"timeout": "1m"})))
	q := open(t, rabbitParams("http://u:"+password+"@"+silent(t), values{"timeout": "100"}))
	require.ErrorContains(t, fails(t, t.Context(), q), "Timeout")
}

func TestManagementOpensAgain(t *testing.T) {
	s, _ := answers(t, 200, state)
	address := s.Listener.Addr().String()
	q := open(t, rabbitParams(s.URL, nil))
	reads(t, q, 7)
	s.Close()
	fails(t, t.Context(), q)
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	again := httptest.NewUnstartedServer(s.Config.Handler)
	again.Listener.Close()
	again.Listener = l
	again.Start()
	defer again.Close()
	reads(t, q, 7)
}

func TestManagementOverTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, state) }))
	defer s.Close()
	p := rabbitParams(s.URL, nil)
	fails(t, t.Context(), open(t, p))
	p.Authentication = values{"tls": "enable", "ca": certificate(s.Certificate())}
	reads(t, open(t, p), 7)
	reads(t, open(t, rabbitParams(s.URL, values{"unsafeSsl": "true"})), 7)
}

func TestAMQPHeedsContext(t *testing.T) {
	heeds(t, open(t, rabbitParams("amqp://u:"+password+"@"+silent(t), nil)))
	heeds(t, open(t, rabbitParams("amqps://u:"+password+"@"+silent(t), nil)))
	fails(t, t.Context(), open(t, rabbitParams("amqp://u:"+password+"@"+closedPort(t), nil)))
}

func TestRabbitMQRefuses(t *testing.T) {
	const amqpHost, httpHost = "amqp://u:" + password + "@a/", "https://u:" + password + "@a/"
	m := func(host string, pairs ...string) values {
		v := values{"queueName": "q", "host": host}
		for i := 0; i < len(pairs); i += 2 {
			v[pairs[i]] = pairs[i+1]
		}
		return v
	}
	refuses(t, "rabbitmq", map[string]bad{
		"nothing":           {paths: []string{"metadata.queueName", "metadata.host"}},
		"no scheme":         {metadata: m("u:" + password + "@a"), paths: []string{"metadata.host"}},
		"another scheme":    {metadata: m("redis://u:" + password + "@a"), paths: []string{"metadata.host"}},
		"not a URL":         {metadata: m("amqp://u:%" + password + "@a"), paths: []string{"metadata.host"}},
		"protocol":          {metadata: m(amqpHost, "protocol", "mqtt"), paths: []string{"metadata.protocol"}},
		"protocol and host": {metadata: m(amqpHost, "protocol", "http"), paths: []string{"metadata.host"}},
		"no mode":           {metadata: m(amqpHost, "value", "1"), paths: []string{"metadata.mode"}},
		"no value":          {metadata: m(httpHost, "mode", "MessageRate"), paths: []string{"metadata.value"}},
		"mode":              {metadata: m(httpHost, "mode", "Age", "value", "1"), paths: []string{"metadata.mode"}},
		"both":              {metadata: m(httpHost, "mode", "MessageRate", "value", "1", "queueLength", "1"), paths: []string{"metadata.queueLength"}},
		"HTTP's": {metadata: m(amqpHost, "mode", "MessageRate", "value", "1", "useRegex", "true", "excludeUnacknowledged", "true", "timeout", "5s"),
			paths: []string{"metadata.mode", "metadata.useRegex", "metadata.excludeUnacknowledged", "metadata.timeout"}},
		"numbers": {metadata: m(httpHost, "pageSize", "0", "operation", "min", "timeout", "soon", "activationValue", "NaN", "useRegex", "?"),
			paths: []string{"metadata.pageSize", "metadata.operation", "metadata.timeout", "metadata.activationValue", "metadata.useRegex"}},
		"no password":  {metadata: m(amqpHost), authentication: values{"username": "u"}, paths: []string{"authenticationRef: parameter password"}},
		"no user":      {metadata: m(amqpHost), authentication: values{"password": password}, paths: []string{"authenticationRef: parameter username"}},
		"TLS, plainly": {metadata: m(amqpHost), authentication: values{"tls": "enable"}, paths: []string{"metadata.host"}},
		"OAuth2":       {metadata: m(httpHost), authentication: values{"clientSecret": password, "workloadIdentityResource": "x"}, paths: []string{"authenticationRef: parameter clientSecret", "authenticationRef: parameter workloadIdentityResource"}},
	})
}

// A relay passes connections on to a broker, until it is stopped.
type relay struct {
	address, to string
	mu          sync.Mutex
	listener    net.Listener
	open        []net.Conn
}

func (r *relay) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", r.address)
	require.NoError(t, err)
	r.listener, r.address = l, l.Addr().String()
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", r.to)
			if err != nil {
				in.Close()
				continue
			}
			r.mu.Lock()
			r.open = append(r.open, in, out)
			r.mu.Unlock()
			go io.Copy(in, out)
			go io.Copy(out, in)
		}
	}()
}

func (r *relay) stop() {
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.open {
		c.Close()
	}
	r.open = nil
}

// queue makes a queue with three messages on the broker.
func queue(t *testing.T, address string) (*amqp.Channel, string) {
	t.Helper()
	connection, err := amqp.Dial(address)
	require.NoError(t, err)
	t.Cleanup(func() { connection.Close() })
	c, err := connection.Channel()
	require.NoError(t, err)
	require.NoError(t, c.Confirm(false))
	name := fmt.Sprintf("scaledjob test/%d", time.Now().UnixNano())
	_, err = c.QueueDeclare(name, false, false, false, false, nil)
	require.NoError(t, err)
	t.Cleanup(func() { c.QueueDelete(name, false, false, false) })
	for range 3 {
		confirmed, err := c.PublishWithDeferredConfirm("", name, false, false, amqp.Publishing{Body: []byte("x")})
		require.NoError(t, err)
		require.True(t, confirmed.Wait())
	}
	return c, name
}

func TestAMQPBroker(t *testing.T) {
	address := broker(t, "SCALEDJOB_RABBITMQ")
	c, name := queue(t, address)
	p := rabbitParams(address, values{"queueName": name})
	q := open(t, p)
	reads(t, q, 3)
	_, ok, err := c.Get(name, true)
	require.NoError(t, err)
	require.True(t, ok)
	reads(t, q, 2)

	t.Run("concurrently", func(t *testing.T) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				r, err := q.Length(context.Background())
				if err != nil || r.Value != 2 {
					t.Errorf("%v, %v", r, err)
				}
			})
		}
		all.Wait()
	})
	t.Run("vhostName", func(t *testing.T) {
		p := rabbitParams(address, values{"queueName": name, "vhostName": "/", "protocol": "amqp"})
		reads(t, open(t, p), 2)
		p.Metadata["vhostName"] = "gone"
		fails(t, t.Context(), open(t, p))
	})
	t.Run("wrong password", func(t *testing.T) {
		p := rabbitParams(address, values{"queueName": name})
		p.Authentication = values{"username": "guest", "password": password}
		require.ErrorContains(t, fails(t, t.Context(), open(t, p)), "403")
	})
	t.Run("no queue", func(t *testing.T) {
		q := open(t, rabbitParams(address, values{"queueName": "gone"}))
		for range 3 {
			require.ErrorContains(t, fails(t, t.Context(), q), "404")
		}
		_, err := c.QueueDeclare("gone", false, false, false, false, nil)
		require.NoError(t, err)
		defer c.QueueDelete("gone", false, false, false)
		reads(t, q, 0)
	})
	t.Run("gone and back", func(t *testing.T) { goneAndBack(t, address, name) })
}

func goneAndBack(t *testing.T, address, name string) {
	u, err := url.Parse(address)
	require.NoError(t, err)
	r := &relay{address: "127.0.0.1:0", to: u.Host}
	r.start(t)
	defer func() { r.stop() }()
	u.Host = r.address
	q := open(t, rabbitParams(u.String(), values{"queueName": name}))
	for range 3 {
		reads(t, q, 2)
		r.stop()
		fails(t, within(t, soon), q)
		r.start(t)
		reads(t, q, 2)
		r.stop()
		r.start(t)
		reads(t, q, 2) // though the kept connection is broken
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, fails(t, ctx, q), context.Canceled)
	reads(t, q, 2)
}

func TestManagementBroker(t *testing.T) {
	host := broker(t, "SCALEDJOB_RABBITMQ_HTTP")
	c, name := queue(t, broker(t, "SCALEDJOB_RABBITMQ"))
	q := open(t, rabbitParams(host, values{"queueName": name}))
	eventually(t, q, 3)
	_, ok, err := c.Get(name, false) // not acknowledged
	require.NoError(t, err)
	require.True(t, ok)
	eventually(t, open(t, rabbitParams(host, values{"queueName": name, "excludeUnacknowledged": "true"})), 2)
	reads(t, q, 3)
	reads(t, open(t, rabbitParams(host, values{"queueName": "^" + name + "$", "useRegex": "true", "pageSize": "1"})), 3)
	reads(t, open(t, rabbitParams(host, values{"queueName": name, "vhostName": "/"})), 3)
	require.ErrorContains(t, fails(t, t.Context(), open(t, rabbitParams(host, values{"queueName": "gone"}))), "404")
	p := rabbitParams(host, values{"queueName": name})
	p.Authentication = values{"username": "guest", "password": password}
	require.ErrorContains(t, fails(t, t.Context(), open(t, p)), "401")
}

// eventually waits for the management API's statistics, which lag by seconds.
func eventually(t *testing.T, q source.Queue, want float64) {
	t.Helper()
	require.Eventually(t, func() bool {
		r, err := q.Length(context.Background())
		return err == nil && r.Value == want
	}, 30*time.Second, 200*time.Millisecond)
}
