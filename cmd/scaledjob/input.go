package main

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
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

// A scaledJob is a ScaledJob as it is written, in the forms that the specification and
// KEDA read.
type scaledJob struct {
	file string
	spec *manifest.ScaledJob
	keda *keda.ScaledJob
	// strict holds the problems for which manifest.Read rejects the manifest, such as
	// unknown fields. KEDA ignores these fields.
	strict error
}

func (m *scaledJob) name() string { return m.spec.Name }

// titled returns a name for people.
func titled(name string) string { return cmp.Or(name, "a ScaledJob without a name") }

// where puts file and name before a problem.
func (m *scaledJob) where(err error) error {
	return each(err, func(err error) error { return fmt.Errorf("%s: %s: %w", m.file, titled(m.name()), err) })
}

// manifestFlags choose manifests.
type manifestFlags struct {
	files []string
	only  string
	tests bool // directories have test files instead of manifests
	// repository chooses among the files of directories; nil reads every manifest.
	repository *repository
}

func (f *manifestFlags) add(c *cobra.Command) {
	f.addFiles(c)
	c.Flags().StringVar(&f.only, "name", "", "the only ScaledJob to check, by its `name`")
	_ = c.RegisterFlagCompletionFunc("name", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return f.names(args), cobra.ShellCompDirectiveNoFileComp
	})
}

func (f *manifestFlags) addFiles(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.files, "filename", "f", nil, "`file` or directory, as an argument would be; - is standard input; may be repeated")
	_ = c.MarkFlagFilename("filename", "yaml", "yml", "json")
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// A source is a text as it was read.
type source struct {
	name string
	data []byte
}

// sources reads the files, and the files of directories. It returns the readable texts
// and the problems of the others.
func (f *manifestFlags) sources(args []string, stdin io.Reader) (all []source, problems error) {
	names := append(slices.Clone(f.files), args...)
	if len(names) == 0 && f.repository != nil {
		names = []string{"."}
	}
	if len(names) == 0 && f.tests {
		return nil, usagef("no test file; use orders.test.yaml, a directory, or - for standard input")
	}
	if len(names) == 0 {
		return nil, usagef("no manifest; use scaledjob.yaml, a directory, or - for standard input")
	}
	seen := map[string]bool{}
	for _, name := range names {
		if name == "" {
			return nil, usagef("found an empty name; use the name of a file")
		}
		files, err := f.expand(name)
		problems = errors.Join(problems, err)
		walked := f.repository != nil && !slices.Equal(files, []string{name})
		if walked {
			files = f.repository.keep(files)
		}
		for _, file := range files {
			if seen[filepath.Clean(file)] {
				continue
			}
			seen[filepath.Clean(file)] = true
			s, err := readSource(file, stdin, maxFile)
			if walked && err == nil && f.repository.skips(s) {
				continue
			}
			if err == nil {
				err = errors.Join(s.rendered(), s.documents())
			}
			if err != nil {
				problems = errors.Join(problems, err)
				continue
			}
			all = append(all, s)
		}
	}
	return all, problems
}

// manifestName and testName match the names of files in a directory.
var (
	manifestName = regexp.MustCompile(`\.(?:yaml|yml|json)$`)
	testName     = regexp.MustCompile(`\.test\.(?:yaml|yml|json)$`)
)

// expand returns the name of a file, or the manifests in a directory and below. It ignores
// directories that begin with a dot, links, and everything else that is no regular file.
func (f *manifestFlags) expand(name string) (files []string, problems error) {
	if info, err := os.Stat(name); name == "-" || err != nil || !info.IsDir() {
		return []string{name}, nil
	}
	err := filepath.WalkDir(name, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path != name: // the rest of the directory can be read
			problems = errors.Join(problems, fileError(path, err))
			return fs.SkipDir
		case err != nil:
			return err
		case e.IsDir() && path != name && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.Type().IsRegular() && manifestName.MatchString(path) && testName.MatchString(path) == f.tests:
			files = append(files, path)
		}
		return nil
	})
	if err == nil && problems == nil && len(files) == 0 {
		want := ".yaml, .yml or .json"
		if f.tests {
			want = ".test.yaml, .test.yml or .test.json"
		}
		err = fmt.Errorf("%s: no file ends with %s", name, want)
	}
	return files, errors.Join(problems, fileError(name, err))
}

// fileError names the file and the reason, and not the system call.
func fileError(name string, err error) error {
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
	maxFile     = 64 << 20
	maxDocument = 5 << 20 // of a manifest: the parser needs up to 140 times as much memory
	maxDump     = 512 << 20
)

// readSource reads a file of at most so many bytes. The name - is standard input, unless
// stdin is nil.
func readSource(name string, stdin io.Reader, most int64) (s source, err error) {
	s.name = name
	if name == "-" && stdin != nil {
		s.name = "standard input"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return s, fileError(name, err)
		}
		defer f.Close()
		stdin = f
	}
	s.data, err = io.ReadAll(io.LimitReader(stdin, most+1))
	switch {
	case err != nil:
		return s, fileError(s.name, err)
	case int64(len(s.data)) > most:
		return s, fmt.Errorf("%s: more than %d MiB; use smaller files", s.name, most>>20)
	}
	s.data = decoded(s.data)
	if !utf8.Valid(s.data) {
		return s, fmt.Errorf("%s: not text; use YAML or JSON in UTF-8", s.name)
	}
	return s, nil
}

