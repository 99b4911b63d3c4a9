package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
)

// KubectlGet is the fix of a dump that cannot be read.
const KubectlGet = "use the output of kubectl get jobs,pods -o json"

// Bounds of what is in memory at once. An API server accepts objects of about 1.5 MiB.
const (
	maxObject = 5 << 20  // bytes of text
	maxParts  = 100_000  // JSON objects in an object
	maxKept   = 96 << 20 // bytes of the objects that are kept
)

var (
	errNotJSON  = errors.New("not JSON; " + KubectlGet)
	errTooLarge = fmt.Errorf("an object of more than %d MiB or %d parts; %s", maxObject>>20, maxParts, KubectlGet)
)

// A reader reads a dump one object at a time, so that its size does not matter, and keeps what concerns the
// ScaledJobs.
type reader struct {
	Dump
	scaledJobs []*input.ScaledJob
	found      bool // an object or a list
	kept       int  // bytes
}

// Read reads files with Jobs and pods. It returns the Jobs of the ScaledJobs, and all pods.
func Read(files []string, stdin io.Reader, scaledJobs ...*input.ScaledJob) (*Dump, error) {
	r := &reader{scaledJobs: scaledJobs}
	for _, name := range files {
		file, err := input.Open(name, stdin, input.MaxDump)
		if err != nil {
			return nil, err
		}
		err = r.read(file)
		file.Close()
		var unreadable *fs.PathError
		switch {
		case errors.As(err, &unreadable):
			return nil, input.FileError(file.Name, err)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	// An object may be in several files.
	r.Jobs, r.Pods = distinct(r.Jobs), distinct(r.Pods)
	return &r.Dump, nil
}

// distinct returns the objects without later objects of the same namespace and name.
func distinct[T metav1.Object](items []T) []T {
	visited := map[types.NamespacedName]bool{}
	return slices.DeleteFunc(items, func(item T) bool {
		name := nameOf(item)
		repeated := visited[name] && name.Name != ""
		visited[name] = true
		return repeated
	})
}

// jsonObject matches JSON, and not a flow mapping of YAML.
var jsonObject = regexp.MustCompile(`^\s*\{\s*["}]`)

// read adds the Jobs and pods of a text with documents of JSON or YAML.
func (r *reader) read(text io.Reader) error {
	lines := bufio.NewReaderSize(text, 64<<10)
	if head, _ := lines.Peek(10); bytes.HasPrefix(head, []byte("NAME ")) || bytes.HasPrefix(head, []byte("NAMESPACE ")) {
		return fmt.Errorf("found a table; %s", KubectlGet)
	}
	r.found = false
	for ended := false; !ended; {
		s := &section{lines: lines}
		document := bufio.NewReader(s)
		read := r.yaml
		if head, _ := document.Peek(512); jsonObject.Match(head) {
			read = r.json
		}
		if err := read(document, s); err != nil {
			return err
		}
		ended = s.last
	}
	if !r.found {
		return errNotJSON
	}
	return nil
}

// A section is the text up to a line that separates documents. It fails if more is read of it at once than
// an object may have.
type section struct {
	lines  *bufio.Reader
	line   []byte // what is not yet read of the line
	within bool   // the line goes on behind it
	err    error
	last   bool // no section follows
	size   int  // of what was read of the object
}

func (s *section) Read(p []byte) (n int, err error) {
	p = p[:min(len(p), 64<<10)] // a decoder asks for more than it needs
	for n < len(p) && (len(s.line) > 0 || s.err == nil) {
		if len(s.line) == 0 {
			s.next()
		}
		read := copy(p[n:], s.line)
		n, s.line = n+read, s.line[read:]
	}
	if s.size += n; s.size > maxObject {
		return 0, errTooLarge
	}
	if n == 0 {
		return 0, s.err
	}
	return n, nil
}

// next reads a line, or a part of a long one.
func (s *section) next() {
	line, err := s.lines.ReadSlice('\n')
	if !s.within && bytes.Equal(bytes.TrimRight(line, " \t\r\n"), []byte("---")) {
		line, s.err = nil, io.EOF
	}
	s.line, s.within = line, errors.Is(err, bufio.ErrBufferFull)
	if err != nil && !s.within {
		s.last = true
		s.err = err
	}
}

// json reads objects of JSON, one after another.
func (r *reader) json(text io.Reader, s *section) error {
	for decoder := json.NewDecoder(text); ; {
		s.size = 0
		open, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && open != json.Delim('{') {
			err = errNotJSON
		}
		if err == nil {
			err = r.document(decoder, s)
		}
		var syntax *json.SyntaxError
		switch {
		case errors.As(err, &syntax), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return errNotJSON
		case err != nil:
			return err
		}
	}
}

// document reads an object behind its brace. The items of a list are not in memory together.
func (r *reader) document(decoder *json.Decoder, s *section) error {
	fields, kind, isList := map[string]json.RawMessage{}, "", false
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		if key == "items" {
			isList = true
			if err := r.items(decoder, s, strings.TrimSuffix(kind, "List")); err != nil {
				return err
			}
			continue
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		if key == "kind" {
			_ = json.Unmarshal(value, &kind)
		}
		if !isList {
			fields[key.(string)] = value
		}
	}
	r.found = true
	if _, err := decoder.Token(); err != nil {
		return err
	}
	if isList && slices.Contains([]string{"List", "JobList", "PodList"}, kind) {
		return nil
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return r.object(data, kind)
}

// items reads the items of a list, of a kind that they may leave out.
func (r *reader) items(decoder *json.Decoder, s *section, kind string) error {
	open, err := decoder.Token()
	if err != nil || open != json.Delim('[') {
		return err // null has no items
	}
	for i := 0; decoder.More(); i++ {
		s.size = 0
		var item json.RawMessage
		if err := decoder.Decode(&item); err != nil {
			return err
		}
		if err := r.object(item, kind); err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	_, err = decoder.Token()
	return err
}

// yaml reads a document of YAML. The items of a list are not in memory together.
func (r *reader) yaml(text io.Reader, s *section) error {
	var document, item []byte // document without the items
	within, indent, count := false, -1, 0
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, maxObject)
	for lines.Scan() {
		line := lines.Text() + "\n"
		content := strings.TrimLeft(line, " ")
		spaces := len(line) - len(content)
		isDash := strings.HasPrefix(content, "- ") || strings.TrimSpace(content) == "-"
		starts := within && isDash && (indent < 0 || spaces == indent)
		switch {
		case starts:
			if err := r.yamlItem(item, count); err != nil {
				return err
			}
			s.size, indent, item = 0, spaces, append(item[:0], line...)
			count++
		case within && indent >= 0 && (spaces > indent || content == "\n"):
			item = append(item, line...)
		default:
			within = strings.TrimSpace(line) == "items:" && spaces == 0
			document = append(document, line...)
		}
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = errTooLarge
	}
	if err == nil {
		err = r.yamlItem(item, count)
	}
	if err != nil {
		return err
	}
	data, err := toJSON(document)
	if err != nil || string(data) == "null" { // between separators
		return err
	}
	return r.json(bytes.NewReader(data), &section{})
}

// yamlItem adds an item of a list, whose text has the dash.
func (r *reader) yamlItem(text []byte, count int) error {
	data, err := toJSON(text)
	var items []json.RawMessage
	if err == nil {
		err = json.Unmarshal(data, &items)
	}
	for i := 0; err == nil && i < len(items); i++ {
		err = r.object(items[i], "")
	}
	if err != nil {
		return fmt.Errorf("items[%d]: %w", max(0, count-1), err)
	}
	return nil
}

func toJSON(text []byte) ([]byte, error) {
	if tree.TooLargeIn(text) {
		return nil, errTooLarge
	}
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, errNotJSON
	}
	return data, nil
}

// object adds a Job or a pod, of a kind that it may leave out.
func (r *reader) object(data []byte, kind string) error {
	var typed struct{ Kind string }
	err := json.Unmarshal(data, &typed)
	if typed.Kind != "" {
		kind = typed.Kind
	}
	switch {
	case err != nil:
	case bytes.Count(data, []byte("{")) > maxParts:
		err = errTooLarge
	case !utf8.Valid(data):
		err = input.ErrNotText
	case kind == "Job":
		err = r.job(data)
	case kind == "Pod":
		err = r.pod(data)
	case kind == "":
		err = fmt.Errorf("found no kind; %s", KubectlGet)
	default:
		err = fmt.Errorf("found %s; %s", report.Article(kind), KubectlGet)
	}
	return input.Plain(err)
}

// job keeps what is read of a Job, if it may be one of the ScaledJobs.
func (r *reader) job(data []byte) error {
	var j Job
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	r.listed++
	if !slices.ContainsFunc(r.scaledJobs, func(m *input.ScaledJob) bool { return concerns(&j, m) }) {
		return nil
	}
	r.Jobs = append(r.Jobs, &j)
	return r.keep(&j.ObjectMeta, &j.Status, len(j.Status.Conditions), 0)
}

// concerns reports whether a Job may be of a ScaledJob by a rule of any release.
func concerns(j *Job, m *input.ScaledJob) bool {
	if c := metav1.GetControllerOf(j); c != nil && (c.Name == m.Name() || c.UID == m.Spec.UID) {
		return true
	}
	return slices.Contains(slices.Collect(maps.Values(j.Labels)), m.Name())
}

// pod keeps what is read of a pod.
func (r *reader) pod(data []byte) error {
	var p Pod
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	r.Complete = true
	if !ofJob(&p) {
		return nil
	}
	r.Pods = append(r.Pods, &p)
	s := &p.Status
	return r.keep(&p.ObjectMeta, s, len(s.Conditions), len(s.ContainerStatuses)+len(s.InitContainerStatuses)+len(s.EphemeralContainerStatuses))
}

// ofJob reports whether a pod names a Job.
func ofJob(p *Pod) bool {
	owner := metav1.GetControllerOf(p)
	return (owner != nil && owner.Kind == "Job") || p.Labels[batchv1.JobNameLabel] != "" || p.Labels["job-name"] != ""
}

// keep counts what an object takes, with the forms that decisions need. Its lists take more than their texts.
func (r *reader) keep(m *metav1.ObjectMeta, status interface{ Size() int }, conditions, containers int) error {
	m.ManagedFields = nil
	delete(m.Annotations, corev1.LastAppliedConfigAnnotation)
	const object, entry, condition, container = 1100, 48, 120, 240
	entries := len(m.Labels) + len(m.Annotations) + len(m.Finalizers) + len(m.OwnerReferences)
	r.kept += object + m.Size() + status.Size() + entry*entries + condition*conditions + container*containers
	if r.kept > maxKept {
		return fmt.Errorf("the Jobs and pods take more than %d MiB of memory; use those of one namespace, or of one ScaledJob", maxKept>>20)
	}
	return nil
}
