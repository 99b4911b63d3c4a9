package input

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/field"
)

// A Repository holds what a walk leaves out: files that are no manifests on their own.
type Repository struct {
	exclude []*regexp.Regexp
	patches map[string]bool // files that a kustomization lists
	charts  map[string]bool // directories of Helm charts
	skipped map[string]int  // by reason
}

// Reasons of skipped files, in the words of the summary.
const (
	skippedTemplate = "Helm template"
	skippedValues   = "Helm values file"
	skippedPatch    = "Kustomize patch"
	skippedOther    = "non-YAML file"
	skippedLarge    = "oversized file"
	skippedExcluded = "excluded file"
	skippedDevice   = "pipe or device"
)

// NewRepository compiles patterns such as vendor/ and **/*.gen.yaml.
func NewRepository(exclude []string) (*Repository, error) {
	r := &Repository{patches: map[string]bool{}, charts: map[string]bool{}, skipped: map[string]int{}}
	for _, pattern := range exclude {
		e, err := globOf(pattern)
		if err != nil {
			return nil, Usagef("exclude %q: not a pattern; use names such as vendor/ and **/*.gen.yaml", pattern)
		}
		r.exclude = append(r.exclude, e)
	}
	return r, nil
}

// globOf returns the expression of a pattern: * is within a name, ** is any directories, and
// a pattern without a slash, other than at its end, matches at every depth.
func globOf(pattern string) (*regexp.Regexp, error) {
	p := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(pattern), "./"), "/")
	if p == "" {
		return nil, errors.New("empty")
	}
	e := regexp.QuoteMeta(p)
	e = strings.NewReplacer(`\*\*/`, `(?:.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`).Replace(e)
	if !strings.Contains(p, "/") {
		e = `(?:.*/)?` + e
	}
	return regexp.Compile(`^` + e + `(?:/.*)?$`)
}

// Excluded reports whether a pattern excludes a file. Patterns are relative to the working directory.
func (r *Repository) Excluded(path string) bool {
	if dir, err := os.Getwd(); err == nil && filepath.IsAbs(path) {
		if relative, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(relative) {
			path = relative
		}
	}
	path = filepath.ToSlash(filepath.Clean(path))
	return slices.ContainsFunc(r.exclude, func(e *regexp.Regexp) bool { return e.MatchString(path) })
}

// keep returns the files to read of a walk, and notes the patches that kustomizations list.
func (r *Repository) keep(files []string) (kept []string) {
	for _, file := range files {
		if filepath.Base(file) == "Chart.yaml" {
			r.charts[filepath.Dir(file)] = true
		}
		if r.Excluded(file) {
			r.skipped[skippedExcluded]++
			continue
		}
		kept = append(kept, file)
		switch filepath.Base(file) {
		case "kustomization.yaml", "kustomization.yml", kustomization:
			r.kustomization(file)
		}
	}
	return kept
}

// values reports whether a file has values of a Helm chart: the name, or a directory of the chart, says so.
func (r *Repository) values(file string) bool {
	named := strings.Contains(filepath.Base(file), "values")
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if r.charts[dir] || dir == filepath.Dir(dir) {
			return named && r.charts[dir]
		}
		named = named || strings.Contains(filepath.Base(dir), "values")
	}
}

// ofKEDA matches the apiVersion of a manifest of KEDA.
var ofKEDA = regexp.MustCompile(`(?m)^(?:- |["{ ]*)"?apiVersion"?:\s*["']?keda\.sh/`)

// kustomization notes the patches of a kustomization. A broken one is a finding later.
func (r *Repository) kustomization(file string) {
	s, err := ReadSource(file, nil, MaxDocument)
	var k struct {
		Patches []struct{ Path string } `yaml:"patches"`
		Merge   []string                `yaml:"patchesStrategicMerge"`
		JSON    []struct{ Path string } `yaml:"patchesJson6902"`
	}
	if err != nil || tree.TooLargeIn(s.Data) || yaml.Unmarshal(s.Data, &k) != nil {
		return
	}
	for _, p := range append(k.Patches, k.JSON...) {
		k.Merge = append(k.Merge, p.Path)
	}
	for _, path := range k.Merge {
		if path != "" && !strings.Contains(path, "\n") {
			r.patches[filepath.Join(filepath.Dir(file), path)] = true
		}
	}
}

var patchPattern = regexp.MustCompile(`(?m)(?:^|[{,])[\s-]*["']?\$patch["']?\s*:`)

// HasKEDA reports whether a text has a word of KEDA.
func HasKEDA(text io.Reader) bool {
	piece, kept := make([]byte, 64<<10), 0
	for {
		n, err := io.ReadFull(text, piece[kept:])
		low := bytes.ToLower(piece[:kept+n])
		if bytes.Contains(low, []byte("keda.sh")) || bytes.Contains(low, []byte("scaledjob")) {
			return true
		}
		if err != nil {
			return false
		}
		kept = copy(piece, piece[len(piece)-len("scaledjob"):])
	}
}

