package why

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter/redact"
)

// explained returns all that is printed about a log with an error, in lower case.
func explained(t require.TestingT, text string) string {
	lines := pollLines(0, "a", 1, 0, 0)
	lines = append([]string{"2026-01-02T10:00:00Z\tERROR\tscale_handler\tError getting scaler metrics and activity, but continue\t{\"scaledJob.Name\": \"a\", \"error\": " +
		strconv.Quote("cannot connect: "+text) + "}", "a line of others: " + text}, lines[:2]...)
	lines = append(lines, pollLines(30, "a", 1, 0, 0)...)
	live := &Live{Conditions: []Condition{{Type: "Ready", Status: "False", Reason: "TriggerError", Message: text}}, Lint: []string{text}}
	r := Explain(Read(strings.Join(lines, "\n")), Question{Live: map[string]*Live{"a": live}})
	var b strings.Builder
	r.Print(&b)
	r.PrintRanked(&b)
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, b.String(), "cannot connect")
	return strings.ToLower(b.String() + string(data))
}

// TestRedact plants credentials in the errors of a log.
func TestRedact(t *testing.T) {
	for _, text := range []string{
		"amqp://user:hunter2secret@rabbit:5672/vhost", "redis://:hunter2secret@redis:6379", "postgres://u:hunter2secret@db/x?sslmode=disable",
		"mongodb+srv://admin:hunter2secret@c.example", "https://hunter2secret@github.com/x", "password=hunter2secret", "Password: hunter2secret;",
		"pwd=hunter2secret;Server=x", "AccountKey=hunter2secret==;EndpointSuffix=x", "SharedAccessKey=hunter2secret;", "sharedAccessKey: hunter2secret",
		"token=hunter2secret&x=1", "api_key=hunter2secret", "apiKey: hunter2secret", `"password":"hunter2secret"`, `secret: 'hunter2secret'`,
		"Authorization: Bearer hunter2secret", "Authorization: Basic hunter2secret", "authorization=hunter2secret", "bearer hunter2secret",
		"?sig=hunter2secret&se=1", "X-Amz-Signature=hunter2secret", "aws_secret_access_key=hunter2secret", "AKIAHUNTER2SECRETXX", "ghp_hunter2secretAAAA",
		"xoxb-hunter2secret-1", "eyJhbGciOi.hunter2secret.x", "-----BEGIN RSA PRIVATE KEY-----hunter2secret", "glpat-hunter2secret", "client_secret=hunter2secret",
		// forms that were printed
		`parse "amqp://user:hunter2secret/x@host": invalid port ":hunter2secret" after host`, `parse "amqp://user:***": invalid port ":a\"hunter2secret" after host`,
		"redis://:x@hunter2secret@h", "root:hunter2secret@tcp(db:3306)/x", "root:a hunter2secret@unix(/s)/x", "root:hunter2secret@/x", "passphrase=hunter2secret",
		"pass=hunter2secret", "DB_PASS=hunter2secret", "password='two hunter2secret'", `password="two \" hunter2secret"`, `{\"password\":\"two hunter2secret\"}`,
		"PWD={a;hunter2secret}", "Password=two hunter2secret;Server=x", "Cookie: a=b; session=hunter2secret", "map[Authorization:[Bearer hunter2secret]]",
		"-----BEGIN KEY-----\nabc\nhunter2secret\n-----END KEY-----", "amqp://user:hunter2secret/cut", "password: hunter2secret", "--password hunter2secret",
		`invalid password "hunter2secret"`, "<password>hunter2secret</password>", "Ocp-Apim-Subscription-Key: hunter2secret", "https://f.example/api?code=hunter2secret",
		"amqp://user:two hunter2secret@host", `Authorization: Digest username="u", response="hunter2secret"`,
	} {
		require.NotContains(t, explained(t, text), "hunter2secret", text)
	}
}

// TestKept has errors that name no credential.
func TestKept(t *testing.T) {
	for _, text := range []string{
		"dial tcp: lookup redis.shop.svc on 10.96.0.10:53: no such host", "dial tcp 10.0.0.1:6379: connect: connection refused",
		`Get "http://prometheus.monitoring:9090/api/v1/query?query=up": context deadline exceeded`, `secrets "rabbit" is forbidden`,
		"Exception (404) Reason: \"NOT_FOUND - no queue 'orders' in vhost '/'\"", "WRONGPASS invalid username-password pair or user is disabled.",
		"dial redis://redis:6379: i/o timeout", "http://[::1]:8080: EOF", "https://keda.sh/docs: see key: listName",
	} {
		require.Equal(t, text, redact.Text(text))
	}
}

