package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
)

// A task is a command with its arguments.
type task func(context.Context) error

// commands register members; each is run in place of the controller.
var commands = map[string]func(args []string, to streams) (task, error){
	"setup-member":  setupMember,
	"list-members":  listMembers,
	"delete-member": deleteMember,

	"list-orphans":   func(args []string, output streams) (task, error) { return orphansOf(args, output, false) },
	"delete-orphans": func(args []string, output streams) (task, error) { return orphansOf(args, output, true) },
}

// A command registers or lists members.
type command struct {
	output                      streams
	member                      string
	home, kubeconfig, namespace string
	url                         string
	served                      bool     // -serve is set
	serve                       []string // nil is all namespaces
	allow                       []registry.Allowance
}

// parse reads the flags, before or behind the name of a member.
func (c *command) parse(flags *flag.FlagSet, args []string, named bool) error {
	flags.SetOutput(c.output.err)
	flags.StringVar(&c.home, "keda-kubeconfig", "", "kubeconfig `file` of the home cluster, instead of $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&c.namespace, "namespace", registry.Namespace, "`namespace` of the Secret in the home cluster")
	var names []string
	for remaining := args; ; {
		if err := flags.Parse(remaining); err != nil {
			return err
		}
		if flags.NArg() == 0 {
			break
		}
		names, remaining = append(names, flags.Arg(0)), flags.Args()[1:]
	}
	var err error
	switch {
	case named && len(names) != 1:
		err = fmt.Errorf("%s: found %d names %s: want the name of one member", flags.Name(), len(names), strings.Join(names, " "))
	case !named && len(names) > 0:
		err = fmt.Errorf("%s: unexpected argument %q", flags.Name(), names[0])
	case named:
		c.member = names[0]
	}
	if err != nil {
		fmt.Fprintf(c.output.err, "multicluster: %v\n", err)
	}
	return err
}

func (c *command) registry() (registry.Registry, error) {
	config, err := access(c.home)
	if err != nil {
		return registry.Registry{}, fmt.Errorf("home cluster: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	return registry.Registry{Client: client, Namespace: c.namespace}, err
}

func setupMember(args []string, output streams) (task, error) {
	c := &command{output: output}
	flags := flag.NewFlagSet("setup-member", flag.ContinueOnError)
	flags.StringVar(&c.kubeconfig, "member-kubeconfig", "", "kubeconfig `file` of the member, with the right to make a namespace, a ServiceAccount and RBAC")
	flags.StringVar(&c.url, "member-api-url", "", "`URL` by which the home cluster reaches the member, if it is another than that in its kubeconfig")
	flags.Func("serve", "`namespaces` of the member, separated by commas, in which the controller gets permissions; * is all, also those to come (default: those of its registration, or else default)", c.setServe)
	flags.Func("allow", "`from=to`: objects of the namespace from may act in the member's namespace to, by targetNamespace; may be repeated (default: those of its registration)", func(pair string) error {
		from, target, _ := strings.Cut(pair, "=")
		if len(validation.IsDNS1123Label(from)) > 0 || len(validation.IsDNS1123Label(target)) > 0 {
			return errors.New("use from=to, the names of two namespaces")
		}
		c.allow = append(c.allow, registry.Allowance{From: from, To: target})
		return nil
	})
	return c.setup, c.parse(flags, args, true)
}

func (c *command) setup(ctx context.Context) error {
	if c.kubeconfig == "" {
		return errors.New("setup-member: -member-kubeconfig is missing")
	}
	home, err := c.registry()
	if err != nil {
		return err
	}
	admin, err := access(c.kubeconfig)
	if err != nil {
		return fmt.Errorf("member %s: %w", c.member, err)
	}
	members, err := home.ListForChange(ctx)
	if err != nil {
		return err
	}
	registration, err := c.registration(members)
	if err != nil {
		return fmt.Errorf("member %s: %w", c.member, err)
	}
	kubeconfig, uid, err := registry.Setup(ctx, registry.NewMember{Name: c.member, Admin: admin, URL: c.url, Namespaces: registration.Namespaces})
	if err != nil {
		return err
	}
	registration.UID, registration.Registered = uid, time.Now().UTC().Truncate(time.Second)
	if err := home.Add(ctx, c.member, kubeconfig, registration); err != nil {
		return err
	}
	fmt.Fprintf(c.output.out, "member %s is registered, with permissions in %s\n", c.member, named(registration.Namespaces))
	if problem := registry.Unprotected(kubeconfig); problem != "" {
		fmt.Fprintf(c.output.err, "multicluster: warning: %s, so that whoever is on the network between may act as the hub on the member\n", problem)
	}
	return nil
}

func named(namespaces []string) string {
	if namespaces == nil {
		return "all its namespaces"
	}
	return "its namespaces " + strings.Join(namespaces, ",")
}

// setServe reads -serve.
func (c *command) setServe(text string) error {
	if c.served, c.serve = true, nil; strings.TrimSpace(text) == "*" {
		return nil
	}
	for _, n := range strings.Split(text, ",") {
		if n = strings.TrimSpace(n); len(validation.IsDNS1123Label(n)) > 0 {
			return fmt.Errorf("found %q; use names of namespaces, or * alone", n)
		}
		if !slices.Contains(c.serve, n) {
			c.serve = append(c.serve, n)
		}
	}
	return nil
}

// registration returns that of before, with what the flags change. A member that is registered
// keeps its namespaces: the Jobs in one that is served no more would run on, with nobody to delete them.
func (c *command) registration(members []registry.Member) (registration registry.Registration, err error) {
	registration.Namespaces = []string{metav1.NamespaceDefault}
	if i := slices.IndexFunc(members, func(m registry.Member) bool { return m.Name == c.member }); i >= 0 {
		if err := members[i].Invalid; err != nil {
			return registration, fmt.Errorf("its registration cannot be read; mend it, or run delete-member first: %w", err)
		}
		registration = members[i].Registration
		gone := slices.DeleteFunc(slices.Clone(registration.Namespaces), func(n string) bool { return slices.Contains(c.serve, n) })
		if c.serve != nil && (registration.Namespaces == nil || len(gone) > 0) {
			return registration, fmt.Errorf("it serves %s; to take some away, run delete-member with -member-kubeconfig first", named(registration.Namespaces))
		}
	}
	if c.served {
		registration.Namespaces = c.serve
	}
	if c.allow != nil {
		registration.Allow = c.allow
	}
	return registration, nil
}

func listMembers(args []string, output streams) (task, error) {
	c := &command{output: output}
	return c.list, c.parse(flag.NewFlagSet("list-members", flag.ContinueOnError), args, false)
}

func (c *command) list(ctx context.Context) error {
	home, err := c.registry()
	if err != nil {
		return err
	}
	members, err := home.List(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(c.output.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tAPI SERVER\tID")
	for _, m := range members {
		if m.Err != nil {
			fmt.Fprintf(table, "%s\tnot usable: %v\t%s\n", m.Name, m.Err, home.ID(m))
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", m.Name, m.Server(), home.ID(m))
	}
	return table.Flush()
}

func deleteMember(args []string, output streams) (task, error) {
	c := &command{output: output}
	flags := flag.NewFlagSet("delete-member", flag.ContinueOnError)
	flags.StringVar(&c.kubeconfig, "member-kubeconfig", "", "kubeconfig `file` of the member, to take the ServiceAccount and its RBAC away there as well")
	return c.delete, c.parse(flags, args, true)
}

func (c *command) delete(ctx context.Context) error {
	home, err := c.registry()
	if err != nil {
		return err
	}
	if err := home.Remove(ctx, c.member); err != nil {
		return err
	}
	fmt.Fprintf(c.output.out, "member %s is registered no more; what runs there is left alone\n", c.member)
	if c.kubeconfig == "" {
		return nil
	}
	admin, err := access(c.kubeconfig)
	if err != nil {
		return fmt.Errorf("member %s: %w", c.member, err)
	}
	return registry.Revoke(ctx, admin)
}

// access returns the access to a cluster that a command is about. No error quotes a URL of
// the kubeconfig, which may have a password.
func access(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	if file, err := rules.Load(); err == nil {
		if err := registry.Check(file); err != nil {
			return nil, err
		}
	}
	config, err := cluster.Access{Program: name, Kubeconfig: kubeconfig}.Config()
	if err != nil {
		return nil, err
	}
	config.WarningHandler = rest.NoWarnings{} // the cluster chooses the text of a warning
	return config, registry.WithoutUser(config)
}
