package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/test/premise"
)

// Whatever a text does with a password, no piece of four characters of it is left.
func TestNoPieceIsLeft(t *testing.T) {
	premise.CheckN(t, 200, func(t *rapid.T, c *premise.Counts) {
		password := rapid.StringMatching(`[A-Z0-9]{6,9}[/?#@%:&+ ][A-Z0-9]{6,9}([/?#@%][A-Z0-9]{1,7})?`).Draw(t, "password")
		secret := password
		inURL := rapid.Bool().Draw(t, "in a URL")
		c.Note("in a URL", inURL)
		if inURL {
			secret = "amqp://user:" + password + "@rabbit.default:5672/%2f"
		}
		var s Secrets
		s.Add(secret)
		pair, at := []byte("someone:"+password), len(password)/2
		quoted, err := json.Marshal(password)
		require.NoError(t, err)
		for _, encoded := range []string{base64.StdEncoding.EncodeToString(pair), base64.RawURLEncoding.EncodeToString(pair), hex.EncodeToString(pair)} {
			require.NotContains(t, s.Text("sent "+encoded), encoded)
		}
		_, err = url.Parse("amqp://user:" + password + "@host:1")
		for _, text := range []string{
			"nul " + password[:at] + "\x00" + password[at:], "invisible " + password[:at] + "\u200b" + password[at:], "lines " + password[:at] + "\n" + password[at:],
			fmt.Sprintf(`escaped \u%04x%s`, password[0], password[1:]), fmt.Sprintf(`escaped \x%02x%s`, password[0], password[1:]), fmt.Sprintf("JSON %q", quoted),
			"bytes " + fmt.Sprint([]byte(password)), "plain: " + password, fmt.Sprintf("quoted %q", password), "query " + url.QueryEscape(password), "path " + url.PathEscape(password),
			"user " + url.UserPassword("user", password).String(), fmt.Sprint(err), "lower " + strings.ToLower(password),
		} {
			redacted := strings.ToLower(s.Text(text))
			for i := 0; i+4 <= len(password); i++ {
				piece := strings.ToLower(password[i : i+4])
				require.NotContains(t, redacted, piece, "%q of %q", text, secret)
			}
			require.NotContains(t, redacted, strings.Trim(fmt.Sprint([]byte(password)), "[]"))
		}
	}, premise.Least{"in a URL": 0.25})
}

func TestShortSecretReplacesTheText(t *testing.T) {
	var s Secrets
	s.Add("pw1")
	require.Equal(t, "the hash is 00707731 of aXBsw7D/", s.Text("the hash is 00707731 of aXBsw7D/"), "encoded, it may be anything")
	require.Equal(t, Withheld("x"), s.Text("the password pw1 is wrong"))
	require.Equal(t, "the spw12 is wrong", s.Text("the spw12 is wrong"), "not a word of its own")
	require.Contains(t, s.Text("dial pw1: connection refused"), "connection refused")
}

func TestUsefulTextStays(t *testing.T) {
	var s Secrets
	s.Add("amqp://guest:verysecret@rabbit.default.svc:5672/")
	require.Equal(t, "dial tcp: lookup [redacted] on 10.0.0.10:53: no such host", s.Text("dial tcp: lookup rabbit.default.svc on 10.0.0.10:53: no such host"))
	require.Equal(t, "one line of text", new(Secrets).Text("one\nline\x00 of text"))
}

// However long a tenant's values and a server's texts are, a text takes little time; it took minutes.
func TestLongValues(t *testing.T) {
	for name, of := range map[string]func(i int) string{
		"words":   func(i int) string { return fmt.Sprintf("%06x ", i) },
		"escapes": func(i int) string { return fmt.Sprintf("%%%06x/", i) },
		"quotes":  func(i int) string { return fmt.Sprintf("\"\\%06x\x01", i) },
		"short":   func(i int) string { return fmt.Sprintf("%x ", i) },
		"one":     func(i int) string { return "x" },
	} {
		var secrets Secrets
		var b strings.Builder
		for i := 0; b.Len() < longestSum; i++ {
			b.WriteString(of(i))
		}
		secrets.Add(b.String()[:longestSum])
		begin := time.Now()
		secrets.Text(strings.Repeat("0000000a É", longest/11))
		t.Logf("%s: %s", name, time.Since(begin))
		require.Less(t, time.Since(begin), 3*time.Second, name)
		secrets.Add(b.String()[:longestSum-1])
		require.Equal(t, Withheld(""), secrets.Text("a text"), name)
	}
}