// forms are the errors that a password is put into.
var forms = map[string]func(password string) string{
	"URL":                func(p string) string { return "dial amqp://user:" + p + "@rabbit:5672/vhost: refused" },
	"URL without a user": func(p string) string { return "redis://:" + p + "@redis:6379" },
	"URL, only a user":   func(p string) string { return "https://" + p + "@github.com/x" },
	"URL in quotes": func(p string) string {
		return fmt.Sprintf("parse %q: net/url: invalid userinfo", "amqp://user:"+p+"@h")
	},
	"URL, escaped": func(p string) string { return "postgres://u:" + url.QueryEscape(p) + "@db/x" },
	"two URLs":     func(p string) string { return "redis://:" + p + "@a:1,redis://:" + p + "@b:2" },
	"port": func(p string) string {
		return fmt.Sprintf("parse %q: invalid port %q after host", "amqp://u:"+p+"@h", ":"+p)
	},
	"query":          func(p string) string { return "https://h/api?user=a&password=" + url.QueryEscape(p) + "&x=1" },
	"DSN tcp":        func(p string) string { return "root:" + p + "@tcp(db:3306)/x" },
	"DSN unix":       func(p string) string { return "root:" + p + "@unix(/tmp/s)/x" },
	"DSN path":       func(p string) string { return "root:" + p + "@/x" },
	"password":       func(p string) string { return "host=db password=" + p + " user=x" },
	"Password":       func(p string) string { return "Password: " + p },
	"pwd":            func(p string) string { return "Server=x;pwd=" + p + ";Database=y" },
	"pass":           func(p string) string { return "pass=" + p },
	"passphrase":     func(p string) string { return "passphrase: " + p },
	"token":          func(p string) string { return "token = " + p },
	"environment":    func(p string) string { return "REDIS_PASS=" + p },
	"flag":           func(p string) string { return "run --password " + p },
	"struct":         func(p string) string { return "{User:a Password:" + p + " Host:x}" },
	"double quotes":  func(p string) string { return fmt.Sprintf("host=db password=%q user=x", p+" "+p) },
	"single quotes":  func(p string) string { return "password='" + strings.ReplaceAll(p, "'", `\'`) + " x' user=x" },
	"doubled quotes": func(p string) string { return "password='" + strings.ReplaceAll(p, "'", "''") + " x' user=x" },
	"backquotes":     func(p string) string { return "password=`" + p + "` user=x" },
	"message":        func(p string) string { return fmt.Sprintf("invalid password %q", p+" "+p) },
	"braces":         func(p string) string { return "PWD={" + p + ";" + p + "};Server=x" },
	"JSON":           func(p string) string { return `{"user": "a", "password": ` + jsonOf(p+" "+p) + `, "x": 1}` },
	"JSON in JSON":   func(p string) string { return jsonOf(`{"password":` + jsonOf(p+" "+p) + `}`) },
	"YAML":           func(p string) string { return "clientSecret: '" + strings.ReplaceAll(p, "'", "''") + "'" },
	"XML":            func(p string) string { return "<password>" + p + "</password>" },
	"Bearer":         func(p string) string { return "Authorization: Bearer " + p },
	"bearer":         func(p string) string { return "sent bearer " + p },
	"Basic": func(p string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+p))
	},
	"header":              func(p string) string { return "map[Authorization:[Bearer " + p + "]]" },
	"header in JSON":      func(p string) string { return `{"Authorization":` + jsonOf("Bearer "+p) + `}` },
	"header of a key":     func(p string) string { return "X-Api-Key: " + p },
	"proxy authorization": func(p string) string { return "Proxy-Authorization: " + p },
	"cookie":              func(p string) string { return "Cookie: a=b; session=" + p },
}

func jsonOf(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// TestNoPieceIsLeft has passwords with delimiters in each form. Those with a space and without quotes
// around them are left out: nothing shows where they end.
func TestNoPieceIsLeft(t *testing.T) {
	names := slices.Sorted(maps.Keys(forms))
	require.GreaterOrEqual(t, len(names), 30)
	look := func(t require.TestingT, name, password string, print func(require.TestingT, string) string) {
		text := forms[name](password)
		left, without := print(t, text), print(t, forms[name]("***"))
		for _, p := range []string{password, strings.Trim(strconv.Quote(password), `"`), base64.StdEncoding.EncodeToString([]byte("user:" + password))[8:]} {
			for i := range len(p) - 4 {
				piece := strings.ToLower(p[i : i+5])
				if strings.Trim(piece, `\":@`) != "" && !strings.Contains(without, piece) { // escapes around it are no piece
					require.NotContains(t, left, piece, "%s: %s", name, text)
				}
			}
		}
	}
	redacted := func(_ require.TestingT, text string) string { return strings.ToLower(redact.Text(text)) }
	for _, name := range names {
		for _, d := range `/?#@%:&+"',;=<>(){}[]\` + "`" {
			look(t, name, "Zq7w"+string(d)+"Xk9vJ"+string(d)+string(d)+"w8", redacted)
			look(t, name, string(d)+"Zq7w9k"+string(d), redacted)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		look(t, rapid.SampledFrom(names).Draw(t, "form"), rapid.StringMatching(`[A-Z3-9/?#@%:&+"',;=\\]{6,24}`).Draw(t, "password"), explained)
	})
}
