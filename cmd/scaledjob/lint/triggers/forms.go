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
	return func(c *checker) (string, string, string) {
		v := c.get("restAPITemplate")
		u, err := url.ParseRequestURI(v.Text)
		if v.State != Known || err != nil {
			return "", "", ""
		}
		_, names, _ := strings.Cut(u.Path, ":")
		names, _, _ = strings.Cut(names, "/")
		if q, err := url.ParseQuery(strings.ReplaceAll(names, ",", "&")); err == nil && q.Get(name) == "" {
			return v.Key, "restAPITemplate has no " + name, "Write it as http://HOST/api/jolokia/read/org.apache.activemq:type=Broker,brokerName=NAME,destinationType=Queue,destinationName=NAME/QueueSize"
		}
		return "", "", ""
	}
}

// twice finds a parameter in the metadata and in the TriggerAuthentication.
func twice(name string) check {
	return func(c *checker) (string, string, string) {
		if c.in.Metadata[name] != "" && c.in.Authentication != nil && c.in.Authentication(name).State != Absent {
			return name, name + " is given in the metadata and in the TriggerAuthentication", "Delete one of them"
		}
		return "", "", ""
	}
}

// oneSecret finds several ways, or none, of a Kerberos login.
func oneSecret(c *checker) (string, string, string) {
	names, given := []string{"password", "keytab", "ccacheName"}, 0
	for _, name := range names {
		if !c.shown(name) {
			return "", "", ""
		}
		if !c.absent(name) {
			given++
		}
	}
	if given == 1 {
		return "", "", ""
	}
	return "", fmt.Sprintf("sasl gssapi has %d of password, keytab and ccacheName", given), "Give one of them in a TriggerAuthentication"
}

func fileName(name string) check {
	return func(c *checker) (string, string, string) {
		if v := c.get(name); v.State == Known && (v.Text != path.Base(v.Text) || v.Text == "..") {
			return v.Key, fmt.Sprintf("%s %q is a path", name, v.Text), "Write the file's name alone"
		}
		return "", "", ""
	}
}

// isPairs reports whether each item of a list is a key and a value.
func isPairs(text string) bool {
	return !slices.ContainsFunc(strings.Split(text, ","), func(item string) bool {
		key, value, ok := strings.Cut(item, ":")
		return item != "" && (!ok || strings.TrimSpace(key) == "" || strings.TrimSpace(value) == "")
	})
}

// rabbitOAuth finds OAuth2 without its secret, or beside another way to log in.
func rabbitOAuth(c *checker) (string, string, string) {
	switch {
	case c.absent("oauthTokenURI", "clientID", "clientSecret"):
	case c.absent("clientSecret"):
		return "", "OAuth2 needs clientSecret", c.ways("clientSecret")
	}
	return "", "", ""
}

func rabbitOneLogin(c *checker) (string, string, string) {
	oauth := c.given("oauthTokenURI") || c.given("clientSecret")
	if oauth && (c.given("username") && c.given("password") || c.given("workloadIdentityResource")) {
		return "", "OAuth2 is given together with another login", "Delete username and password, or workloadIdentityResource"
	}
	return "", "", ""
}

var solaceHost = regexp.MustCompile(`https?://[-_.A-Za-z0-9]{2,255}(:[0-9]{2,6})?`)

// solaceURL finds an item of a list of URLs that is empty, or is not a URL.
func solaceURL(empty bool) check {
	return func(c *checker) (string, string, string) {
		v := c.get("solaceSempBaseURL")
		for item := range strings.SplitSeq(v.Text, ",") {
			if item = strings.TrimSpace(item); v.State == Known && (item == "" && empty || item != "" && !empty && !solaceHost.MatchString(item)) {
				return v.Key, fmt.Sprintf("%q of solaceSempBaseURL is not a URL", item), "Write URLs such as https://host:943, with commas between them"
			}
		}
		return "", "", ""
	}
}

// sumologicQueries finds queries with and without rows, or rows where there can be none.
func sumologicQueries(c *checker) (string, string, string) {
	row := ""
	for key := range c.in.Metadata {
		if strings.HasPrefix(key, "query.") && (row == "" || key < row) {
			row = key
		}
	}
	switch {
	case row != "" && c.is("queryType", "logs"):
		return row, "queries of logs have no rows", "Write query, without a row"
	case row != "" && c.given("query"):
		return row, "query is given with a row and without", "Delete query, or the rows"
	case row == "" && c.is("queryType", "metrics") && c.absent("query"):
		return "query", "queryType metrics needs a query", "Give query, or query.A and so on"
	case row != "" && c.in.Metadata[row] == "":
		return row, row + " is empty", "Write a query"
	}
	return "", "", ""
}

var visibilityName = regexp.MustCompile(`^[a-zA-Z0-9\-_./:]+$`)

// visibility finds a name that Temporal's queries cannot hold.
func visibility(c *checker) (string, string, string) {
	for _, name := range []string{"taskQueue", "workflowTaskQueueForCount", "workerDeploymentName", "workerDeploymentBuildId"} {
		if v := c.get(name); v.State == Known && c.isTrue("includeRunningWorkflowCount") && !visibilityName.MatchString(v.Text) {
			return v.Key, fmt.Sprintf("%s %q cannot stand in a query of Temporal", name, v.Text), "Write letters, digits and - _ . / :, or delete includeRunningWorkflowCount"
		}
	}
	return "", "", ""
}
