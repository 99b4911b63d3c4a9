package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

// A server holds a queue of a type of trigger. It is empty at first.
type server struct {
	trigger           string // type and metadata, in YAML
	parameter, secret string // from a TriggerAuthentication
	fill              func(t *testing.T, n int)
	empty             func(t *testing.T)
}

// Real servers, each with the scaler of KEDA that reads it: three items make three Jobs, and none
// after the queue is empty.
var servers = []struct {
	name  string
	start func(t *testing.T) server
}{
	{"postgresql", postgresql}, {"mariadb", mariadb}, {"prometheus", prometheus}, {"beanstalkd", beanstalkd}, {"etcd", etcd}, {"nats", nats},
}

func (s *stand) usesServers(t *testing.T) {
	for _, one := range servers {
		t.Run(one.name, func(t *testing.T) {
			from := one.start(t)
			q := &queue{s, t, one.name}
			objects, ref := from.authentication(one.name)
			s.apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+one.name+"}\n"+objects)
			q.apply(job(map[string]string{works: "1h"}) + "  triggers: [{" + from.trigger + ref + "}]\n")
			p := s.start(t, "-namespace", one.name, "-leader-elect=false")
			q.becomes(30*time.Second, func(t *assert.CollectT) { require.Equal(t, "False ScalerNotActive", q.condition(t, "Active")) })
			require.Empty(t, q.jobs(t))
			from.fill(t, 3)
			q.becomes(30*time.Second, func(t *assert.CollectT) {
				require.Len(t, q.jobs(t), 3)
				require.Equal(t, "True ScalerActive", q.condition(t, "Active"))
			})
			from.empty(t)
			q.becomes(30*time.Second, func(t *assert.CollectT) { require.Equal(t, "False ScalerNotActive", q.condition(t, "Active")) })
			require.Len(t, q.jobs(t), 3)
			require.Equal(t, "True ScaledJobReady", q.condition(t, "Ready"))
			p.Stop()
		})
	}
}

// authentication returns the Secret of the queue and its TriggerAuthentication, and the reference.
func (f *server) authentication(namespace string) (objects, ref string) {
	if f.parameter == "" {
		return "", ""
	}
	return fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: queue, namespace: %[1]s}\nstringData: {%[2]s: %[3]q}\n---\n"+
		"apiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: queue, namespace: %[1]s}\n"+
		"spec: {secretTargetRef: [{parameter: %[2]s, name: queue, key: %[2]s}]}\n", namespace, f.parameter, f.secret), ", authenticationRef: {name: queue}"
}

// program returns the path of a program. .ci/run installs it.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	home, _ := os.UserHomeDir()
	for _, pattern := range []string{"go/bin", ".cache/scaledjob-e2e/*"} {
		if found, _ := filepath.Glob(filepath.Join(home, pattern, name)); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// variable returns the address of a server that runs already.
func variable(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Skip(name + " is not set")
	}
	return value
}

// runs starts a program, which ends with the test. It waits until the port answers.
func runs(t *testing.T, port string, name string, args ...string) {
	t.Helper()
	command := exec.Command(program(t, name), args...)
	command.Dir = t.TempDir()
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	connect(t, port)
}

// connect waits until a port answers.
func connect(t *testing.T, port string) (conn net.Conn) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		conn, err = net.Dial("tcp", "127.0.0.1:"+port)
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func freePort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(processtest.FreeAddress(t))
	require.NoError(t, err)
	return port
}

// sends runs a program with a text as its input.
func sends(t *testing.T, text, name string, args ...string) {
	t.Helper()
	command := exec.Command(name, args...)
	command.Stdin = strings.NewReader(text)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// database is a table of items.
func database(t *testing.T, trigger, parameter, address string, sql func(t *testing.T, text string)) server {
	sql(t, "DROP TABLE IF EXISTS items; CREATE TABLE items (id INT);")
	return server{
		trigger: trigger, parameter: parameter, secret: address,
		fill:  func(t *testing.T, n int) { sql(t, strings.Repeat("INSERT INTO items VALUES (1);", n)) },
		empty: func(t *testing.T) { sql(t, "DELETE FROM items;") },
	}
}

func postgresql(t *testing.T) server {
	address := variable(t, "SCALEDJOB_POSTGRESQL")
	return database(t, "type: postgresql, metadata: {query: 'SELECT COUNT(*) FROM items', targetQueryValue: '1'}", "connection", address,
		func(t *testing.T, text string) { sends(t, text, "psql", "-q", address) })
}

func mariadb(t *testing.T) server {
	address := variable(t, "SCALEDJOB_MARIADB")
	part := regexp.MustCompile(`^(.*?):(.*)@tcp\((.*):(.*)\)/(.*)$`).FindStringSubmatch(address)
	require.Len(t, part, 6, "SCALEDJOB_MARIADB: use USER:PASSWORD@tcp(HOST:PORT)/DATABASE")
	return database(t, "type: mysql, metadata: {query: 'SELECT COUNT(*) FROM items', queryValue: '1'}", "connectionString", address,
		func(t *testing.T, text string) {
			sends(t, text, "mariadb", "-u"+part[1], "-p"+part[2], "-h"+part[3], "-P"+part[4], part[5])
		})
}

func prometheus(t *testing.T) server {
	var length atomic.Int64
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "queue_length %d\n", length.Load()) }))
	t.Cleanup(metrics.Close)
	file, port := filepath.Join(t.TempDir(), "prometheus.yml"), freePort(t)
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "scrape_configs: [{job_name: queue, scrape_interval: 200ms, scrape_timeout: 200ms, static_configs: [{targets: [%q]}]}]", metrics.Listener.Addr()), 0o600))
	runs(t, port, "prometheus", "--config.file="+file, "--web.listen-address=127.0.0.1:"+port, "--storage.tsdb.path="+t.TempDir())
	return server{
		trigger: fmt.Sprintf("type: prometheus, metadata: {serverAddress: 'http://127.0.0.1:%s', query: sum(queue_length), threshold: '1'}", port),
		fill:    func(_ *testing.T, n int) { length.Store(int64(n)) },
		empty:   func(*testing.T) { length.Store(0) },
	}
}

