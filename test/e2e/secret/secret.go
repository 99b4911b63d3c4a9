// Package secret makes the secrets of tests, and looks for them in all that the program under
// test writes.
//
//	password := secret.New("redis")
//	...
//	secret.Absent(t, "metrics", metrics)
//	secret.AbsentFromObjects(t, c.Config())
//
// Package process looks for all of them in the output of each process. Tokens that package
// cluster makes are secrets, too.
package secret

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// shortest is the length of the shortest secret; a shorter one could be found by chance.
const shortest = 16

var (
	mu      sync.Mutex
	formsOf = map[string][]string{} // the forms of each secret
)

// New returns a secret that no other test has. It begins with the name.
func New(name string) string {
	value := name + "-" + rand.Text()
	Add(value)
	return value
}

// Add makes secrets of values that a test has from elsewhere. Each line of a PEM block is one;
// lines of fewer than 16 bytes are not.
func Add(values ...string) {
	mu.Lock()
	defer mu.Unlock()
	for _, v := range values {
		for line := range strings.Lines(v) {
			if line = strings.TrimSpace(line); len(line) >= shortest && !strings.HasPrefix(line, "-----") {
				formsOf[line] = forms(line)
			}
		}
	}
}

// forms returns the value as it is, in URLs, and in base64 behind any other text.
func forms(value string) []string {
	texts := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	for offset := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat(" ", offset) + value))
		text = text[(8*offset+5)/6 : 8*(offset+len(value))/6] // the characters that the value alone determines
		texts = append(texts, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
	}
	return texts
}

// In returns the secrets that a text has in any form.
func In(text string) (found []string) {
	mu.Lock()
	defer mu.Unlock()
	for value, forms := range formsOf {
		if slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) }) {
			found = append(found, value)
		}
	}
	slices.Sort(found)
	return found
}

// Absent checks that a text has no secret.
func Absent(t testing.TB, place, text string) {
	t.Helper()
	assert.Empty(t, In(text), "secrets in the %s", place)
}

// AbsentFromObjects checks that no object of the cluster has a secret: no event, no status, no
// annotation. Secrets may have it, and the specs that users write.
func AbsentFromObjects(t testing.TB, config *rest.Config) {
	t.Helper()
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{} // some kinds are deprecated
	client, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
	lists, err := client.ServerPreferredResources()
	require.NoError(t, err)
	objects, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	events := 0
	for _, l := range lists {
		version, err := schema.ParseGroupVersion(l.GroupVersion)
		require.NoError(t, err)
		for _, r := range l.APIResources {
			if !slices.Contains(r.Verbs, "list") || (version.Group == "" && r.Name == "secrets") {
				continue
			}
			list, err := objects.Resource(version.WithResource(r.Name)).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err, r.Name)
			for _, u := range list.Items {
				delete(u.Object, "spec")
				data, err := json.Marshal(u.Object)
				require.NoError(t, err)
				Absent(t, r.Name+" "+u.GetNamespace()+"/"+u.GetName(), string(data))
			}
			if r.Name == "events" {
				events += len(list.Items)
			}
		}
	}
	assert.Positive(t, events, "events to look at")
}
