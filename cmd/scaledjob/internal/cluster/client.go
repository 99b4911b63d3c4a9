package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// ClusterFlags choose a cluster, with the names that kubectl has for them.
type ClusterFlags struct {
	kubeconfig, context, Namespace string
	timeout                        time.Duration    // of a request; 0 is none
	said                           func() io.Writer // for a message while a request waits
}

// Add adds the flags to a command.
func (f *ClusterFlags) Add(c *cobra.Command) {
	c.Flags().StringVarP(&f.Namespace, "namespace", "n", "", "`namespace` in the cluster (default the context's)")
	c.Flags().StringVar(&f.context, "context", "", "`context` of the kubeconfig (default the current one)")
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` (default $KUBECONFIG or ~/.kube/config)")
	c.Flags().DurationVar(&f.timeout, "request-timeout", 30*time.Second, "`time` limit of a request to the cluster; 0 is none")
	_ = c.MarkFlagFilename("kubeconfig")
	f.said = c.ErrOrStderr
}

// Split separates names in the cluster from files. A name is no path, and has no extension
// of a manifest. It is no file either, unless a flag chooses a cluster.
func (f *ClusterFlags) Split(args []string) (names, files []string) {
	for _, a := range args {
		_, err := os.Stat(a)
		file := a == "-" || a == "" || strings.ContainsRune(a, os.PathSeparator) || input.ManifestName.MatchString(a) || (err == nil && !f.Chosen())
		if name, ok := strings.CutPrefix(a, "scaledjob/"); ok && err != nil {
			a, file = name, false
		}
		if file {
			files = append(files, a)
		} else {
			names = append(names, a)
		}
	}
	return names, files
}

// Chosen reports whether a flag chooses a cluster.
func (f *ClusterFlags) Chosen() bool { return f.kubeconfig+f.context+f.Namespace != "" }

// A Client reads a namespace of a cluster. It sends GET requests only.
type Client struct {
	requests  *rest.RESTClient
	Namespace string
	host      string
	timeout   time.Duration
	waits     func() // is called once, while the first slow request waits
}

// patience is the time without an answer after which a command says that it waits.
const patience = 2 * time.Second

// Client returns a client of the chosen cluster and namespace.
func (f *ClusterFlags) Client() (*Client, error) {
	if f.timeout < 0 {
		return nil, input.Usagef("--request-timeout %s: less than 0; use a time such as 90s, or 0 for no limit", f.timeout)
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.context}
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no kubeconfig; use --kubeconfig, or the file of a manifest")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", input.FileError(f.kubeconfig, err))
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.Timeout, config.UserAgent = f.timeout, "scaledjob"
	config.QPS, config.Burst = 50, 300 // kubectl's
	config.GroupVersion = &schema.GroupVersion{Version: "v1"}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, *config.GroupVersion) // for the errors of the API server
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	r, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	host := r.Get().URL().Host
	waits := sync.OnceFunc(func() {
		limit := "without a limit"
		if f.timeout > 0 {
			limit = fmt.Sprintf("for at most %s a request", f.timeout)
		}
		fmt.Fprintf(f.said(), "scaledjob: waiting for %s, %s (--request-timeout)\n", report.Clean(host), limit)
	})
	return &Client{r, cmp.Or(f.Namespace, namespace), host, f.timeout, waits}, nil
}

// Subjects reads ScaledJobs, and all Jobs and their pods of the namespace.
func (c *Client) Subjects(ctx context.Context, names []string) (subjects []Subject, problems error) {
	found, problems := c.ScaledJobs(ctx, names, false)
	if len(found) == 0 {
		return nil, problems
	}
	d, err := c.Dump(ctx)
	if err != nil {
		return nil, errors.Join(problems, err)
	}
	for _, m := range found {
		subjects = append(subjects, Subject{m, d})
	}
	return subjects, problems
}

// Dump reads the Jobs of the namespace and their pods.
func (c *Client) Dump(ctx context.Context) (*Dump, error) {
	jobs, failed := List[*Job](ctx, c, "/apis/batch/v1/namespaces/"+c.Namespace+"/jobs")
	if failed != nil {
		failed = fmt.Errorf("list Jobs in namespace %s: %w", c.Namespace, failed)
	}
	pods, err := List[*Pod](ctx, c, "/api/v1/namespaces/"+c.Namespace+"/pods", "labelSelector", "job-name")
	if err != nil {
		err = fmt.Errorf("list Pods in namespace %s: %w", c.Namespace, err)
	}
	return &Dump{jobs, pods, true, len(jobs)}, errors.Join(failed, err)
}

// ScaledJobs reads ScaledJobs as [Client.Sources] does.
func (c *Client) ScaledJobs(ctx context.Context, names []string, everywhere bool) (scaledJobs []*input.ScaledJob, problems error) {
	sources, problems := c.Sources(ctx, names, everywhere)
	for _, s := range sources {
		m, err := SingleScaledJob(s)
		if problems = errors.Join(problems, err); err == nil {
			scaledJobs = append(scaledJobs, m)
		}
	}
	return scaledJobs, problems
}

// SingleScaledJob returns the only ScaledJob of an answer of the API server.
func SingleScaledJob(s input.Source) (*input.ScaledJob, error) {
	found, _, err := s.Manifests()
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s: the API server returned another kind", s.Name)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Sources reads the texts of ScaledJobs by name: without a name all of the namespace, or of the cluster.
func (c *Client) Sources(ctx context.Context, names []string, everywhere bool) (sources []input.Source, problems error) {
	for _, name := range names {
		source, err := c.Object(ctx, manifest.GroupVersionKind, name)
		if err != nil {
			problems = errors.Join(problems, err)
			continue
		}
		sources = append(sources, source)
	}
	if len(names) > 0 {
		return sources, problems
	}
	group := manifest.GroupVersionKind.GroupVersion().String()
	location, path := "namespace "+c.Namespace, "/apis/"+group+"/namespaces/"+c.Namespace+"/scaledjobs"
	if everywhere {
		location, path = "the cluster", "/apis/"+group+"/scaledjobs"
	}
	items, err := List[json.RawMessage](ctx, c, path)
	for _, item := range items {
		var named struct {
			Metadata struct{ Name, Namespace string }
		}
		problems = errors.Join(problems, json.Unmarshal(item, &named))
		sources = append(sources, input.Source{Name: title("ScaledJob", named.Metadata.Name, named.Metadata.Namespace), Data: item})
	}
	switch {
	case err != nil:
		err = fmt.Errorf("list ScaledJobs in %s: %w", location, err)
	case len(items) == 0:
		err = fmt.Errorf("no ScaledJob in %s", location)
	}
	return sources, errors.Join(problems, err)
}

// Object reads a custom object of the namespace, whose resource is the plural of its kind.
func (c *Client) Object(ctx context.Context, kind schema.GroupVersionKind, name string) (input.Source, error) {
	source := input.Source{Name: title(kind.Kind, name, c.Namespace)}
	data, err := c.Read(ctx, "/apis/"+kind.GroupVersion().String()+"/namespaces/"+c.Namespace+"/"+strings.ToLower(kind.Kind)+"s/"+name)
	if err != nil {
		return source, fmt.Errorf("%s: %w", source.Name, err)
	}
	source.Data = data
	return source, nil
}

func title(kind, name, namespace string) string {
	return fmt.Sprintf("%s %s in namespace %s", kind, name, namespace)
}

// get returns the body of the answer, or the API server's words as an error.
func (c *Client) get(ctx context.Context, request *rest.Request) (data []byte, err error) {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		result := request.Do(klog.NewContext(ctx, klog.Logger{})) // the error has its words
		if err = result.Error(); err == nil {
			data, err = result.Raw()
		}
	}()
	slow := time.NewTimer(patience)
	defer slow.Stop()
	select {
	case <-answered:
	case <-slow.C:
		c.waits() // here, so that the command writes from one goroutine
		<-answered
	}
	return data, c.readable(err)
}

// Completes completes the names of the cluster's ScaledJobs if a flag selects a cluster,
// and files otherwise.
func (f *ClusterFlags) Completes(c *cobra.Command) {
	files := c.ValidArgsFunction
	c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if !f.Chosen() {
			return files(c, args, typed)
		}
		client, err := f.Client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		client.waits = func() {} // the shell shows the typed line
		found, _ := client.ScaledJobs(c.Context(), nil, false)
		var names []string
		for _, m := range found {
			names = append(names, m.Name())
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// readable says what to do about a request without an answer, and leaves out its URL.
func (c *Client) readable(err error) error {
	var untrusted *tls.CertificateVerificationError
	var operation *net.OpError
	var network net.Error
	var sent *url.Error
	switch {
	case errors.As(err, &untrusted):
		return fmt.Errorf("the certificate of %s is not trusted: %s; check certificate-authority and server in the kubeconfig",
			c.host, strings.TrimPrefix(untrusted.Err.Error(), "x509: "))
	case errors.As(err, &operation) && operation.Op == "remote error": // an alert of TLS
		return fmt.Errorf("%s refuses the TLS connection: %s; check the client certificate in the kubeconfig",
			c.host, strings.TrimPrefix(operation.Err.Error(), "tls: "))
	case errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("%s sent no answer within %s; check the server, or use a longer --request-timeout", c.host, c.timeout)
	case errors.As(err, &sent):
		return fmt.Errorf("%s is unreachable: %w", c.host, sent.Err)
	}
	return err
}
