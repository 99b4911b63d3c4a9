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
	c.Flags().StringVarP(&f.Namespace, "namespace", "n", "", "`namespace` of the ScaledJob in the cluster (default: the context's)")
	c.Flags().StringVar(&f.context, "context", "", "`context` of the kubeconfig (default the current one)")
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "`file` with the kubeconfig (default $KUBECONFIG, or ~/.kube/config)")
	c.Flags().DurationVar(&f.timeout, "request-timeout", 30*time.Second, "longest `time` of a request to the cluster, such as 90s; 0 is no limit")
	_ = c.MarkFlagFilename("kubeconfig")
	f.said = c.ErrOrStderr
}

// Split separates names in the cluster from files. A name is no path, and has no extension
// of a manifest. It is no file either, unless a flag chooses a cluster.
func (f *ClusterFlags) Split(args []string) (names, files []string) {
	for _, a := range args {
		_, err := os.Stat(a)
		file := a == "-" || a == "" || strings.ContainsRune(a, os.PathSeparator) || input.ManifestName.MatchString(a) || err == nil && !f.Given()
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

// Given reports whether a flag chooses a cluster.
func (f *ClusterFlags) Given() bool { return f.kubeconfig+f.context+f.Namespace != "" }

// A Client reads a namespace of a cluster. It sends GET requests only.
type Client struct {
	rest      *rest.RESTClient
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
		return nil, errors.New("no such file, and no kubeconfig; use the file of a manifest, or --kubeconfig")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", input.FileError(f.kubeconfig, err))
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.Timeout, config.UserAgent = f.timeout, "scaledjob"
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
func (c *Client) Subjects(ctx context.Context, names []string) (all []Subject, problems error) {
	d := &Dump{Complete: true}
	for _, name := range names {
		m, err := c.scaledJob(ctx, name)
		if err != nil {
			problems = errors.Join(problems, err)
			continue
		}
		all = append(all, Subject{m, d})
	}
	if len(all) == 0 {
		return nil, problems
	}
	if err := errors.Join(
		c.list(ctx, d, "Job", "/apis/batch/v1/namespaces/"+c.Namespace+"/jobs", ""),
		c.list(ctx, d, "Pod", "/api/v1/namespaces/"+c.Namespace+"/pods", "job-name"),
	); err != nil {
		return nil, errors.Join(problems, err)
	}
	return all, problems
}

// ScaledJobs reads ScaledJobs by name: without a name all of the namespace, or of the cluster.
func (c *Client) ScaledJobs(ctx context.Context, names []string, everywhere bool) (all []*input.ScaledJob, problems error) {
	for _, name := range names {
		m, err := c.scaledJob(ctx, name)
		if problems = errors.Join(problems, err); err == nil {
			all = append(all, m)
		}
	}
	if len(names) > 0 {
		return all, problems
	}
	where, path := "namespace "+c.Namespace, "/apis/keda.sh/v1alpha1/namespaces/"+c.Namespace+"/scaledjobs"
	if everywhere {
		where, path = "the cluster", "/apis/keda.sh/v1alpha1/scaledjobs"
	}
	err := c.pages(ctx, "ScaledJob", path, "", func(item json.RawMessage) error {
		var named struct {
			Metadata struct{ Name, Namespace string } `json:"metadata"`
		}
		if err := json.Unmarshal(item, &named); err != nil {
			return err
		}
		s := input.Source{Name: fmt.Sprintf("ScaledJob %s in namespace %s", named.Metadata.Name, named.Metadata.Namespace), Data: whole(item)}
		found, _, err := s.Manifests()
		problems = errors.Join(problems, err)
		all = append(all, found...)
		return nil
	})
	if err == nil && len(all) == 0 && problems == nil {
		err = fmt.Errorf("no ScaledJob in %s", where)
	}
	return all, errors.Join(problems, err)
}

// whole adds the kind that the items of a list lack.
func whole(item json.RawMessage) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(item, &fields) != nil || fields["kind"] != nil {
		return item
	}
	fields["kind"], fields["apiVersion"] = json.RawMessage(`"ScaledJob"`), json.RawMessage(`"keda.sh/v1alpha1"`)
	data, err := json.Marshal(fields)
	if err != nil {
		return item
	}
	return data
}

func (c *Client) scaledJob(ctx context.Context, name string) (*input.ScaledJob, error) {
	where := fmt.Sprintf("ScaledJob %s in namespace %s", name, c.Namespace)
	data, err := c.Object(ctx, "keda.sh/v1alpha1", "scaledjobs", name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	found, _, err := input.Source{Name: where, Data: data}.Manifests()
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s: the API server returned another kind", where)
	}
	return found[0], nil
}

// Object reads a custom object of the namespace, or all of them without a name.
func (c *Client) Object(ctx context.Context, group, resource, name string) ([]byte, error) {
	return c.Read(ctx, strings.TrimSuffix("/apis/"+group+"/namespaces/"+c.Namespace+"/"+resource+"/"+name, "/"))
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
		if !f.Given() {
			return files(c, args, typed)
		}
		client, err := f.Client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		client.waits = func() {} // the shell shows the typed line
		data, err := client.Object(c.Context(), "keda.sh/v1alpha1", "scaledjobs", "")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, _, _ := input.Source{Name: "the cluster", Data: data}.Manifests()
		var names []string
		for _, m := range found {
			names = append(names, m.Name())
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// list adds the objects of a path to the dump.
func (c *Client) list(ctx context.Context, d *Dump, kind, path, selector string) error {
	return c.pages(ctx, kind, path, selector, func(item json.RawMessage) error { return d.object(item, kind) })
}

// pages calls do for the objects of a path.
func (c *Client) pages(ctx context.Context, kind, path, selector string, do func(json.RawMessage) error) error {
	if err := each(ctx, c, path, do, "labelSelector", selector); err != nil {
		return fmt.Errorf("list %ss in namespace %s: %w", kind, c.Namespace, err)
	}
	return nil
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
