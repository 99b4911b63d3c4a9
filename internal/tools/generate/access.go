package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// deployments are the manifests of the controllers for one namespace.
var deployments = []string{
	"controllers/scaledjob-controller/manifests/tenant/controller.yaml",
	"controllers/multicluster/manifests/tenant/controller.yaml",
	"controllers/scheduled/manifests/tenant/controller.yaml",
	"controllers/redis-operator/config/tenant/operator.yaml",
}

var (
	role = regexp.MustCompile(`^metadata: \{name: ([\w-]+), namespace: ([\w-]+)\}$`)
	rule = regexp.MustCompile(`^  - \{apiGroups: \[([^]]*)\], resources: \[([^]]*)\], (?:resourceNames: \[([^]]*)\], )?verbs: \[([^]]*)\]\}(?: # (.*))?$`)
	note = regexp.MustCompile(`^  # (.*)$`)
)

const accessPage = `# What the controllers may do

Which rights does each controller need, and why? These tables are written from the manifests by ` + "`go generate ./...`" + `. Each
controller has them in one namespace that it serves, with a Role. The variant for all namespaces gives the same with a
ClusterRole: ` + "`manifests/cluster`" + `, or ` + "`config/cluster`" + ` of redis-operator. That of multicluster has one rule more, to get the
namespace kube-system. The redis-operator also reads each Secret for which a namespace gives it a Role, as in
[password.yaml](redis-operator/config/samples/password.yaml).

An e2e test takes each right away (` + "`TestWithoutPermission`, `without a permission`" + ` in each ` + "`e2e/`" + `); ` + "`patch scaledobjects`" + `,
which is used when KEDA has been away for ten minutes, in ` + "`TestDeletionWithoutKEDA`" + ` of scaledjob-controller (the code is the
same in multicluster). The rights of the hub on a member are in [setup.go](multicluster/registry/setup.go), and [SECURITY.md](../SECURITY.md) says what tenants gain.
`

// access returns the page with the rights of the controllers.
func access(files []string) (string, error) {
	page := accessPage
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		rows, err := rights(string(text))
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		page += fmt.Sprintf("\n## %s\n\n| namespace | resources | verbs | why |\n|---|---|---|---|\n%s", strings.Split(file, "/")[1], rows)
	}
	return page, nil
}

// rights returns a row for each rule of the Roles in a manifest. The reason is the comment above a rule or behind it.
func rights(text string) (rows string, err error) {
	var namespace, why string
	listed := false
	for _, line := range strings.Split(text, "\n") {
		isRule := listed && strings.HasPrefix(line, "  - ")
		match := rule.FindStringSubmatch(line)
		switch {
		case role.MatchString(line):
			namespace = role.FindStringSubmatch(line)[2]
		case line == "rules:":
			listed = true
		case line == "---":
			listed, why = false, ""
		case listed && note.MatchString(line):
			why += note.FindStringSubmatch(line)[1] + " "
		case isRule && match == nil:
			return "", fmt.Errorf("want a rule on one line, with its fields in the order of the others: %s", line)
		case isRule && why+match[5] == "":
			return "", fmt.Errorf("want a comment that says why, above the rule or behind it: %s", line)
		case isRule:
			rows += row(namespace, match, why)
			why = ""
		}
	}
	return rows, nil
}

// row returns a row of the table for a match of a rule.
func row(namespace string, match []string, why string) string {
	switch {
	case namespace == "tenant":
		namespace = "served"
	case strings.HasSuffix(namespace, "-tenant"):
		namespace = "the controller's own"
	}
	group, resources, names, verbs := strings.Trim(match[1], `"`), strings.Trim(match[2], `"`), match[3], match[4]
	if group != "" {
		resources += " of " + group
	}
	if names != "" {
		resources += ", only " + names
	}
	reason := strings.TrimSuffix(strings.TrimSpace(why+match[5]), ".")
	return fmt.Sprintf("| %s | %s | %s | %s |\n", namespace, resources, verbs, strings.ToUpper(reason[:1])+reason[1:])
}
