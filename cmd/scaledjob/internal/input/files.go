// Package input reads what the commands are given: files, ScaledJobs, releases, queue lengths
// and counts of Jobs. An error names the file, the line and the fix.
package input

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

// A ScaledJob is a ScaledJob as it is written, in the forms that the specification and
// KEDA read.
type ScaledJob struct {
	File string
	Spec *manifest.ScaledJob
	KEDA *keda.ScaledJob
	// TemplateHash is adapter.TemplateHash of spec.jobTargetRef as it was read; "" if there is none.
	TemplateHash string
	// strict holds the problems for which manifest.Read rejects the manifest, such as
	// unknown fields. KEDA ignores these fields.
	Strict error

	locate func(error) (line int, problem error) // nil if the object is not in a file
}

// Name returns metadata.name.
func (m *ScaledJob) Name() string { return m.Spec.Name }

// Titled returns a name for people.
func Titled(name string) string { return cmp.Or(name, "a ScaledJob without a name") }

// Titled puts file, line and name before a problem.
func (m *ScaledJob) Titled(err error) error {
	return located(m.File, m.locate, Titled(m.Name())+": ", err)
}

// Located puts file and line before a problem.
func (m *ScaledJob) Located(err error) error { return located(m.File, m.locate, "", err) }

// located puts a file, the line if it is known, and a title before each problem.
func located(file string, locate func(error) (int, error), title string, err error) error {
	return WrapEach(err, func(err error) error {
		line, position := 0, file
		if locate != nil {
			line, err = locate(err)
		}
		if line > 0 {
			position = fmt.Sprintf("%s:%d", file, line)
		}
		return fmt.Errorf("%s: %s%w", position, title, err)
	})
}

// ManifestFlags choose manifests.
type ManifestFlags struct {
	Files []string
	only  string
	Tests bool     // directories have test files instead of manifests
	Any   bool     // a file or directory without a manifest is no problem
	Texts []Source // of the manifests that Read has read
	// repository chooses among the files of directories; nil reads every manifest.
	Repository *Repository
}

// Add adds the flags to a command.
func (f *ManifestFlags) Add(c *cobra.Command) {
	f.AddFiles(c)
	c.Flags().StringVar(&f.only, "name", "", "`name` of the only ScaledJob to check")
	_ = c.RegisterFlagCompletionFunc("name", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return f.names(args), cobra.ShellCompDirectiveNoFileComp
	})
}

// AddFiles adds -f only.
func (f *ManifestFlags) AddFiles(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.Files, "filename", "f", nil, "`file` or directory; - is standard input; may be repeated")
	_ = c.MarkFlagFilename("filename", "yaml", "yml", "json")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// A Source is a text as it was read.
type Source struct {
	Name string
	Data []byte
	// Unread says which bound the text is over; Data is empty then.
	Unread string
	// Generated is the output of a program that renders templates.
	Generated bool
}

// StandardInput is the name of the source that is read from it.
const StandardInput = "standard input"

// Output reports whether no file has the text that a user edits.
func (s Source) Output() bool { return s.Generated || s.Name == StandardInput }

// Sources reads the files, and the files of directories. It returns the readable texts
// and the problems of the others.
func (f *ManifestFlags) Sources(args []string, stdin io.Reader) (sources []Source, problems error) {
	names := append(slices.Clone(f.Files), args...)
	if len(names) == 0 && f.Repository != nil {
		names = []string{"."}
	}
	if len(names) == 0 && f.Tests {
		return nil, Usagef("no test file; name a file that ends with .test.yaml, a directory, or - for standard input")
	}
	if len(names) == 0 {
		return nil, Usagef("no manifest; name a file, a directory, or - for standard input")
	}
	visited, size := map[string]bool{}, 0
	var over []string // the files beyond a bound of all together
	for _, name := range names {
		if name == "" {
			return nil, Usagef("found an empty name; use the name of a file")
		}
		files, err := f.expand(name)
		problems = errors.Join(problems, err)
		walked := f.Repository != nil && !slices.Equal(files, []string{name})
		if walked {
			files = f.Repository.keep(files)
		}
		for _, file := range files {
			if visited[filepath.Clean(file)] {
				continue
			}
			visited[filepath.Clean(file)] = true
			if len(visited) > maxFiles {
				over = append(over, file)
				continue
			}
			s, err := ReadSource(file, stdin, MaxManifest)
			if (walked || (f.Any && err == nil && !kindOfOurs.Match(s.Data))) && f.Repository.Skips(s, err) {
				continue
			}
			if errors.Is(err, ErrTooLarge) {
				sources = append(sources, Source{Name: s.Name, Unread: fmt.Sprintf("a file of more than %d MiB", MaxManifest>>20)})
				continue
			}
			if walked && f.Any && err == nil && !judged(s.Data) {
				s.Data = nil
			}
			if size += len(s.Data); size > maxTexts {
				over = append(over, file)
				size -= len(s.Data)
				continue
			}
			if err == nil && !walked { // the parser needs much memory for a long document
				err = s.Rendered()
			}
			if err != nil {
				problems = errors.Join(problems, err)
				continue
			}
			sources = append(sources, s)
		}
	}
	if len(over) > 0 {
		sources = append(sources, Source{Name: over[0], Unread: fmt.Sprintf("a bound of %d MiB of manifests in %d files, which this file and %d more are over", maxTexts>>20, maxFiles, len(over)-1)})
	}
	return sources, problems
}

