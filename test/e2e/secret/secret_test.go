package secret_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/test/e2e/process"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

// A secret is found in every form in which programs write it.
func TestIn(t *testing.T) {
	a, b := secret.New("a"), secret.New("b")
	require.NotEqual(t, a[2:], b[2:])
	special := "p+/ä ?&=%\"\\'ss" + secret.New("c")
	secret.Add(special)
	quoted, err := json.Marshal(map[string]string{"password": a})
	require.NoError(t, err)
	user := url.UserPassword("ann", special).String()
	for text, want := range map[string][]string{
		"nothing, a-, " + a[1:]:     nil,
		"level=error password=" + a: {a},
		string(quoted):              {a},
		"b:" + b + ", a:" + a:       {a, b},
		"Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+a)):   {a},
		"Basic " + base64.StdEncoding.EncodeToString([]byte("ab:"+a)):  {a},
		"Basic " + base64.URLEncoding.EncodeToString([]byte("abc:"+a)): {a},
	} {
		require.Equal(t, want, secret.In(text), text)
	}
	for _, text := range []string{user, url.QueryEscape(special), base64.URLEncoding.EncodeToString([]byte("u:" + special))} {
		require.Contains(t, secret.In(text), special, text)
	}
}

// Each line of a key is a secret. The lines around it are not.
func TestAdd(t *testing.T) {
	secret.Add("-----BEGIN PRIVATE KEY-----\nMIIEvgIBADANBgkqhkiG9w0BAQEFAASC\nshort==\n-----END PRIVATE KEY-----\n")
	require.Equal(t, []string{"MIIEvgIBADANBgkqhkiG9w0BAQEFAASC"}, secret.In(" MIIEvgIBADANBgkqhkiG9w0BAQEFAASC "))
	require.Empty(t, secret.In("-----BEGIN PRIVATE KEY-----, short=="))
}

// A record is a test whose failure is what the test is about.
type record struct {
	testing.TB
	failed   bool
	cleanups []func()
}

func (r *record) Errorf(string, ...any) { r.failed = true }
func (r *record) Failed() bool          { return r.failed }
func (r *record) Cleanup(f func())      { r.cleanups = append(r.cleanups, f) }
func (r *record) Log(...any)            {}
func (r *record) Logf(string, ...any)   {}

// A process that writes a secret fails its test.
func TestProcess(t *testing.T) {
	value := secret.New("logged")
	for text, fails := range map[string]bool{"password=" + value: true, "password=***": false} {
		r := &record{TB: t}
		p := process.Start(r, exec.Command("echo", text))
		require.NoError(t, p.Wait())
		for _, f := range r.cleanups {
			f()
		}
		require.Equal(t, fails, r.failed, text)
	}
	r := &record{TB: t}
	secret.Absent(r, "metrics", "password "+value)
	require.True(t, r.failed)
}
