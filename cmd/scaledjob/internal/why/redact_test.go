package why

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRedact plants credentials in the errors of a log.
func TestRedact(t *testing.T) {
	planted := []string{
		"amqp://user:hunter2secret@rabbit:5672/vhost", "redis://:hunter2secret@redis:6379", "postgres://u:hunter2secret@db/x?sslmode=disable",
		"mongodb+srv://admin:hunter2secret@c.example", "https://hunter2secret@github.com/x", "password=hunter2secret", "Password: hunter2secret;",
		"pwd=hunter2secret;Server=x", "AccountKey=hunter2secret==;EndpointSuffix=x", "SharedAccessKey=hunter2secret;", "sharedAccessKey: hunter2secret",
		"token=hunter2secret&x=1", "api_key=hunter2secret", "apiKey: hunter2secret", `"password":"hunter2secret"`, `secret: 'hunter2secret'`,
		"Authorization: Bearer hunter2secret", "Authorization: Basic hunter2secret", "authorization=hunter2secret", "bearer hunter2secret",
		"?sig=hunter2secret&se=1", "X-Amz-Signature=hunter2secret", "aws_secret_access_key=hunter2secret", "AKIAHUNTER2SECRETXX", "ghp_hunter2secretAAAA",
		"xoxb-hunter2secret-1", "eyJhbGciOi.hunter2secret.x", "-----BEGIN RSA PRIVATE KEY-----hunter2secret", "glpat-hunter2secret", "client_secret=hunter2secret",
	}
	require.Len(t, planted, 30)
	for _, text := range planted {
		lines := pollLines(0, "a", 1, 0, 0)
		lines = append([]string{"2026-01-02T10:00:00Z\tERROR\tscale_handler\tError getting scaler metrics and activity, but continue\t{\"scaledJob.Name\": \"a\", \"error\": " +
			strconv.Quote("cannot connect: "+text) + "}", "a line of others: " + text}, lines[:2]...)
		lines = append(lines, pollLines(30, "a", 1, 0, 0)...)
		r := Explain(Read(strings.Join(lines, "\n")), Question{})
		var b strings.Builder
		r.Print(&b)
		r.PrintRanked(&b)
		data, err := json.Marshal(r)
		require.NoError(t, err)
		require.Contains(t, b.String(), "cannot connect")
		require.NotContains(t, strings.ToLower(b.String()+string(data)), "hunter2secret", text)
	}
}
