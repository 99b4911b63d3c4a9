// Package editor serves the Language Server Protocol: the findings of lint in an editor.
package editor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/textproto"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/creachadair/jrpc2"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
)

// A Server speaks the Language Server Protocol about the open documents of an editor.
// The findings equal the findings of lint for all open documents, with the settings of the repository.
type Server struct {
	Check      func([]lint.File) (lint.Report, error)
	Repository *input.Repository
	Version    string
	server     *jrpc2.Server

	mu        sync.Mutex
	open      map[string]string   // texts by URI
	lines     map[string][]string // of the open texts
	published map[string][]Diagnostic
	begun     bool // initialize was called
	ended     bool // shutdown was called
}

// Types of the protocol, with the fields that the server uses.
type (
	Position struct {
		Line      int `json:"line"`      // from 0
		Character int `json:"character"` // from 0, in units of UTF-16
	}
	Range struct {
		Start Position `json:"start"`
		End   Position `json:"end"`
	}
	Diagnostic struct {
		Range       Range             `json:"range"`
		Severity    int               `json:"severity"`
		Code        string            `json:"code"`
		Description map[string]string `json:"codeDescription"`
		Source      string            `json:"source"`
		Message     string            `json:"message"`
	}
	lspDocument struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	}
	lspParams struct {
		Document lspDocument   `json:"textDocument"`
		Position Position      `json:"position"`
		Range    Range         `json:"range"`
		Changes  []lspDocument `json:"contentChanges"`
	}
	Edit struct {
		Range   Range  `json:"range"`
		NewText string `json:"newText"`
	}
	lspAction struct {
		Title       string         `json:"title"`
		Kind        string         `json:"kind"`
		Diagnostics []Diagnostic   `json:"diagnostics"`
		Edit        map[string]any `json:"edit"`
	}
)

// methods are the methods of a server by name.
type methods map[string]jrpc2.Handler

// Assign returns the method, or nil if there is none.
func (m methods) Assign(_ context.Context, name string) jrpc2.Handler { return m[name] }