// judged reports whether a text may have an object that lint judges, or that such an object refers to.
func judged(data []byte) bool {
	return objectPattern.Match(data) || HasKEDA(bytes.NewReader(data))
}

var objectPattern = regexp.MustCompile(`kind["']?\s*:\s*["']?(?:(?:Sealed|External)?Secret|ConfigMap|PersistentVolumeClaim|ServiceAccount|Kustomization|TriggerAuthentication|ClusterTriggerAuthentication|Scheduled)|(?:^|\n)(?:resources|components|bases):`)

const kustomization = "Kustomization" // a name without an extension

// ManifestName and testName match the names of files in a directory.
var (
	ManifestName = regexp.MustCompile(`(?:\.(?:yaml|yml|json)|^` + kustomization + `)$`)
	testName     = regexp.MustCompile(`\.test\.(?:yaml|yml|json)$`)
)

// expand returns the name of a file, or the manifests in a directory and below. The directory may be a
// link. Below it expand ignores directories that begin with a dot, links, and everything else that is no
// regular file.
func (f *ManifestFlags) expand(name string) (files []string, problems error) {
	if info, err := os.Stat(name); name == "-" || err != nil || !info.IsDir() {
		return []string{name}, nil
	}
	root := name + string(filepath.Separator) // of which no link is left
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path != root: // the rest of the directory can be read
			problems = errors.Join(problems, FileError(path, err))
			return fs.SkipDir
		case err != nil:
			return err
		case e.IsDir() && path != root && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case f.Repository != nil && ManifestName.MatchString(e.Name()) && e.Type()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) != 0:
			f.Repository.skipped[skippedDevice]++
		case e.Type().IsRegular() && ManifestName.MatchString(e.Name()) && testName.MatchString(path) == f.Tests:
			files = append(files, path)
		}
		return nil
	})
	if err == nil && problems == nil && len(files) == 0 && !f.Any {
		want := ".yaml, .yml or .json"
		if f.Tests {
			want = ".test.yaml, .test.yml or .test.json"
		}
		err = fmt.Errorf("%s: no file ends with %s", name, want)
	}
	return files, errors.Join(problems, FileError(name, err))
}

// FileError names the file and the reason, and not the system call.
func FileError(name string, err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	name = cmp.Or(name, `""`)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: no such file or directory", name)
	}
	return fmt.Errorf("%s: %w", cmp.Or(path.Path, name), path.Err)
}

// Limits of the texts that are read, in bytes.
const (
	MaxFile     = 64 << 20
	MaxManifest = 16 << 20 // a file of manifests, whose documents have bounds of their own
	MaxDocument = tree.MaxDocument
	MaxDump     = 512 << 20
	maxTexts    = 32 << 20 // all files of manifests that are in memory
	maxFiles    = 100_000
)

// ErrTooLarge is the error for a file above the limit.
var ErrTooLarge = errors.New("too large")

// ErrNotText is the error for a file that is not in UTF-8.
var ErrNotText = errors.New("not text; use YAML or JSON in UTF-8")

// A File is a text that is read in UTF-8, whatever its byte order mark says.
type File struct {
	io.Reader
	io.Closer
	Name string
}