// Skips reports whether a file of a walk is no manifest on its own, and counts it. A file with a word of
// KEDA that cannot be read is an error instead. The error of its reading is unread.
func (r *Repository) Skips(s Source, unread error) bool {
	text := io.Reader(bytes.NewReader(s.Data))
	if len(s.Data) > MaxManifest {
		if f, err := os.Open(s.Name); err == nil { // the rest is not in memory
			defer f.Close()
			text = f
		}
	}
	reason, keda := "", HasKEDA(text)
	switch {
	case unread != nil && (keda || len(s.Data) == 0):
		return false
	case unread != nil && len(s.Data) > MaxManifest:
		reason = skippedLarge
	case unread != nil:
		reason = skippedOther
	case r.patches[filepath.Clean(s.Name)] || (bytes.Contains(s.Data, []byte("$patch")) && patchPattern.Match(s.Data)):
		reason = skippedPatch
	case r.values(s.Name) && !ofKEDA.Match(s.Data):
		reason = skippedValues
	case !keda && tree.TooLargeIn(s.Data):
		reason = skippedLarge
	case s.Rendered() != nil:
		reason = skippedTemplate
	case !keda && len(tree.NotYAML(s.Data)) > 0: // such as JSON with comments
		reason = skippedOther
	default:
		return false
	}
	r.skipped[reason]++
	return true
}

// Unrendered reports whether skipped files may have ScaledJobs when they are rendered.
func (r *Repository) Unrendered() bool { return r.skipped[skippedTemplate]+r.skipped[skippedPatch] > 0 }

// Summary counts the skipped files and explains how to check them: charts and overlays are rendered by flags of
// lint, or else before a command reads them. It is empty without any.
func (r *Repository) Summary(out io.Writer, command string) {
	chart, overlay := "--helm DIR", "--kustomize DIR"
	if command != "" {
		chart, overlay = "helm template DIR | "+command+" -", "kustomize build DIR | "+command+" -"
	}
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		hint := map[string]string{
			skippedTemplate: "; to check charts rendered, use " + chart,
			skippedPatch:    "; to check overlays rendered, use " + overlay,
		}[reason]
		fmt.Fprintf(out, "skipped %s%s\n", field.Plural(r.skipped[reason], reason), hint)
	}
}

// A Renderer runs a program that prints manifests.
type Renderer struct {
	flag     string
	programs [][]string // the first that is there
}

var (
	Kustomize = Renderer{"--kustomize", [][]string{{"kustomize", "build"}, {"kubectl", "kustomize"}}}
	Helm      = Renderer{"--helm", [][]string{{"helm", "template"}}}
)

// Render returns the manifests of a directory.
func (r Renderer) Render(ctx context.Context, dir string) (Source, error) {
	for _, program := range r.programs {
		path, err := exec.LookPath(program[0])
		if err != nil {
			continue
		}
		var said bytes.Buffer
		dir, err := filepath.Abs(dir) // so that no name is taken for a flag
		if err != nil {
			return Source{}, err
		}
		c := exec.CommandContext(ctx, path, append(slices.Clone(program[1:]), dir)...)
		c.Stderr = &said
		data, err := c.Output()
		if err != nil {
			return Source{}, fmt.Errorf("%s %s: %s", strings.Join(program, " "), dir, cmp.Or(strings.TrimSpace(said.String()), err.Error()))
		}
		return Source{Name: strings.Join(program, " ") + " " + dir, Data: data, Generated: true}, nil
	}
	return Source{}, fmt.Errorf("%s: found no program %s; install it, or render first and lint the output", r.flag, r.programs[0][0])
}

// SettingsFile is the file of a repository with the settings of lint.
const SettingsFile = ".scaledjob.yaml"

// Settings are the settings of lint in a repository. A flag of the command line counts instead.
type Settings struct {
	Exclude    []string          `json:"exclude"`    // patterns of files
	Ignore     []string          `json:"ignore"`     // rules
	Releases   []string          `json:"releases"`   // of KEDA
	Severities map[string]string `json:"severities"` // of rules
}

// ReadSettings reads the settings of a file. There are none if the file is empty or is a missing
// SettingsFile. As in a walk, a SettingsFile is no link: an error would print what it leads to.
func ReadSettings(name string) (set Settings, err error) {
	if name == SettingsFile {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return set, nil
		}
		if err == nil && !info.Mode().IsRegular() {
			return set, fmt.Errorf("%s: a link or not a file; use --config with another name", name)
		}
	}
	s, err := ReadSource(name, nil, MaxDocument)
	if err != nil {
		return set, err
	}
	if err = Decode(s, &set, func() error { return nil }, "lint --help"); errors.Is(err, errEmpty) {
		err = nil
	}
	return set, err
}
