package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/editor"
)

// An editor is a client of the language server.
type editorClient struct {
	*jrpc2.Client
	t         *testing.T
	published chan diagnostics
	status    chan int
}

type diagnostics struct {
	URI         string              `json:"uri"`
	Diagnostics []editor.Diagnostic `json:"diagnostics"`
}

// openEditor starts `lint --lsp` with its input and output as pipes.
func openEditor(t *testing.T, flags ...string) *editorClient {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	e := &editorClient{t: t, published: make(chan diagnostics, 100), status: make(chan int, 1)}
	go func() {
		e.status <- run(t.Context(), append([]string{"lint", "--lsp"}, flags...), in, out, io.Discard)
		_ = out.Close()
	}()
	e.Client = jrpc2.NewClient(channel.LSP(fromServer, toServer), &jrpc2.ClientOptions{OnNotify: func(r *jrpc2.Request) {
		var d diagnostics
		if r.Method() == "textDocument/publishDiagnostics" && r.UnmarshalParams(&d) == nil {
			e.published <- d
		}
	}})
	t.Cleanup(func() { _ = e.Close() })
	e.call("initialize", map[string]any{"processId": nil, "rootUri": nil, "capabilities": map[string]any{}}, nil)
	e.notify("initialized", map[string]any{})
	return e
}

func (e *editorClient) call(method string, params, result any) {
	e.t.Helper()
	response, err := e.Call(e.t.Context(), method, params)
	require.NoError(e.t, err)
	if result != nil {
		require.NoError(e.t, response.UnmarshalResult(result))
	}
}

func (e *editorClient) notify(method string, params any) {
	e.t.Helper()
	require.NoError(e.t, e.Notify(context.Background(), method, params))
}

// shows opens or changes a document, and returns its diagnostics.
func (e *editorClient) shows(method, uri, text string) []editor.Diagnostic {
	e.t.Helper()
	document := map[string]any{"uri": uri, "languageId": "yaml", "version": 1, "text": text}
	e.notify("textDocument/"+method, map[string]any{"textDocument": document, "contentChanges": []any{map[string]any{"text": text}}})
	for {
		if d := <-e.published; d.URI == uri {
			return d.Diagnostics
		}
	}
}

const misspelled = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders}
spec:
  maxReplicaCount: 10
  scalingStrategy:
    strategy: acurate
  jobTargetRef:
    template:
      spec:
        restartPolicy: Never
        containers: [{name: a, image: "orders:1"}]
  triggers:
    - type: redis
      metadata: {address: "redis:6379", listName: orders, listLength: "5"}
