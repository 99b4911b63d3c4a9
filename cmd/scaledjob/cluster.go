package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterFlags choose a cluster, with the names that kubectl has for them.
type clusterFlags struct {
	kubeconfig, context, namespace string
}

func (f *clusterFlags) add(c *cobra.Command) {
	c.Flags().StringVarP(&f.namespace, "namespace", "n", "", "`namespace` of the ScaledJob in the cluster (default: the context's)")
	c.Flags().StringVar(&f.context, "context", "", "`context` of the kubeconfig (default the current one)")
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "`file` with the kubeconfig (default $KUBECONFIG, or ~/.kube/config)")
	_ = c.MarkFlagFilename("kubeconfig")
}

// split separates names in the cluster from files. A name is no path, and has no extension
// of a manifest. It is no file either, unless a flag chooses a cluster.
func (f *clusterFlags) split(args []string) (names, files []string) {
	for _, a := range args {
		_, err := os.Stat(a)
		file := a == "-" || a == "" || strings.ContainsRune(a, os.PathSeparator) || manifestName.MatchString(a) || err == nil && !f.given()
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

// given reports whether a flag chooses a cluster.
func (f *clusterFlags) given() bool { return *f != (clusterFlags{}) }

// A client reads a namespace of a cluster. It sends GET requests only.
type client struct {
	rest      *rest.RESTClient
	namespace string
}

// requestTimeout is the timeout of a request.
const requestTimeout = 30 * time.Second

func (f *clusterFlags) client() (*client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.context}
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no such file, and no kubeconfig; use the file of a manifest, or --kubeconfig")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", fileError(f.kubeconfig, err))
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.Timeout, config.UserAgent = requestTimeout, "scaledjob"
	config.GroupVersion = &schema.GroupVersion{Version: "v1"}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, *config.GroupVersion) // for the errors of the API server
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	r, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &client{r, cmp.Or(f.namespace, namespace)}, nil
}

// subjects reads ScaledJobs, and all Jobs and their pods of the namespace.
func (c *client) subjects(ctx context.Context, names []string) (all []subject, problems error) {
	d := &dump{complete: true}
	for _, name := range names {
		m, err := c.scaledJob(ctx, name)
		if err != nil {
			problems = errors.Join(problems, err)
			continue
		}
		all = append(all, subject{m, d})
	}
	if len(all) == 0 {
		return nil, problems
	}
	if err := errors.Join(
		c.list(ctx, d, "Job", "/apis/batch/v1/namespaces/"+c.namespace+"/jobs", ""),
		c.list(ctx, d, "Pod", "/api/v1/namespaces/"+c.namespace+"/pods", "job-name"),
	); err != nil {
		return nil, errors.Join(problems, err)
	}
	return all, problems
}

func (c *client) scaledJob(ctx context.Context, name string) (*manifest, error) {
	where := fmt.Sprintf("ScaledJob %s in namespace %s", name, c.namespace)
	path := "/apis/keda.sh/v1alpha1/namespaces/" + c.namespace + "/scaledjobs/" + url.PathEscape(name)
	data, err := get(ctx, c.rest.Get().AbsPath(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, readable(err))
	}
	found, _, err := source{where, data}.manifests()
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s: the API server returned another kind", where)
	}
	return found[0], nil
}

// get returns the body of the answer, or the API server's words as an error.
func get(ctx context.Context, request *rest.Request) ([]byte, error) {
	result := request.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// completes completes the names of the cluster's ScaledJobs if a flag selects a cluster,
// and files otherwise.
func (f *clusterFlags) completes(c *cobra.Command) {
	files := c.ValidArgsFunction
	c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if !f.given() {
			return files(c, args, typed)
		}
		client, err := f.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		data, err := get(c.Context(), client.rest.Get().AbsPath("/apis/keda.sh/v1alpha1/namespaces/"+client.namespace+"/scaledjobs"))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, _, _ := source{"the cluster", data}.manifests()
		var names []string
		for _, m := range found {
			names = append(names, m.name())
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// pageSize is the number of objects in an answer to a list.
const pageSize = "500"

// list adds the objects of a path to the dump.
func (c *client) list(ctx context.Context, d *dump, kind, path, selector string) error {
	for next := ""; ; {
		request := c.rest.Get().AbsPath(path).Param("limit", pageSize)
		for key, value := range map[string]string{"labelSelector": selector, "continue": next} {
			if value != "" {
				request = request.Param(key, value)
			}
		}
		data, err := get(ctx, request)
		if err != nil {
			return fmt.Errorf("list %ss in namespace %s: %w", kind, c.namespace, readable(err))
		}
		var page struct {
			Metadata metav1.ListMeta   `json:"metadata"`
			Items    []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return fmt.Errorf("list %ss in namespace %s: %w", kind, c.namespace, plain(err))
		}
		for _, item := range page.Items {
			if err := d.object(item, kind); err != nil {
				return fmt.Errorf("list %ss in namespace %s: %w", kind, c.namespace, err)
			}
		}
		if next = page.Metadata.Continue; next == "" {
			return nil
		}
	}
}

// readable names the server of a request that could not be sent, and leaves out its URL.
func readable(err error) error {
	var sent *url.Error
	if errors.As(err, &sent) {
		if u, parseErr := url.Parse(sent.URL); parseErr == nil {
			return fmt.Errorf("%s is unreachable: %w", u.Host, sent.Err)
		}
	}
	return err
}
