package triggers

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// activemqTemplate finds a template that names no queue or no broker, in the path's part after the colon.
func activemqTemplate(name string) check {
	return about("restAPITemplate", func(text string) (string, string) {
		u, err := url.ParseRequestURI(text)
		if err != nil {
			return "", ""
		}
		_, names, _ := strings.Cut(u.Path, ":")
		names, _, _ = strings.Cut(names, "/")
		if q, err := url.ParseQuery(strings.ReplaceAll(names, ",", "&")); err != nil || q.Get(name) != "" {
			return "", ""
		}
		return "restAPITemplate has no " + name, activemqFix
	})
}

const activemqFix = "Write it as http://HOST:8161/api/jolokia/read/org.apache.activemq:type=Broker,brokerName=NAME,destinationType=Queue,destinationName=NAME/QueueSize"

// urls finds a text, or an item of a list, that Go cannot parse as a URL, such as an IP address with a port. The client
// puts the scheme before a text without one. The text may have a password.
func urls(name, separator, scheme string) check {
	return about(name, func(text string) (string, string) {
		items := []string{text}
		if separator != "" {
			items = strings.Split(text, separator)
		}
		for _, item := range items {
			if item = strings.TrimSpace(item); !strings.HasPrefix(item, "http://") && !strings.HasPrefix(item, "https://") {
				item = scheme + item
			}
			if _, err := url.Parse(item); err != nil {
				return name + " is not a URL", "Write a URL, such as https://HOST:PORT"
			}
		}
		return "", ""
	})
}

// spannerName finds a name that is a path.
func spannerName(c *checker) fault {
	for _, name := range []string{"projectId", "instanceId", "databaseId"} {
		if v := c.get(name); v.State == Visible && strings.Contains(v.Text, "/") {
			return fault{key: v.Key, text: fmt.Sprintf("%s %q is a path", name, v.Text), fix: "Write the name alone"}
		}
	}
	return fault{}
}

// twice finds a parameter in the metadata and in the TriggerAuthentication.
func twice(name string) check {
	return when(fault{key: name, text: name + " is set in the metadata and in the TriggerAuthentication", fix: "Delete one of them"}, func(c *checker) bool {
		return c.in.Metadata[name] != "" && c.in.Authentication != nil && c.in.Authentication(name).State != Absent
	})
}

// oneSecret finds several ways, or none, of a Kerberos login.
func oneSecret(c *checker) fault {
	names, count := []string{"password", "keytab", "ccacheName"}, 0
	for _, name := range names {
		if !c.visible(name) {
			return fault{}
		}
		if !c.absent(name) {
			count++
		}
	}
	if count == 1 {
		return fault{}
	}
	return fault{text: "sasl gssapi needs exactly one of password, keytab and ccacheName", fix: "Set exactly one of them in a TriggerAuthentication"}
}

func isBase(text string) bool { return text == path.Base(text) && text != ".." }

// isPairs reports whether each item of a list is a key and a value.
func isPairs(text string) bool {
	return !slices.ContainsFunc(strings.Split(text, ","), func(item string) bool {
		key, value, ok := strings.Cut(item, ":")
		return item != "" && (!ok || strings.TrimSpace(key) == "" || strings.TrimSpace(value) == "")
	})
}

// rabbitOAuth finds OAuth2 without its secret.
func rabbitOAuth(c *checker) fault {
	if c.absent("oauthTokenURI", "clientID") || !c.absent("clientSecret") {
		return fault{}
	}
	return fault{text: "OAuth2 needs clientSecret", fix: c.ways("clientSecret")}
}

// severalLogins is met by OAuth2 beside another way to log in.
func severalLogins(c *checker) bool {
	oauth := c.hasAll("oauthTokenURI") || c.hasAll("clientSecret")
	return oauth && (c.hasAll("username", "password") || c.hasAll("workloadIdentityResource"))
}

var solaceHost = regexp.MustCompile(`https?://[-_.A-Za-z0-9]{2,255}(:[0-9]{2,6})?`)

// solaceURL finds an item of a list of URLs that is empty, or is not a URL.
func solaceURL(empty bool) check {
	return about("solaceSempBaseURL", func(text string) (string, string) {
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); (item == "" && empty) || (item != "" && !empty && !solaceHost.MatchString(item)) {
				return fmt.Sprintf("%q of solaceSempBaseURL is not a URL", item), "Write URLs such as https://HOST:943, with commas between them"
			}
		}
		return "", ""
	})
}

// sumologicQueries finds queries with and without rows, or rows where there can be none.
func sumologicQueries(c *checker) fault {
	row := ""
	for key := range c.in.Metadata {
		if strings.HasPrefix(key, "query.") && (row == "" || key < row) {
			row = key
		}
	}
	switch {
	case row != "" && c.equals("queryType", "logs"):
		return fault{key: row, text: "queries of logs have no rows", fix: "Write query, without a row"}
	case row != "" && c.hasAll("query"):
		return fault{key: row, text: "query is set with a row and without one", fix: "Delete query, or the rows"}
	case row == "" && c.equals("queryType", "metrics") && c.absent("query"):
		return fault{key: "query", text: "queryType metrics needs a query", fix: "Set query, or query.A and so on"}
	case row != "" && c.in.Metadata[row] == "":
		return fault{key: row, text: row + " is empty", fix: "Write a query"}
	}
	return fault{}
}

var visibilityName = regexp.MustCompile(`^[a-zA-Z0-9\-_./:]+$`)

// visibility finds a name that Temporal's queries cannot hold.
func visibility(c *checker) fault {
	for _, name := range []string{"taskQueue", "workflowTaskQueueForCount", "workerDeploymentName", "workerDeploymentBuildId"} {
		if v := c.get(name); v.State == Visible && c.isTrue("includeRunningWorkflowCount") && !visibilityName.MatchString(v.Text) {
			return fault{key: v.Key, text: fmt.Sprintf("%s %q is not allowed in a Temporal query", name, v.Text), fix: "Write letters, digits and - _ . / :, or delete includeRunningWorkflowCount"}
		}
	}
	return fault{}
}
