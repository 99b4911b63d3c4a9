package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const suffix = ".kubeconfig"

// A Member is a registered cluster.
type Member struct {
	Name       string
	Kubeconfig string
	Context    string // of the kubeconfig
	// Config is the way to it; nil where Err says why there is none.
	Config *rest.Config
	Err    error
}

// Parse returns the members that a Secret's data has, by name.
func Parse(data map[string][]byte) []Member {
	var members []Member
	for _, key := range slices.Sorted(maps.Keys(data)) {
		name, ok := strings.CutSuffix(key, suffix)
		if !ok {
			continue
		}
		m := Member{Name: name, Kubeconfig: string(data[key])}
		m.Context, m.Config, m.Err = parse(data[key])
		members = append(members, m)
	}
	return members
}

// Server is the URL of the member's API server, "" where it is not known.
func (m *Member) Server() string {
	if m.Config == nil {
		return ""
	}
	return m.Config.Host
}

func parse(kubeconfig []byte) (context string, config *rest.Config, err error) {
	file, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return "", nil, err
	}
	if err := refuse(file); err != nil { // before anything is read or run
		return file.CurrentContext, nil, err
	}
	config, err = clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
	return file.CurrentContext, config, err
}

// refuse is an error where the kubeconfig names a program to run or a file to read.
func refuse(file *clientcmdapi.Config) error {
	user, cluster := &clientcmdapi.AuthInfo{}, &clientcmdapi.Cluster{}
	if c := file.Contexts[file.CurrentContext]; c != nil {
		if u := file.AuthInfos[c.AuthInfo]; u != nil {
			user = u
		}
		if s := file.Clusters[c.Cluster]; s != nil {
			cluster = s
		}
	}
	var problems []error
	for _, p := range []struct {
		is   bool
		what string
	}{
		{user.Exec != nil, "exec: a program would be run"},
		{user.AuthProvider != nil, "auth-provider: it is not supported"},
		{user.TokenFile != "", "tokenFile: want token"},
		{user.ClientCertificate != "", "client-certificate: want client-certificate-data"},
		{user.ClientKey != "", "client-key: want client-key-data"},
		{cluster.CertificateAuthority != "", "certificate-authority: want certificate-authority-data"},
	} {
		if p.is {
			problems = append(problems, fmt.Errorf("the kubeconfig has %s", p.what))
		}
	}
	return errors.Join(problems...)
}

// checkName is an error where a cluster cannot have that name.
func checkName(name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("member %q: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// kubeconfig is one with a token, for the server of config.
func kubeconfig(name, token string, config *rest.Config) ([]byte, error) {
	account := Account + "@" + name
	return clientcmd.Write(clientcmdapi.Config{
		CurrentContext: account,
		Contexts:       map[string]*clientcmdapi.Context{account: {Cluster: name, AuthInfo: account}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{account: {Token: token}},
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: config.Host, TLSServerName: config.ServerName,
			CertificateAuthorityData: config.CAData, InsecureSkipTLSVerify: config.Insecure,
		}},
	})
}