`

// An editor shows the findings of lint, explains one, and applies its fix.
func TestLanguageServer(t *testing.T) {
	e := openEditor(t)
	const uri = "file:///orders.yaml"
	found := e.shows("didOpen", uri, misspelled)
	require.NotEmpty(t, found)
	file := written(t, "orders.yaml", misspelled)
	_, printed, _ := call(t, "lint "+file, "")
	at := -1
	for i, d := range found {
		require.Contains(t, printed, fmt.Sprintf("%s:%d:%d: ", file, d.Range.Start.Line+1, d.Range.Start.Character+1))
		require.Contains(t, printed, d.Message+" ["+d.Code+"]")
		require.Contains(t, d.Description["href"], "#"+d.Code)
		if strings.Contains(d.Message, "acurate") {
			at = i
		}
	}
	require.GreaterOrEqual(t, at, 0, printed)
	d := found[at]
	require.Equal(t, editor.Range{Start: editor.Position{Line: 6, Character: 14}, End: editor.Position{Line: 6, Character: 21}}, d.Range)

	var hover struct{ Contents struct{ Value string } }
	e.call("textDocument/hover", map[string]any{"textDocument": map[string]any{"uri": uri}, "position": editor.Position{Line: 6, Character: 16}}, &hover)
	require.Contains(t, hover.Contents.Value, d.Message)
	require.Contains(t, hover.Contents.Value, "Good:")
	hover.Contents.Value = ""
	e.call("textDocument/hover", map[string]any{"textDocument": map[string]any{"uri": uri}, "position": editor.Position{Line: 6, Character: 2}}, &hover)
	require.Empty(t, hover.Contents.Value)

	fixed := e.fix(uri, misspelled, d)
	require.Equal(t, strings.Replace(misspelled, "acurate", "accurate", 1), fixed)
	for _, d := range e.shows("didChange", uri, fixed) {
		require.NotContains(t, d.Message, "acurate")
	}

	// Other documents have no findings; a closed one loses its own.
	require.Empty(t, e.shows("didOpen", "file:///other.yaml", "kind: Deployment\nmetadata: {name: a}\n"))
	require.Empty(t, e.shows("didOpen", "file:///chart.yaml", "kind: ScaledJob\nname: {{ .Values.name }}\n"))
	require.NotEmpty(t, e.shows("didChange", uri, misspelled))
	e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
	for d := range e.published {
		if d.URI == uri && len(d.Diagnostics) == 0 {
			break
		}
	}
	e.call("shutdown", nil, nil)
	e.notify("exit", nil)
	require.Equal(t, success, <-e.status)
}

// fix applies the first fix of a diagnostic that the server offers.
func (e *editorClient) fix(uri, text string, d editor.Diagnostic) string {
	e.t.Helper()
	var actions []struct {
		Title, Kind string
		Diagnostics []editor.Diagnostic
		Edit        struct{ Changes map[string][]editor.Edit }
	}
	e.call("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": uri}, "range": d.Range,
		"context": map[string]any{"diagnostics": []editor.Diagnostic{d}}}, &actions)
	for _, a := range actions {
		if a.Diagnostics[0].Code == d.Code && strings.Contains(d.Message, a.Title) {
			require.Equal(e.t, "quickfix", a.Kind)
			require.Len(e.t, a.Edit.Changes[uri], 1)
			return a.Edit.Changes[uri][0].Apply(text)
		}
	}
	return ""
}

// Positions are in units of UTF-16, and a fix replaces a key, a value, an entry or its lines.
func TestFixes(t *testing.T) {
	for name, c := range map[string]struct{ from, with, after string }{
		"key":        {"maxReplicaCount: 10", "maxReplicaCont: 10 # \U0001F600", "maxReplicaCount: 10 # \U0001F600"},
		"kind":       {"kind: ScaledJob", `kind: "scaledjob"`, "kind: ScaledJob"},
		"characters": {"strategy: acurate", "{\"\\U0001F600\": 1, strategy: acurate}", ""},
		"annotation": {"metadata: {name: orders}", "metadata:\n  name: orders\n  annotations:\n    a: b\n    scaledjob.keda.sh/generation: \"1\"", "metadata:\n  name: orders\n  annotations:\n    a: b"},
	} {
		t.Run(name, func(t *testing.T) {
			e := openEditor(t)
			good := strings.Replace(misspelled, "acurate", "accurate", 1)
			base := good
			if strings.Contains(c.from, "acurate") {
				base = misspelled
			}
			text := strings.Replace(base, c.from, c.with, 1)
			require.NotEqual(t, base, text)
			known := map[string]bool{}
			for _, d := range e.shows("didOpen", "file:///good.yaml", good) {
				known[d.Code] = true
			}
			e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": "file:///good.yaml"}})
			var fixed []string
			for _, d := range e.shows("didOpen", "file:///a.yaml", text) {
				if after := e.fix("file:///a.yaml", text, d); after != "" && !known[d.Code] {
					fixed = append(fixed, after)
				}
			}
			if c.after == "" {
				return // no edit leaves the document broken
			}
			require.Contains(t, fixed, strings.Replace(base, c.from, c.after, 1))
		})
	}
}

// Diagnostics of a file of 500 lines come soon after a change.
func TestLanguageServerIsQuick(t *testing.T) {
	text := strings.TrimSuffix(strings.Repeat(misspelled+"---\n", 32), "---\n")
	require.Greater(t, strings.Count(text, "\n"), 500)
	e := openEditor(t)
	require.NotEmpty(t, e.shows("didOpen", "file:///a.yaml", text))
	best := time.Hour
	for i := range 10 {
		start := time.Now()
		require.NotEmpty(t, e.shows("didChange", "file:///a.yaml", strings.Replace(text, "orders", fmt.Sprintf("orders%d", i), 1)))
		best = min(best, time.Since(start))
	}
	t.Logf("%s from a change to the diagnostics", best)
	require.Less(t, best, 2*time.Second) // 50 ms on an idle machine
}

// The protocol takes no files, and the end of the input ends it.
func TestLanguageServerEnds(t *testing.T) {
	status, _, said := call(t, "lint --lsp a.yaml", "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "a.yaml")
	status, out, said := call(t, "lint --lsp", "")
	require.Equal(t, success, status, said)
	require.Empty(t, out)
}

// A message that breaks the protocol is an error, and neither a crash nor a wait.
func TestBrokenProtocol(t *testing.T) {
	for in, want := range map[string]string{
		"Content-Length: 99999999999999\r\n\r\n": `Content-Length "99999999999999"; use 0 to 67108864`,
		"Content-Length: -1\r\n\r\n":             `Content-Length "-1"`,
		"Content-Type: x\r\n\r\n{}":              `Content-Length ""`,
		"\x00 nothing\r\n\r\n":                   "malformed",
		"Content-Length: 10\r\n\r\n{}":           "EOF",
	} {
		status, out, said := callWith(t, "lint --lsp", []byte(in))
		require.Equal(t, trouble, status)
		require.Empty(t, out)
		require.Contains(t, said, want)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	go run(t.Context(), []string{"lint", "--lsp"}, in, out, io.Discard)
	c := channel.LSP(fromServer, toServer)
	for _, call := range [][2]string{
		{"{", `"code":-32700`},
		{`{"jsonrpc": "2.0", "id": 2, "method": "textDocument/hover"}`, `"code":-32002`},
		{`{"jsonrpc": "2.0", "id": 3, "method": "initialize"}`, `"id":3,"result"`},
		{`{"jsonrpc": "2.0", "id": 4, "method": "nothing"}`, `"code":-32601`},
		{`{"jsonrpc": "2.0", "id": 5, "method": "textDocument/hover", "params": [1]}`, `"code":-32602`},
		{`{"jsonrpc": "2.0", "id": 6, "method": "textDocument/hover", "params": {"position": {"line": -1, "character": -1}}}`, `"id":6,"result":null`},
		{`{"jsonrpc": "2.0", "id": 7, "method": "shutdown"}`, `"id":7,"result":null`},
		{`{"jsonrpc": "2.0", "id": 8, "method": "shutdown"}`, `"id":8,"error":{"code":-32600`},
	} {
		require.NoError(t, c.Send([]byte(call[0])))
		answer, err := c.Recv()
		require.NoError(t, err)
		require.Contains(t, string(answer), call[1])
	}
}
