package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/redistest"
)

const password = "s3cret-w0rd"

// A Redis with TLS and a password, whose Secret is wrong, then right; and servers that send back
// what they are sent. Nobody tells the password.
func (s *stand) secrets(t *testing.T) {
	certificate := redistest.NewCertificate(t)
	server := redistest.StartEncrypted(t, certificate, "--requirepass", password)
	server.Push("orders", 30, redis.Options{Password: password, TLSConfig: certificate.TLS()})
	p := s.place(t, "secrets")
	root := t.TempDir()
	secret := func(name, file, content string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Join(root, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name, file), []byte(content), 0o600))
	}
	require.NoError(t, s.client.Create(t.Context(), p.scaledJob("consumer", server.Address, "orders", "1h")))
	for file, content := range map[string]string{
		"address": server.Address + "\n", "password": password + "-old",
		"ca.crt": string(certificate.Cert), "tls.crt": string(certificate.Cert), "tls.key": string(certificate.Key),
	} {
		secret("redis", file, content)
	}
	for name, be := range redistest.Hostile {
		name = regexp.MustCompile(`\W+`).ReplaceAllString(strings.ToLower(name), "-")
		hostile := redistest.Listen(t, be)
		secret(name, "address", hostile.Address)
		secret(name, "password", password)
		require.NoError(t, s.client.Create(t.Context(), p.scaledJob(name, hostile.Address, "orders", "1h")))
	}
	o := p.operator("-redis-secrets", root, "-log-level=debug")
	refused := func(t *assert.CollectT) {
		require.Equal(t, "False RedisUnreachable", p.condition(t, "consumer", "QueueConnected"))
		require.Contains(t, p.get(t, "consumer").Status.Conditions[0].Message, "refuses the user name or the password")
	}
	p.becomes(30*time.Second, refused)
	secret("redis", "password", password)
	p.becomes(10*time.Second, func(t *assert.CollectT) { require.Len(t, p.active(t), 3) })
	require.Contains(t, p.events(t), "RedisUnreachable")

	_, metrics := get(t, o.metrics+"/metrics")
	status, events := p.text(&v1.ScaledJobList{}), p.text(&eventsv1.EventList{})
	for _, text := range []string{o.Output(), metrics, status, events} {
		require.NotContains(t, text, password)
	}
	require.Contains(t, events, "answered with an error", "the one that sends it back")
	o.Stop()
}

// text is all of a kind that there is.
func (p *place) text(list client.ObjectList) string {
	p.t.Helper()
	require.NoError(p.t, p.client.List(p.t.Context(), list, client.InNamespace(p.namespace)))
	data, err := json.Marshal(list)
	require.NoError(p.t, err)
	return string(data)
}

// Whatever is at an address, it costs little time and memory, is told as a condition, and
// is no matter of others.
func (s *stand) hostile(t *testing.T) {
	p := s.place(t, "hostile")
	list := s.list(t, "scaledjob-e2e-hostile")
	s.push(t, list, 30)
	var hostile []string
	for name, be := range redistest.Hostile {
		server := redistest.Listen(t, be)
		name = regexp.MustCompile(`\W+`).ReplaceAllString(strings.ToLower(name), "-")
		hostile = append(hostile, name)
		require.NoError(t, s.client.Create(t.Context(), p.scaledJob(name, server.Address, "orders", "1h")))
	}
	o := p.operator("-redis-timeout=1s", "-redis-idle=2s")
	p.consume(list, "1h")
	p.becomes(10*time.Second, func(t *assert.CollectT) { require.Len(t, p.active(t), 3) })
	for _, name := range hostile {
		p.becomes(10*time.Second, func(t *assert.CollectT) {
			require.Equal(t, "False RedisUnreachable", p.condition(t, name, "QueueConnected"))
			require.Equal(t, "False RedisUnreachable", p.condition(t, name, "Ready"))
		})
	}
	p.stays(10*time.Second, func(t require.TestingT) {
		for _, name := range hostile {
			require.Equal(t, "False RedisUnreachable", p.condition(t, name, "QueueConnected"))
		}
	})
	require.Len(t, p.jobs(t), 3)
	require.Less(t, mostMemory(t, o), 150, "MB, where one reply of 1 GB would be more")
	errors, err := strconv.Atoi(p.series(t, o, hostile[0])["reconcile_errors_total"])
	require.NoError(t, err)
	require.Greater(t, errors, 3, "each goes on being tried")
	o.Stop()
}

// mostMemory is the most memory that the process has had, in MB.
func mostMemory(t *testing.T, o *operator) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(o.Command.Process.Pid), "status"))
	require.NoError(t, err)
	most := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(data)
	require.NotNil(t, most)
	kB, err := strconv.Atoi(string(most[1]))
	require.NoError(t, err)
	t.Logf("%d MB at most", kB/1000)
	return kB / 1000
}