// Serve serves the protocol until the client says exit, or the input ends.
func (s *Server) Serve(in io.Reader, out io.Writer) error {
	exit, ended := make(chan error, 1), make(chan error, 1)
	s.open, s.lines, s.published = map[string]string{}, map[string][]string{}, map[string][]Diagnostic{}
	on := func(answer func(context.Context, *lspParams) (any, error)) jrpc2.Handler {
		return func(ctx context.Context, request *jrpc2.Request) (any, error) {
			var p lspParams
			if request.HasParams() {
				if err := request.UnmarshalParams(&p); err != nil {
					return nil, err
				}
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			switch method := request.Method(); {
			case method == "exit":
			case s.ended:
				return nil, jrpc2.Errorf(jrpc2.InvalidRequest, "the server has shut down")
			case !s.begun && method != "initialize":
				return nil, jrpc2.Errorf(-32002, "the server is not initialized")
			}
			return answer(ctx, &p)
		}
	}
	s.server = jrpc2.NewServer(methods{
		"initialize":              on(s.initialize),
		"initialized":             on(func(context.Context, *lspParams) (any, error) { return nil, nil }),
		"textDocument/didOpen":    on(func(ctx context.Context, p *lspParams) (any, error) { return nil, s.set(ctx, p.Document) }),
		"textDocument/didChange":  on(s.change),
		"textDocument/didClose":   on(s.close),
		"textDocument/hover":      on(s.hover),
		"textDocument/codeAction": on(s.actions),
		"shutdown": on(func(context.Context, *lspParams) (any, error) {
			s.ended = true
			return nil, nil
		}),
		"exit": on(func(context.Context, *lspParams) (any, error) {
			exit <- input.Outcome(!s.ended, nil)
			return nil, nil
		}),
	}, &jrpc2.ServerOptions{AllowPush: true, DisableBuiltin: true, Concurrency: 1})
	s.server.Start(&frames{textproto.NewReader(bufio.NewReader(in)), out})
	go func() { ended <- s.server.Wait() }()
	select {
	case err := <-exit: // a client may keep the input open
		return err
	case err := <-ended:
		return input.Each(err, func(err error) error { return fmt.Errorf("--lsp: %w", err) })
	}
}

// frames are messages behind headers with their lengths, as the protocol has them.
type frames struct {
	in  *textproto.Reader
	out io.Writer
}

// Recv returns the next message. Its length cannot take all memory.
func (f *frames) Recv() ([]byte, error) {
	header, err := f.in.ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	text := header.Get("Content-Length")
	length, err := strconv.Atoi(text)
	if err != nil || length < 0 || length > input.MaxFile {
		return nil, fmt.Errorf("Content-Length %q; use 0 to %d", text, input.MaxFile)
	}
	message := make([]byte, length)
	_, err = io.ReadFull(f.in.R, message)
	return message, err
}

func (f *frames) Send(message []byte) error {
	_, err := fmt.Fprintf(f.out, "Content-Length: %d\r\n\r\n%s", len(message), message)
	return err
}

func (f *frames) Close() error { return nil } // the output stays open

func (s *Server) initialize(context.Context, *lspParams) (any, error) {
	s.begun = true
	return map[string]any{
		"capabilities": map[string]any{
			"textDocumentSync":   map[string]any{"openClose": true, "change": 1}, // whole documents
			"hoverProvider":      true,
			"codeActionProvider": map[string]any{"codeActionKinds": []string{"quickfix"}},
		},
		"serverInfo": map[string]any{"name": "scaledjob", "version": s.Version},
	}, nil
}

func (s *Server) change(ctx context.Context, p *lspParams) (any, error) {
	if len(p.Changes) == 0 {
		return nil, nil
	}
	return nil, s.set(ctx, lspDocument{p.Document.URI, p.Changes[len(p.Changes)-1].Text})
}

func (s *Server) close(ctx context.Context, p *lspParams) (any, error) {
	delete(s.open, p.Document.URI)
	delete(s.lines, p.Document.URI)
	defer delete(s.published, p.Document.URI)
	return nil, s.publish(ctx, p.Document.URI)
}

// breaks are characters that end a line in YAML 1.1, and none in the protocol.
var breaks = strings.NewReplacer("\u0085", " ", "\u2028", " ", "\u2029", " ")

func (s *Server) set(ctx context.Context, d lspDocument) error {
	if len(d.Text) > input.MaxDocument {
		d.Text = ""
	}
	s.open[d.URI] = breaks.Replace(d.Text)
	s.lines[d.URI] = lines(s.open[d.URI])
	return s.publish(ctx, d.URI)
}

// findings belong to the documents that may have a ScaledJob.
func (s *Server) findings(open map[string]string) (found []lint.Finding, err error) {
	var files []lint.File
	for uri, text := range open {
		name := uri
		if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
			name = u.Path
		}
		if s.Repository.Excluded(name) || s.Repository.Skips(input.Source{Name: name, Data: []byte(text)}, nil) {
			continue
		}
		files = append(files, lint.File{Name: uri, Data: []byte(text)})
	}
	slices.SortFunc(files, func(a, b lint.File) int { return strings.Compare(a.Name, b.Name) })
	report, err := s.Check(files)
	for _, f := range report.Findings {
		if input.HasKEDA(strings.NewReader(open[f.File])) {
			found = append(found, f)
		}
	}
	return found, err
}

