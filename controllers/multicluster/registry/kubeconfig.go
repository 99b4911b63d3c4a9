package registry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/scaledjob/scaledjob/field"
)

const suffix = ".kubeconfig"

// A Member is a registered cluster.
type Member struct {
	Name string
	Registration
	Kubeconfig string
	Context    string // of the kubeconfig
	Proof      []byte // the key that proves which Jobs the hub created; nil for none
	// Config is the access to the member; nil if Err is set.
	Config *rest.Config
	Err    error
	// Invalid is the error of the registration alone.
	Invalid error
}

// Parse returns the members that a Secret's data has, by name.
func Parse(data map[string][]byte) []Member {
	var members []Member
	for _, key := range slices.Sorted(maps.Keys(data)) {
		name, ok := strings.CutSuffix(key, suffix)
		if !ok {
			continue
		}
		m := Member{Name: name, Kubeconfig: string(data[key]), Proof: data[keyOfJobs]}
		m.Context, m.Config, m.Err = parse(data[key])
		m.Registration, m.Invalid = parseRegistration(data[name+registrationSuffix])
		if m.Invalid = errors.Join(checkName(name), checkKey(m.Proof), m.Invalid); m.Invalid != nil {
			m.Config, m.Err = nil, errors.Join(m.Err, m.Invalid)
		}
		members = append(members, m)
	}
	return members
}

// Server returns the URL of the member's API server, without user and password, or "".
func (m *Member) Server() string {
	if m.Config == nil {
		return ""
	}
	return m.Config.Host
}

func parse(kubeconfig []byte) (context string, config *rest.Config, err error) {
	file, err := clientcmd.Load(kubeconfig)
	if err != nil { // which may quote a part of it
		return "", nil, errors.New("the text is not a kubeconfig")
	}
	if err := refuse(file); err != nil { // before anything is read or run
		return file.CurrentContext, nil, err
	}
	if err := Check(file); err != nil { // before an error quotes the file
		return file.CurrentContext, nil, err
	}
	config, err = clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
	if err != nil {
		return file.CurrentContext, nil, err
	}
	if err := errors.Join(WithoutUser(config), guard(config)); err != nil {
		return file.CurrentContext, nil, err
	}
	if _, err := rest.HTTPClientFor(config); err != nil { // such as for its certificates
		return file.CurrentContext, nil, err
	}
	return file.CurrentContext, config, nil
}

// Check returns an error if the current cluster of the kubeconfig has a URL that cannot be
// used. The error of client-go would quote the URL, with the password that may be in it.
func Check(file *clientcmdapi.Config) error {
	_, cluster := current(file)
	var problems field.Errors
	for _, u := range []struct {
		path, value string
		schemes     []string
	}{
		{"cluster.server", cluster.Server, []string{"https", "http"}},
		{"cluster.proxy-url", cluster.ProxyURL, []string{"https", "http", "socks5"}},
	} {
		parsed, err := url.Parse(u.value)
		plain := u.path == "cluster.server" && !strings.Contains(u.value, "://") && !strings.ContainsAny(u.value, "@ ") // host:port
		valid := err == nil && parsed.Host != "" && slices.Contains(u.schemes, parsed.Scheme)
		if u.value != "" && !plain && !valid {
			problems.Add(field.Error{Path: u.path, Found: "an invalid URL", Fix: "a URL that begins with " + strings.Join(u.schemes, ", ") + " and has a host"})
		}
	}
	return problems.Err()
}

// WithoutUser removes user and password from the server's URL, which is printed in logs,
// lists and errors, and sends them with each request instead, unless there are
// other credentials.
func WithoutUser(config *rest.Config) error {
	if !strings.Contains(config.Host, "@") {
		return nil
	}
	parsed, err := url.Parse(config.Host)
	if err != nil {
		return errors.New("the server's URL is invalid")
	}
	if parsed.User == nil {
		return nil
	}
	if config.Username == "" && config.BearerToken == "" {
		config.Username = parsed.User.Username()
		config.Password, _ = parsed.User.Password()
	}
	parsed.User = nil
	config.Host = parsed.String()
	return nil
}

