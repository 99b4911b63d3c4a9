package source_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/examples/controller/source"
)

func redisParams(metadata values) source.Params {
	m := values{"listName": "jobs", "listLength": "5"}
	for k, v := range metadata {
		m[k] = v
	}
	return source.Params{Type: "redis", Namespace: "mail", Metadata: m}
}

func TestRedisCountsEveryKindOfKey(t *testing.T) {
	s := miniredis.RunT(t)
	q := open(t, redisParams(values{"address": s.Addr()}))
	reads(t, q, 0)

	for kind, fill := range map[string]func(){
		"list": func() { s.RPush("jobs", "a", "b", "c") },
		"set":  func() { s.SAdd("jobs", "a", "b", "c") },
		"zset": func() {
			for i, m := range []string{"a", "b", "c"} {
				s.ZAdd("jobs", float64(i), m)
			}
		},
		"hash": func() { s.HSet("jobs", "a", "1", "b", "2", "c", "3") },
	} {
		t.Run(kind, func(t *testing.T) {
			s.Del("jobs")
			fill()
			reads(t, q, 3)
		})
	}

	s.Del("jobs")
	s.XAdd("jobs", "*", []string{"a", "1"})
	require.ErrorContains(t, fails(t, t.Context(), q), "stream")
	s.Del("jobs")
	s.Set("jobs", "7")
	require.ErrorContains(t, fails(t, t.Context(), q), "string")
}

func TestRedisParameters(t *testing.T) {
	s := miniredis.RunT(t)
	s.RequireUserAuth("keda", password)
	s.DB(3).Push("jobs", "a", "b")
	host, port, _ := net.SplitHostPort(s.Addr())
	login := values{"username": "keda", "password": password}

	for name, p := range map[string]source.Params{
		"authentication": {Metadata: values{"address": s.Addr()}, Authentication: login},
		"all of it": {Metadata: values{}, Authentication: values{
			"address": s.Addr(), "username": "keda", "password": password}},
		"host and port": {Metadata: values{"host": host, "port": port}, Authentication: login},
		"environment": {
			Metadata: values{"hostFromEnv": "HOST", "portFromEnv": "PORT", "usernameFromEnv": "USER", "passwordFromEnv": "PASS"},
			Env:      values{"HOST": host, "PORT": " " + port + "\n", "USER": "keda", "PASS": password}},
		"address from environment": {Metadata: values{"addressFromEnv": "ADDRESS"}, Env: values{"ADDRESS": s.Addr()}, Authentication: login},
		"environment before authentication": {
			Metadata: values{"address": s.Addr(), "passwordFromEnv": "PASS"}, Env: values{"PASS": password},
			Authentication: values{"username": "keda", "password": "another"}},
	} {
		t.Run(name, func(t *testing.T) {
			p.Type = "redis"
			p.Metadata["listName"], p.Metadata["databaseIndex"] = "jobs", "3"
			reads(t, open(t, p), 2)
		})
	}
}

func TestRedisRefusesPassword(t *testing.T) {
	s := miniredis.RunT(t)
	s.RequireAuth("another")
	p := redisParams(values{"address": s.Addr()})
	fails(t, t.Context(), open(t, p))
	p.Authentication = values{"password": password}
	fails(t, t.Context(), open(t, p))
}

// answering is the address of a server that answers each read from a connection with
// what it makes of it.
func answering(t *testing.T, answer func(sent string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buffer := make([]byte, 4<<10)
				for {
					n, err := c.Read(buffer)
					if err != nil {
						return
					}
					if _, err := io.WriteString(c, answer(string(buffer[:n]))); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// A server may send the password back, in an answer or in what is none.
func TestRedisNoPassword(t *testing.T) {
	for begin, want := range map[string]string{
		"-ERR unknown command 'auth', with args beginning with: ": "the server answers ERR unknown command",
		"-WRONGPASS ": "the server answers WRONGPASS",
		"-":           "the server answers with an error",
		"+":           "",
		":":           "not of Redis's protocol",
		"?":           "",
	} {
		t.Run(begin, func(t *testing.T) {
			echoed := false
			address := answering(t, func(sent string) string {
				echoed = echoed || strings.Contains(sent, password)
				return strings.Repeat(begin+strings.Join(strings.Fields(sent), " ")+"\r\n", strings.Count(sent, "*"))
			})
			p := redisParams(values{"address": address})
			p.Authentication = values{"password": password}
			q := open(t, p)
			for range 2 {
				require.ErrorContains(t, fails(t, within(t, soon), q), want)
			}
			require.True(t, echoed, "or this test shows nothing")
		})
	}
}

// Whatever is answered, and announced, takes little memory, and is not told.
func TestRedisHostile(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for begin, want := range map[string]string{
		"$1073741824\r\n":   "the reply has more than 16384 bytes",
		"*1000000000\r\n":   "the reply has more than 16384 bytes",
		"-ERR ":             "the reply has more than 16384 bytes",
		"+OK\r\n+" + "kind": "",
	} {
		t.Run(begin, func(t *testing.T) {
			address := answering(t, func(string) string { return begin + long })
			q := open(t, redisParams(values{"address": address}))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := fails(t, within(t, soon), q)
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, want)
			require.Less(t, len(err.Error()), 300)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), "bytes, those of the test included")
		})
	}
	odd := answering(t, func(sent string) string {
		if strings.Contains(sent, "hello") {
			return "-ERR\r\n"
		}
		return "+" + password + "\r\n"
	})
	require.ErrorContains(t, fails(t, within(t, soon), open(t, redisParams(values{"address": odd}))), "found another type of key")
}