// publish sends the diagnostics of a document that has changed, and diagnostics that differ in other
// open documents: a name may be the name of an object in another document.
func (s *Server) publish(ctx context.Context, changed string) error {
	found, err := s.findings(s.open)
	if err != nil {
		return err
	}
	all := map[string][]Diagnostic{changed: {}}
	for uri := range s.open {
		all[uri] = []Diagnostic{}
	}
	for _, f := range found {
		all[f.File] = append(all[f.File], s.diagnostic(f))
	}
	for uri, diagnostics := range all {
		if uri != changed && reflect.DeepEqual(diagnostics, s.published[uri]) {
			continue
		}
		s.published[uri] = diagnostics
		if err := s.server.Notify(ctx, "textDocument/publishDiagnostics", map[string]any{"uri": uri, "diagnostics": diagnostics}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) diagnostic(f lint.Finding) Diagnostic {
	d := Diagnostic{Severity: 1, Code: f.Rule, Source: "scaledjob", Message: f.Message(), Range: s.extent(f),
		Description: map[string]string{"href": lint.Rule{ID: f.Rule}.URL()}}
	switch f.Severity {
	case lint.Warning:
		d.Severity = 2
	case lint.Note:
		d.Severity = 3
	}
	return d
}

// token matches the text of a key or of a value on one line.
var token = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s:,#\[\]{}"'](?:[^\s:,\]}]|:\S)*|.)`)

// lines are the lines of a document without their ends.
func lines(text string) []string {
	return strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
}

// extent is the range of the key or value at a finding.
func (s *Server) extent(f lint.Finding) Range {
	all := s.lines[f.File]
	n := min(max(f.Line-1, 0), len(all)-1)
	line := []rune(all[n])
	column := min(max(f.Column-1, 0), len(line))
	start := Position{n, units(line[:column])}
	text := token.FindString(string(line[column:]))
	return Range{start, Position{n, start.Character + units([]rune(text))}}
}

// units is the length of a text in UTF-16.
func units(text []rune) int { return len(utf16.Encode(text)) }

// within returns the findings of a document that overlap a range.
func (s *Server) within(uri string, r Range) (found []lint.Finding, err error) {
	all, err := s.findings(s.open)
	for _, f := range all {
		if f.File == uri && r.Start.Line <= f.Line-1 && f.Line-1 <= r.End.Line {
			found = append(found, f)
		}
	}
	return found, err
}

func (s *Server) hover(_ context.Context, p *lspParams) (any, error) {
	found, err := s.within(p.Document.URI, Range{p.Position, p.Position})
	var parts []string
	for _, f := range found {
		if r := s.extent(f); p.Position.Character < r.Start.Character || p.Position.Character > r.End.Character {
			continue
		}
		rule, err := lint.Explain(f.Rule)
		if err != nil {
			return nil, err
		}
		parts = append(parts, f.Message()+"\n\n"+rule)
	}
	if len(parts) == 0 || err != nil {
		return nil, err
	}
	return map[string]any{"contents": map[string]any{"kind": "plaintext", "value": strings.Join(parts, "\n\n")}}, nil
}

func (s *Server) actions(_ context.Context, p *lspParams) (any, error) {
	found, err := s.within(p.Document.URI, p.Range)
	actions := []lspAction{}
	for _, f := range found {
		for _, e := range s.candidates(f) {
			if title := s.fixes(f, e); title {
				actions = append(actions, lspAction{f.Fix, "quickfix", []Diagnostic{s.diagnostic(f)},
					map[string]any{"changes": map[string][]Edit{f.File: {e}}}})
				break
			}
		}
	}
	return actions, err
}

var (
	writesValue = regexp.MustCompile(`^Write (\S+)$`)
	writesEntry = regexp.MustCompile(`^Write ([\w./-]+): (\S+)$`)
	entry       = regexp.MustCompile(`^(\s*(?:- +)*)\S`)
)

// candidates are edits that a fix may mean. Only one that fixes is offered.
func (s *Server) candidates(f lint.Finding) (edits []Edit) {
	r, all := s.extent(f), s.lines[f.File]
	if m := writesValue.FindStringSubmatch(f.Fix); m != nil {
		parent := f.Path[:strings.LastIndexByte(f.Path, '.')+1] // a key is written with its path
		return []Edit{{r, strings.TrimPrefix(m[1], parent)}}
	}
	n := r.Start.Line
	begin := entry.FindStringSubmatch(all[n])
	if begin == nil {
		return nil
	}
	end := Position{n, units([]rune(all[n]))}
	if m := writesEntry.FindStringSubmatch(f.Fix); m != nil {
		return []Edit{{Range{Position{n, units([]rune(begin[1]))}, end}, m[1] + ": " + m[2]}}
	}
	if !strings.HasPrefix(f.Fix, "Delete ") || strings.Contains(begin[1], "-") {
		return nil
	}
	// The lines of an entry are its first line and the deeper lines.
	last := n + 1
	for ; last < len(all)-1; last++ {
		if at := entry.FindStringSubmatch(all[last]); at == nil || len(at[1]) <= len(begin[1]) || strings.HasPrefix(all[last], "---") {
			break
		}
	}
	return []Edit{{Range{Position{n, 0}, Position{last, 0}}, ""}}
}

// fixes reports whether an edit removes the finding, and adds none but notes.
func (s *Server) fixes(f lint.Finding, e Edit) bool {
	open := maps.Clone(s.open)
	open[f.File] = e.Apply(open[f.File])
	before, err := s.findings(s.open)
	after, wrong := s.findings(open)
	if err != nil || wrong != nil {
		return false
	}
	count := func(all []lint.Finding, of func(lint.Finding) bool) int {
		return len(all) - len(slices.DeleteFunc(slices.Clone(all), of))
	}
	same := func(other lint.Finding) bool {
		return other.File == f.File && other.Rule == f.Rule && other.Object == f.Object && other.Path == f.Path
	}
	worse := func(other lint.Finding) bool { return other.Severity > lint.Note && !same(other) }
	return count(after, same) < count(before, same) && count(after, worse) <= count(before, worse)
}

// Apply returns a text after the edit.
func (e *Edit) Apply(text string) string {
	all := lines(text)
	offset := func(p Position) string { // the text before a position
		line := utf16.Encode([]rune(all[p.Line]))
		before := append(slices.Clone(all[:p.Line]), string(utf16.Decode(line[:p.Character])))
		return strings.Join(before, "\n")
	}
	whole := strings.Join(all, "\n")
	return offset(e.Range.Start) + e.NewText + whole[len(offset(e.Range.End)):]
}