// current returns the user and the cluster of the current context, or empty ones.
func current(file *clientcmdapi.Config) (*clientcmdapi.AuthInfo, *clientcmdapi.Cluster) {
	c := cmp.Or(file.Contexts[file.CurrentContext], &clientcmdapi.Context{})
	return cmp.Or(file.AuthInfos[c.AuthInfo], &clientcmdapi.AuthInfo{}), cmp.Or(file.Clusters[c.Cluster], &clientcmdapi.Cluster{})
}

// refuse returns an error if the kubeconfig names a program to run or a file to read.
func refuse(file *clientcmdapi.Config) error {
	user, cluster := current(file)
	var problems []error
	for _, p := range []struct {
		found   bool
		problem string
	}{
		{user.Exec != nil, "exec: a program would be run"},
		{user.AuthProvider != nil, "auth-provider: it is not supported"},
		{user.TokenFile != "", "tokenFile: want token"},
		{user.ClientCertificate != "", "client-certificate: want client-certificate-data"},
		{user.ClientKey != "", "client-key: want client-key-data"},
		{cluster.CertificateAuthority != "", "certificate-authority: want certificate-authority-data"},
	} {
		if p.found {
			problems = append(problems, fmt.Errorf("the kubeconfig has %s", p.problem))
		}
	}
	return errors.Join(problems...)
}

// checkName returns an error if a cluster cannot have that name.
func checkName(name string) error {
	problems := validation.IsDNS1123Subdomain(name)
	if limit := validation.DNS1123SubdomainMaxLength - len(suffix); len(name) > limit { // with suffix it is a key of the Secret
		problems = []string{validation.MaxLenError(limit)}
	}
	if len(problems) > 0 {
		return fmt.Errorf("member %q: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// shortestKey is the length of a key that cannot be guessed, in bytes.
const shortestKey = 16

// checkKey returns an error if a key is short enough to be guessed.
func checkKey(key []byte) error {
	if len(key) > 0 && len(key) < shortestKey {
		return &field.Error{Path: keyOfJobs, Found: fmt.Sprintf("%d bytes", len(key)), Fix: fmt.Sprintf("at least %d random bytes", shortestKey)}
	}
	return nil
}

// kubeconfig returns a kubeconfig with a token, for the server of config and by its proxy.
func kubeconfig(name, token string, config *rest.Config) ([]byte, error) {
	config = rest.CopyConfig(config)
	if err := WithoutUser(config); err != nil {
		return nil, err
	}
	proxy, err := proxyOf(config)
	if err != nil {
		return nil, err
	}
	account := Account + "@" + name
	return clientcmd.Write(clientcmdapi.Config{
		CurrentContext: account,
		Contexts:       map[string]*clientcmdapi.Context{account: {Cluster: name, AuthInfo: account}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{account: {Token: token}},
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: config.Host, TLSServerName: config.ServerName, ProxyURL: proxy,
			CertificateAuthorityData: config.CAData, InsecureSkipTLSVerify: config.Insecure,
		}},
	})
}

// Unprotected returns why the connection of a kubeconfig is not encrypted or not verified, or "".
func Unprotected(kubeconfig []byte) string {
	_, config, err := parse(kubeconfig)
	switch {
	case err != nil:
	case config.Insecure:
		return "the kubeconfig does not verify the certificate of the API server"
	case strings.HasPrefix(config.Host, "http://"):
		return "the API server is reached without TLS"
	}
	return ""
}

// proxyOf returns the proxy-url that config was made with, or "".
func proxyOf(config *rest.Config) (string, error) {
	if config.Proxy == nil {
		return "", nil
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return "", errors.New("the server's URL is invalid")
	}
	proxy, err := config.Proxy(&http.Request{URL: base})
	if err != nil || proxy == nil {
		return "", err
	}
	return proxy.String(), nil
}