func beanstalkd(t *testing.T) server {
	port := freePort(t)
	runs(t, port, "beanstalkd", "-l", "127.0.0.1", "-p", port)
	conn := connect(t, port)
	answers := bufio.NewReader(conn)
	ask := func(t *testing.T, text string) string {
		_, err := io.WriteString(conn, text+"\r\n")
		require.NoError(t, err)
		line, err := answers.ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSpace(line)
	}
	var all []string
	require.Equal(t, "USING items", ask(t, "use items"))
	return server{
		trigger: fmt.Sprintf("type: beanstalkd, metadata: {server: '127.0.0.1:%s', tube: items, value: '1'}", port),
		fill: func(t *testing.T, n int) {
			for range n {
				id, ok := strings.CutPrefix(ask(t, "put 0 0 60 1\r\nx"), "INSERTED ")
				require.True(t, ok)
				all = append(all, id)
			}
		},
		empty: func(t *testing.T) {
			for _, id := range all {
				require.Equal(t, "DELETED", ask(t, "delete "+id))
			}
		},
	}
}

func etcd(t *testing.T) server {
	port := freePort(t)
	url := "http://127.0.0.1:" + port
	peer := "http://127.0.0.1:" + freePort(t)
	runs(t, port, "etcd", "--data-dir", t.TempDir(), "--listen-client-urls", url, "--advertise-client-urls", url,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	put := func(t *testing.T, n int) {
		encoded := base64.StdEncoding.EncodeToString
		body, err := json.Marshal(map[string]string{"key": encoded([]byte("length")), "value": encoded(fmt.Append(nil, n))})
		require.NoError(t, err)
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			answer, err := http.Post(url+"/v3/kv/put", "application/json", strings.NewReader(string(body)))
			require.NoError(t, err)
			answer.Body.Close()
			require.Equal(t, 200, answer.StatusCode)
		}, 30*time.Second, 100*time.Millisecond)
	}
	put(t, 0)
	return server{
		trigger: fmt.Sprintf("type: etcd, metadata: {endpoints: '127.0.0.1:%s', watchKey: length, value: '1'}", port),
		fill:    put, empty: func(t *testing.T) { put(t, 0) },
	}
}

func nats(t *testing.T) server {
	port, monitoring := freePort(t), freePort(t)
	runs(t, monitoring, "nats-server", "-a", "127.0.0.1", "-p", port, "-m", monitoring, "-js", "-sd", t.TempDir())
	conn := connect(t, port)
	answers := bufio.NewReader(conn)
	ask := func(t *testing.T, subject, body string) {
		_, err := fmt.Fprintf(conn, "PUB %s answer %d\r\n%s\r\n", subject, len(body), body)
		require.NoError(t, err)
		for {
			line, err := answers.ReadString('\n')
			require.NoError(t, err)
			if strings.HasPrefix(line, "MSG answer") {
				text, err := answers.ReadString('\n')
				require.NoError(t, err)
				require.NotContains(t, text, `"error"`)
				return
			}
		}
	}
	_, err := io.WriteString(conn, "CONNECT {\"verbose\":false}\r\nSUB answer 1\r\n")
	require.NoError(t, err)
	ask(t, "$JS.API.STREAM.CREATE.items", `{"name":"items","subjects":["item"],"storage":"memory"}`)
	ask(t, "$JS.API.CONSUMER.DURABLE.CREATE.items.worker", `{"stream_name":"items","config":{"durable_name":"worker","ack_policy":"explicit"}}`)
	return server{
		trigger: fmt.Sprintf("type: nats-jetstream, metadata: {natsServerMonitoringEndpoint: '127.0.0.1:%s', account: $G, stream: items, consumer: worker, lagThreshold: '1'}", monitoring),
		fill: func(t *testing.T, n int) {
			for range n {
				ask(t, "item", "x")
			}
		},
		empty: func(t *testing.T) { ask(t, "$JS.API.STREAM.PURGE.items", "{}") },
	}
}