// Open opens a file of at most so many bytes: reading more is an error. The name - is standard input, unless
// stdin is nil.
func Open(name string, stdin io.Reader, limit int64) (*File, error) {
	f := &File{Closer: io.NopCloser(nil), Name: StandardInput}
	if name != "-" || stdin == nil {
		file, err := os.Open(name)
		if err != nil {
			return nil, FileError(name, err)
		}
		stdin, f.Closer, f.Name = file, file, name
	}
	f.Reader = transform.NewReader(&bounded{stdin, limit, limit}, unicode.BOMOverride(transform.Nop))
	return f, nil
}

// A bounded reader fails behind its limit.
type bounded struct {
	io.Reader
	remaining, limit int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.remaining -= int64(n); b.remaining < 0 {
		err = fmt.Errorf("%w: more than %d MiB; use smaller files", ErrTooLarge, b.limit>>20)
	}
	return n, err
}

// ReadSource reads a file that [Open] opens. With ErrNotText, and of a file that is too large, it returns the
// bytes too.
func ReadSource(name string, stdin io.Reader, limit int64) (Source, error) {
	f, err := Open(name, stdin, limit)
	if err != nil {
		return Source{Name: name}, err
	}
	defer f.Close()
	s := Source{Name: f.Name}
	s.Data, err = io.ReadAll(f)
	switch {
	case errors.Is(err, ErrTooLarge):
		return s, fmt.Errorf("%s: %w", s.Name, err)
	case err != nil:
		return Source{Name: s.Name}, FileError(s.Name, err)
	case !utf8.Valid(s.Data):
		return s, fmt.Errorf("%s: %w", s.Name, ErrNotText)
	}
	return s, nil
}

// kindOfOurs matches a document that a command reads, also in a template.
var kindOfOurs = regexp.MustCompile(`(?m)kind["']?\s*:\s*["']?(?:ScaledJob|ScheduledJob)\b`)

// Rendered returns an error if the text is a template.
func (s Source) Rendered() error {
	if !lint.Template(s.Data) {
		return nil
	}
	return fmt.Errorf("%s: a template; %s", s.Name, lint.RenderFirst(s.Data))
}

// Read returns the ScaledJobs that could be read, and the problems of the others. It
// returns at least one of both.
func (f *ManifestFlags) Read(args []string, stdin io.Reader) ([]*ScaledJob, error) {
	sources, problems := f.Sources(args, stdin)
	f.Texts = sources
	var found []*ScaledJob
	var names, others []string
	for _, s := range sources {
		manifests, kinds, err := s.Manifests()
		problems = errors.Join(problems, err)
		others = append(others, kinds...)
		for _, m := range manifests {
			names = append(names, m.Name())
			if f.only == "" || f.only == m.Name() {
				found = append(found, m)
			}
		}
	}
	if len(found) == 0 && (problems == nil || (f.only != "" && len(names) > 0)) {
		problems = errors.Join(problems, f.nothingFound(names, others))
	}
	return found, problems
}

// names completes the names of the ScaledJobs in the files. Standard input stays unread.
func (f *ManifestFlags) names(args []string) (names []string) {
	in := ManifestFlags{Files: slices.Concat(f.Files, args)}
	if !slices.Contains(in.Files, "-") {
		found, _ := in.Read(nil, nil)
		for _, m := range found {
			names = append(names, m.Name())
		}
	}
	return names
}

func (f *ManifestFlags) nothingFound(names, others []string) error {
	switch {
	case len(names) > 0:
		return fmt.Errorf("no ScaledJob called %q: found %s", f.only, strings.Join(names, ", "))
	case slices.Contains(others, "a ScaledObject"):
		return errors.New("no ScaledJob: found a ScaledObject, which creates no Jobs in KEDA 2; use a document of kind ScaledJob")
	case len(others) > 0:
		return fmt.Errorf("no ScaledJob: found only %s; use a document of kind ScaledJob", strings.Join(slices.Compact(slices.Sorted(slices.Values(others))), ", "))
	}
	if f.Repository != nil && f.Repository.Unrendered() {
		return errors.New("no ScaledJob: the files were skipped")
	}
	return errors.New("no ScaledJob: the input is empty; use a document of kind ScaledJob")
}

// Single returns the only ScaledJob.
func (f *ManifestFlags) Single(args []string, stdin io.Reader) (*ScaledJob, error) {
	found, err := f.Read(args, stdin)
	if err != nil {
		return nil, err
	}
	if len(found) > 1 {
		return nil, Usagef("found %d ScaledJobs; use --name to choose one", len(found))
	}
	return found[0], nil
}

