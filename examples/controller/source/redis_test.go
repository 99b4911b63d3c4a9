package source_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
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