func TestRedisOpensAgain(t *testing.T) {
	s := miniredis.RunT(t)
	s.RPush("jobs", "a", "b")
	q := open(t, redisParams(values{"address": s.Addr()}))
	for range 3 {
		reads(t, q, 2)
		s.Close()
		fails(t, t.Context(), q)
		require.NoError(t, s.Restart())
	}
	reads(t, q, 2)
}

func TestRedisHeedsContext(t *testing.T) {
	heeds(t, open(t, redisParams(values{"address": silent(t)})))
}

func TestRedisOverTLS(t *testing.T) {
	// httptest has a certificate for 127.0.0.1.
	h := httptest.NewTLSServer(nil)
	defer h.Close()
	s := miniredis.NewMiniRedis()
	require.NoError(t, s.StartTLS(&tls.Config{Certificates: h.TLS.Certificates}))
	t.Cleanup(s.Close)
	s.RPush("jobs", "a")

	p := redisParams(values{"address": s.Addr(), "enableTLS": "true"})
	fails(t, t.Context(), open(t, p))
	p.Authentication = values{"ca": certificate(h.Certificate())}
	reads(t, open(t, p), 1)
	p = redisParams(values{"address": s.Addr(), "enableTLS": "true", "unsafeSsl": "true"})
	reads(t, open(t, p), 1)
	p = redisParams(values{"address": s.Addr(), "unsafeSsl": "true"})
	p.Authentication = values{"tls": "enable"}
	reads(t, open(t, p), 1)
}

func certificate(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

func TestRedisRefuses(t *testing.T) {
	const at = "a:6379"
	refuses(t, "redis", map[string]bad{
		"nothing":           {paths: []string{"metadata.listName", "metadata.address"}},
		"blank":             {metadata: values{"listName": " ", "address": at}, paths: []string{"metadata.listName"}},
		"no port":           {metadata: values{"listName": "l", "host": "a"}, paths: []string{"metadata.port"}},
		"no host":           {metadata: values{"listName": "l", "port": "1"}, paths: []string{"metadata.host"}},
		"port":              {metadata: values{"listName": "l", "host": "a", "port": "70000"}, paths: []string{"metadata.port"}},
		"two addresses":     {metadata: values{"listName": "l", "addresses": at + "," + at}, paths: []string{"metadata.addresses"}},
		"a URL":             {metadata: values{"listName": "l", "address": "redis://u:" + password + "@a:6379"}, paths: []string{"metadata.address"}},
		"numbers and flags": {metadata: values{"listName": "l", "address": at, "databaseIndex": "-1", "enableTLS": "maybe", "unsafeSsl": "2"}, paths: []string{"metadata.databaseIndex", "metadata.enableTLS", "metadata.unsafeSsl"}},
		"TLS twice":         {metadata: values{"listName": "l", "address": at, "enableTLS": "true"}, authentication: values{"tls": "enable"}, paths: []string{"metadata.enableTLS"}},
		"TLS": {metadata: values{"listName": "l", "address": at}, authentication: values{"tls": "on", "ca": password, "cert": password, "key": password, "keyPassword": password},
			paths: []string{"authenticationRef: parameter tls", "authenticationRef: parameter ca", "authenticationRef: parameter cert", "authenticationRef: parameter keyPassword"}},
		"no key":      {metadata: values{"listName": "l", "address": at}, authentication: values{"cert": password}, paths: []string{"authenticationRef: parameter key"}},
		"no variable": {metadata: values{"listName": "l", "address": at, "passwordFromEnv": "GONE"}, paths: []string{"metadata.passwordFromEnv"}},
	})
}

func TestRedisBroker(t *testing.T) {
	address := broker(t, "SCALEDJOB_REDIS")
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	ctx := context.Background()
	key := fmt.Sprintf("scaledjob-test-%d", time.Now().UnixNano())
	defer client.Del(ctx, key)

	p := redisParams(values{"address": address, "listName": key})
	q := open(t, p)
	reads(t, q, 0)
	require.NoError(t, client.RPush(ctx, key, "a", "b", "c").Err())
	reads(t, q, 3)
	require.NoError(t, client.LPop(ctx, key).Err())
	reads(t, q, 2)
	require.NoError(t, client.Do(ctx, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	reads(t, q, 2)

	require.NoError(t, client.Del(ctx, key).Err())
	require.NoError(t, client.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []string{"a", "1"}}).Err())
	require.ErrorContains(t, fails(t, ctx, q), "stream")

	p.Authentication = values{"username": "nobody", "password": password}
	require.ErrorContains(t, fails(t, ctx, open(t, p)), "WRONGPASS")
}
