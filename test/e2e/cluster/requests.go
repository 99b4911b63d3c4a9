package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"
	"time"
)

// A Request is a request that the API server has answered, or a watch that it has begun to
// answer.
type Request struct {
	User        string // the user, or the impersonated user if there is any
	UserAgent   string
	Verb        string // such as get, list, watch, create, patch, delete
	Group       string // the API group of the resource, such as batch; "" for core
	Resource    string // such as jobs; "" without a resource, as in discovery
	Subresource string // such as status, or ""
	Namespace   string
	Name        string // "" if the server generates it, and for lists
	Code        int    // of HTTP
	Time        time.Time
}

const auditLog = "audit.log"

// auditPolicy leaves out the requests of the cluster itself.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ["system:apiserver", "` + managerUser + `", "` + kubeletUser + `"]
- level: None
  nonResourceURLs: ["/readyz*", "/livez*", "/healthz*"]
- level: Metadata
`

// Requests returns the requests so far, in the order of the answers, without those of the
// control plane and of the fake kubelet. A request that KillAPIServer interrupts may have
// had its effect and be missing.
func (c *Cluster) Requests(t testing.TB) []Request {
	t.Helper()
	data, err := os.ReadFile(c.file(auditLog))
	if err != nil {
		t.Fatal(err)
	}
	requests, err := parseAudit(data)
	if err != nil {
		t.Fatal(err)
	}
	return requests
}

// Count returns how many of the Requests are such.
func (c *Cluster) Count(t testing.TB, matches func(Request) bool) int {
	t.Helper()
	n := 0
	for _, r := range c.Requests(t) {
		if matches(r) {
			n++
		}
	}
	return n
}

// An auditEvent holds the fields of an Event of audit.k8s.io/v1 that a Request needs.
type auditEvent struct {
	AuditID          string    `json:"auditID"`
	Verb             string    `json:"verb"`
	User             auditUser `json:"user"`
	ImpersonatedUser auditUser `json:"impersonatedUser"`
	UserAgent        string    `json:"userAgent"`
	ObjectRef        struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

type auditUser struct {
	Username string `json:"username"`
}

// parseAudit leaves out an incomplete last line. A watch has two events, and the first
// counts.
func parseAudit(data []byte) ([]Request, error) {
	var requests []Request
	counted := make(map[string]bool)
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("audit log: %w in %q", err, line)
		}
		if !counted[e.AuditID] {
			counted[e.AuditID] = true
			requests = append(requests, e.request())
		}
	}
	return requests, nil
}

func (e auditEvent) request() Request {
	r := Request{
		User: e.User.Username, UserAgent: e.UserAgent, Verb: e.Verb,
		Group: e.ObjectRef.Group, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
		Code: e.ResponseStatus.Code, Time: e.Received,
	}
	if e.ImpersonatedUser.Username != "" {
		r.User = e.ImpersonatedUser.Username
	}
	return r
}

// cutAudit removes a line that a killed API server has not completed, because the next line
// would continue it.
func (c *Cluster) cutAudit() error {
	data, err := os.ReadFile(c.file(auditLog))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Truncate(c.file(auditLog), int64(bytes.LastIndexByte(data, '\n')+1))
}
