package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/triggers"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/redact"
	"github.com/scaledjob/scaledjob/adapter/triggers/internal/wire"
)

// A password comes from Vault, with a token of the namespace's ServiceAccount, if the administrator has named
// Vault's address and the token's audience. What either of them is for another namespace does not count.
func TestVault(t *testing.T) {
	vault := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/auth/kubernetes/login":
			fmt.Fprint(w, `{"auth": {"client_token": "of-vault"}}`)
		case "/v1/auth/token/lookup-self":
			fmt.Fprint(w, `{"data": {"renewable": false}}`)
		default:
			fmt.Fprint(w, `{"data": {"password": "from-vault"}}`)
		}
	}))
	t.Cleanup(vault.Close)
	auth := secretAuth("auth", "", "")
	auth["spec"] = map[string]any{"hashiCorpVault": map[string]any{
		"address": vault.URL, "authentication": "kubernetes", "mount": "kubernetes", "role": "queue", "credential": map[string]any{"serviceAccountName": "reader"},
		"secrets": []any{map[string]any{"parameter": "password", "path": "queues/redis", "key": "password"}},
	}}
	client := fake.NewClientset()
	client.PrependReactor("create", "serviceaccounts", func(a clienttesting.Action) (bool, kruntime.Object, error) {
		request := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenRequest)
		require.Equal(t, []string{"vault"}, request.Spec.Audiences)
		claims := fmt.Sprintf(`{"sub": "system:serviceaccount:team:reader", "aud": ["vault"], "exp": %d}`, time.Now().Add(time.Hour).Unix())
		encode := base64.RawURLEncoding.EncodeToString
		request.Status.Token = encode([]byte(`{"alg": "RS256"}`)) + "." + encode([]byte(claims)) + "." + encode([]byte("signature"))
		return true, request, nil
	})
	in := redis(aRedis(t, "from-vault"), "list")
	in.AuthenticationRef = &manifest.AuthenticationRef{Name: "auth"}
	vaults := func(namespace, address string) triggers.Allowance {
		return triggers.Allowance{Kind: "vault", Namespaces: []string{namespace}, Hosts: []string{address}}
	}
	for says, o := range map[string]triggers.Options{
		"":                                     {Audiences: map[string]string{"team/reader": "vault"}, Allow: []triggers.Allowance{vaults("team", vault.URL)}},
		"-token-audience team/reader=AUDIENCE": {Allow: []triggers.Allowance{vaults("team", vault.URL)}},
		"-allow-trigger vault=team@":           {Allow: []triggers.Allowance{vaults("team", "https://vault.example"), vaults("other", vault.URL)}},
	} {
		o.Start, o.Client = local(t).Start, client
		o.Dynamic = dynamicfake.NewSimpleDynamicClient(kruntime.NewScheme(), &unstructured.Unstructured{Object: auth})
		r, err := triggers.New(o)
		require.NoError(t, err)
		t.Cleanup(r.Close)
		metrics, err := r.Read(t.Context(), owner("a", in))
		if says == "" {
			require.NoError(t, err)
			require.Equal(t, 7., metrics[0].Value)
			continue
		}
		require.ErrorContains(t, err, says)
	}
}

// A request for a token belongs to its own read, and without one to the read that built the client, no longer
// than that lasts.
func TestTokensOfReads(t *testing.T) {
	of := func(token string) context.Context {
		s := &stream{secrets: &redact.Secrets{}, known: map[string]wire.Answer{"Token team/vault ": {Object: []byte(`{"status": {"token": "` + token + `"}}`)}}}
		return context.WithValue(t.Context(), streamKey{}, s)
	}
	before := tokens{read: of("before")}.ServiceAccounts("team")
	for want, ctx := range map[string]context.Context{"before": t.Context(), "now": of("now")} {
		got, err := before.CreateToken(ctx, "vault", nil, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got.Status.Token)
	}
	_, err := tokens{}.ServiceAccounts("team").CreateToken(t.Context(), "vault", nil, metav1.CreateOptions{})
	require.ErrorIs(t, err, errNoStream)
}