// Manifests returns the ScaledJobs of a text that the API server would accept, and
// the kinds of its other objects.
func (s Source) Manifests() (found []*ScaledJob, others []string, problems error) {
	if s.Unread != "" {
		return nil, nil, fmt.Errorf("%s: %s; use smaller files, or fewer at once", s.Name, s.Unread)
	}
	if tree.TooLargeIn(s.Data) {
		broken := tree.NotYAML(s.Data)
		return nil, nil, s.notYAML(broken[slices.IndexFunc(broken, func(b tree.Broken) bool { return b.TooLarge })])
	}
	notYAML := sync.OnceValue(func() []tree.Broken { return tree.NotYAML(s.Data) })
	roots := sync.OnceValue(s.scaledJobs)
	broken, jobs, total := 0, 0, 0
	objects := manifest.Objects(s.Data)
	for _, o := range objects {
		if o.Kind == manifest.GroupVersionKind.Kind {
			total++
		}
	}
	for _, o := range objects {
		var locate func(error) (int, error)
		if o.Kind == manifest.GroupVersionKind.Kind {
			i := jobs
			locate = func(err error) (int, error) {
				if trees := roots(); len(trees) == total { // or else another one may be meant
					return trees[i].locate(err)
				}
				return 0, err
			}
			jobs++
		}
		switch {
		case o.ScaledJob != nil:
			clean(o.ScaledJob)
			m := &ScaledJob{File: s.Name, Spec: o.ScaledJob, KEDA: o.ScaledJob.KEDA(), Strict: o.Err, locate: locate}
			if o.JobTemplate != nil {
				m.TemplateHash = adapter.TemplateHash(o.JobTemplate)
			}
			found = append(found, m)
		case o.Err != nil && strings.HasPrefix(o.Err.Error(), "not YAML: "):
			if all := notYAML(); broken < len(all) {
				problems = errors.Join(problems, s.notYAML(all[broken]))
				broken++
				continue
			}
			o.Err = errors.New("invalid YAML: " + strings.TrimPrefix(o.Err.Error(), "not YAML: "))
			fallthrough
		case o.Err != nil:
			problems = errors.Join(problems, located(s.Name, locate, "", o.Err))
		case o.Kind == "":
			others = append(others, "a document without a kind")
		case o.Kind == "List":
			others = append(others, "a List without items")
		default:
			others = append(others, report.Article(report.Clean(o.Kind)))
		}
	}
	return found, others, problems
}

// scaledJobs returns the trees of the ScaledJobs in a text that is YAML, in the order of manifest.Objects.
func (s Source) scaledJobs() (documents []*document) {
	var add func(n *yaml.Node, above int)
	add = func(n *yaml.Node, above int) {
		d := &document{root: n, above: above}
		_, kind := d.keys.Child(n, "kind")
		_, list := d.keys.Child(n, "items")
		switch {
		case kind != nil && kind.Value == manifest.GroupVersionKind.Kind:
			documents = append(documents, d)
		case kind != nil && (kind.Value == "List" || kind.Value == manifest.GroupVersionKind.Kind+"List") && list != nil:
			for _, item := range list.Content {
				add(item, above)
			}
		}
	}
	for _, p := range tree.Split(string(s.Data)) {
		above := p.Above
		if strings.HasPrefix(p.Text, "---") {
			above++
		}
		for n, err := range p.Documents() {
			root, _, ok := tree.Resolve(n, false)
			if err == nil && !ok { // it may be a ScaledJob: those below have no line
				return documents
			}
			if err == nil && root != nil {
				add(root, above)
			}
		}
	}
	return documents
}

// clean makes the names of a ScaledJob safe to print. It changes no name that Kubernetes or
// KEDA accepts.
func clean(s *manifest.ScaledJob) {
	s.Name, s.Namespace = report.Clean(s.Name), report.Clean(s.Namespace)
	for i := range s.Spec.Triggers {
		t := &s.Spec.Triggers[i]
		t.Type, t.Name = report.Clean(t.Type), report.Clean(t.Name)
	}
}

// notYAML returns the error of a broken document, at the line that lint reports.
func (s Source) notYAML(b tree.Broken) error {
	return fmt.Errorf("%s:%d: %s", s.Name, b.Line, b.Problem)
}

// HasScaledJob reports whether a source has a ScaledJob of KEDA.
func (s Source) HasScaledJob() bool {
	return slices.ContainsFunc(manifest.Objects(s.Data), func(o manifest.Object) bool { return o.Kind == "ScaledJob" })
}