// documents returns an error if a document is too long.
func (s source) documents() error {
	line, first, length := 1, 1, 0
	for part := range bytes.Lines(s.data) {
		if bytes.HasPrefix(part, []byte("---")) {
			first, length = line, 0
		}
		if length += len(part); length > maxDocument {
			return fmt.Errorf("%s:%d: a document of more than %d MiB; use several documents", s.name, first, maxDocument>>20)
		}
		line++
	}
	return nil
}

// decoded returns the text in UTF-8 without a byte order mark. UTF-16 needs a mark.
func decoded(data []byte) []byte {
	little := bytes.HasPrefix(data, []byte{0xff, 0xfe})
	if !little && !bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		high, low := data[i], data[i+1]
		if little {
			high, low = low, high
		}
		units = append(units, uint16(high)<<8|uint16(low))
	}
	return []byte(string(utf16.Decode(units)))
}

// rendered returns an error if the text is a template.
func (s source) rendered() error {
	if !lint.Template(s.data) {
		return nil
	}
	return fmt.Errorf("%s: a template; render first: helm template … | scaledjob lint -", s.name)
}

// read returns the ScaledJobs that could be read, and the problems of the others. It
// returns at least one of both.
func (f *manifestFlags) read(args []string, stdin io.Reader) ([]*scaledJob, error) {
	sources, problems := f.sources(args, stdin)
	var found []*scaledJob
	var names, others []string
	for _, s := range sources {
		manifests, kinds, err := s.manifests()
		problems = errors.Join(problems, err)
		others = append(others, kinds...)
		for _, m := range manifests {
			names = append(names, m.name())
			if f.only == "" || f.only == m.name() {
				found = append(found, m)
			}
		}
	}
	if len(found) == 0 && (problems == nil || f.only != "" && len(names) > 0) {
		problems = errors.Join(problems, f.none(names, others))
	}
	return found, problems
}

// names completes the names of the ScaledJobs in the files. Standard input stays unread.
func (f *manifestFlags) names(args []string) (names []string) {
	in := manifestFlags{files: slices.Concat(f.files, args)}
	if !slices.Contains(in.files, "-") {
		found, _ := in.read(nil, nil)
		for _, m := range found {
			names = append(names, m.name())
		}
	}
	return names
}

// none returns the error for files without a ScaledJob.
func (f *manifestFlags) none(names, others []string) error {
	switch {
	case len(names) > 0:
		return fmt.Errorf("no ScaledJob called %q: found %s", f.only, strings.Join(names, ", "))
	case slices.Contains(others, "a ScaledObject"):
		return errors.New("no ScaledJob: found a ScaledObject, which scales a Deployment and creates no Jobs; use a document of kind ScaledJob")
	case len(others) > 0:
		return fmt.Errorf("no ScaledJob: found only %s; use a document of kind ScaledJob", strings.Join(slices.Compact(slices.Sorted(slices.Values(others))), ", "))
	}
	return errors.New("no ScaledJob: the input is empty")
}

// one returns the only ScaledJob.
func (f *manifestFlags) one(args []string, stdin io.Reader) (*scaledJob, error) {
	found, err := f.read(args, stdin)
	if err != nil {
		return nil, err
	}
	if len(found) > 1 {
		return nil, usagef("found %d ScaledJobs; use --name to choose one", len(found))
	}
	return found[0], nil
}

// manifests returns the ScaledJobs of a text that the API server would accept, and
// the kinds of its other objects.
func (s source) manifests() (found []*scaledJob, others []string, problems error) {
	broken := 0
	for _, o := range manifest.Objects(s.data) {
		switch {
		case o.ScaledJob != nil:
			clean(o.ScaledJob)
			found = append(found, &scaledJob{s.name, o.ScaledJob, o.ScaledJob.KEDA(), o.Err})
		case o.Err != nil && strings.HasPrefix(o.Err.Error(), "not YAML: "):
			problems = errors.Join(problems, s.notYAML(broken, o.Err))
			broken++
		case o.Err != nil:
			problems = errors.Join(problems, fmt.Errorf("%s: %w", s.name, o.Err))
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

// clean makes the names of a ScaledJob safe to print. It changes no name that Kubernetes or
// KEDA accepts.
func clean(s *manifest.ScaledJob) {
	s.Name, s.Namespace = report.Clean(s.Name), report.Clean(s.Namespace)
	for i := range s.Spec.Triggers {
		t := &s.Spec.Triggers[i]
		t.Type, t.Name = report.Clean(t.Type), report.Clean(t.Name)
	}
}

// notYAML returns the error of the broken document with this index, at the line that lint
// reports.
func (s source) notYAML(index int, err error) error {
	report := lint.Check([]lint.File{{Name: s.name, Data: s.data}})
	for _, f := range report.Findings {
		problem, broken := strings.CutPrefix(f.Found, "broken YAML, ")
		if !broken {
			continue
		}
		if index == 0 {
			return fmt.Errorf("%s:%d: not YAML: %s", s.name, f.Line, problem)
		}
		index--
	}
	return fmt.Errorf("%s: %w", s.name, err)
}
