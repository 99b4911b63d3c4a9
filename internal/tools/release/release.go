package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"

	"github.com/scaledjob/scaledjob/internal/tools/modules"
)

// A repository is a clone of the project.
type repository struct {
	dir      string
	root     string   // path of the root module
	env      []string // for git, beside the environment
	released []string // directories of the modules that people install or import, in the order of go.work
}

func open(ctx context.Context, dir string) (*repository, error) {
	r := &repository{dir: dir}
	top, err := r.git(ctx, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	r.dir = top
	data, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		return nil, err
	}
	r.root = modfile.ModulePath(data)
	list, err := modules.Read(r.dir)
	for _, m := range list {
		if m.HasWord("released") {
			r.released = append(r.released, m.Dir)
		}
	}
	return r, err
}

// inside returns the directory of a module of the repository.
func (r *repository) inside(path string) (dir string, ok bool) {
	dir, ok = strings.CutPrefix(path+"/", r.root+"/")
	return filepath.Clean(dir), ok
}

// path returns the path of the module in a directory.
func (r *repository) path(dir string) string { return strings.TrimSuffix(r.root+"/"+dir, "/.") }

// git runs git and returns its output without the line end.
func (r *repository) git(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir, c.Env, c.Stdin = r.dir, append(os.Environ(), r.env...), stdin
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// release makes the commit and the tags. It returns the tags, and the images without digest.
func (r *repository) release(ctx context.Context, version string, images map[string]string) (tags, tagged []string, err error) {
	if err := r.ready(ctx, version); err != nil {
		return nil, nil, err
	}
	commit, tagged, err := r.commit(ctx, version, images)
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range r.released {
		tag := strings.TrimPrefix(dir+"/"+version, "./")
		if _, err := r.git(ctx, nil, "tag", "-a", "-m", tag, tag, commit); err != nil {
			return tags, tagged, err
		}
		tags = append(tags, tag)
	}
	return tags, tagged, nil
}

// ready returns every reason why the version cannot be released.
func (r *repository) ready(ctx context.Context, version string) error {
	var problems []error
	if semver.Canonical(version) != version || semver.Build(version) != "" || semver.Compare(version, "v2.0.0") >= 0 {
		problems = append(problems, fmt.Errorf("version %q: invalid; use vMAJOR.MINOR.PATCH with major version 0 or 1, such as v0.1.0", version))
	}
	if changes, err := r.git(ctx, nil, "status", "--porcelain"); err != nil || changes != "" {
		problems = append(problems, errors.Join(err, fmt.Errorf("the working tree has changes; commit them first:\n%s", changes)))
	}
	if tag, err := r.git(ctx, nil, "tag", "--list", version, "*/"+version); err != nil || tag != "" {
		problems = append(problems, errors.Join(err, fmt.Errorf("version %s: the tags %q exist; use a new version", version, tag)))
	}
	log, err := os.ReadFile(filepath.Join(r.dir, "CHANGELOG.md"))
	if err != nil || !strings.Contains(string(log), "\n## "+version) {
		problems = append(problems, fmt.Errorf("CHANGELOG.md: no section %q; describe the release there", "## "+version))
	}
	return errors.Join(problems...)
}

// commit makes the commit of a version. It returns its hash, and the images without digest.
// It changes no branch, no tag and no file. The hash of a module is part of the modules that
// require it, so that they come later.
func (r *repository) commit(ctx context.Context, version string, images map[string]string) (hash string, tagged []string, err error) {
	dir, err := r.extract(ctx, "HEAD")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(dir)
	in := r.indexed(dir)
	if tagged, err = in.setImages(ctx, filepath.Join(dir, "tree"), version, images); err != nil {
		return "", nil, err
	}
	sums := map[string][]string{} // of the modules so far, by directory
	for i, module := range r.released {
		for file, edit := range map[string]func([]byte) ([]byte, error){
			"go.mod": func(data []byte) ([]byte, error) { return r.requireReleased(data, version, r.released[:i]) },
			"go.sum": func(data []byte) ([]byte, error) { return r.addSums(data, sums), nil },
		} {
			if err := in.edit(ctx, filepath.Join(dir, "tree"), filepath.ToSlash(filepath.Join(module, file)), edit); err != nil {
				return "", nil, fmt.Errorf("%s/%s: %w", module, file, err)
			}
		}
		if sums[module], err = r.sums(filepath.Join(dir, "tree", module), module, version); err != nil {
			return "", nil, err
		}
	}
	tree, err := in.git(ctx, nil, "write-tree")
	if err != nil {
		return "", nil, err
	}
	hash, err = r.git(ctx, nil, "commit-tree", tree, "-p", "HEAD", "-m", "release: "+version)
	return hash, tagged, err
}

// edit replaces a file in a tree and in the index, if it changes.
func (r *repository) edit(ctx context.Context, tree, file string, edit func([]byte) ([]byte, error)) error {
	name := filepath.Join(tree, filepath.FromSlash(file))
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // a module without requirements has no go.sum
		return err
	}
	data, err := edit(old)
	if err != nil || bytes.Equal(data, old) {
		return err
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return err
	}
	blob, err := r.git(ctx, bytes.NewReader(data), "hash-object", "-w", "--stdin")
	if err != nil {
		return err
	}
	_, err = r.git(ctx, nil, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+file)
	return err
}

// requireReleased requires the version of the repository's modules, and drops the replace
// directives. It returns a file without either as it is. before are the modules that may be
// required, because their hashes are known.
func (r *repository) requireReleased(data []byte, version string, before []string) ([]byte, error) {
	f, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	changed := false
	for _, require := range slices.Clone(f.Require) {
		dir, ok := r.inside(require.Mod.Path)
		if !ok {
			continue
		}
		if !slices.Contains(before, dir) {
			return nil, fmt.Errorf("requires %s, which is not released before it; move its line in go.work up, or the code that needs it", require.Mod.Path)
		}
		changed = true
		if err := f.AddRequire(require.Mod.Path, version); err != nil {
			return nil, err
		}
	}
	for _, replace := range slices.Clone(f.Replace) {
		if _, ok := r.inside(replace.Old.Path); !ok {
			return nil, fmt.Errorf("replaces %s; a released module must not", replace.Old.Path)
		}
		changed = true
		if err := f.DropReplace(replace.Old.Path, replace.Old.Version); err != nil {
			return nil, err
		}
	}
	if !changed {
		return data, nil
	}
	f.Cleanup()
	return f.Format()
}

// sums are the lines of go.sum about the module in a directory.
func (r *repository) sums(dir, name, version string) ([]string, error) {
	file := dir + ".zip"
	if err := createZip(file, module.Version{Path: r.path(name), Version: version}, dir); err != nil {
		return nil, err
	}
	defer os.Remove(file)
	content, err := dirhash.HashZip(file, dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	mod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, "go.mod")) })
	if err != nil {
		return nil, err
	}
	return []string{r.path(name) + " " + version + " " + content, r.path(name) + " " + version + "/go.mod " + mod}, nil
}

// addSums adds the lines of the modules so far, and drops lines of their other versions.
func (r *repository) addSums(data []byte, sums map[string][]string) []byte {
	if len(sums) == 0 { // the first requires none
		return data
	}
	var lines []string
	for _, moduleSums := range sums {
		lines = append(lines, moduleSums...)
	}
	for line := range strings.Lines(string(data)) {
		path, _, _ := strings.Cut(line, " ")
		if _, ok := r.inside(path); !ok && strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "\n") + "\n")
}

// extract writes the files of a commit to the directory tree in a temporary directory.
func (r *repository) extract(ctx context.Context, commit string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "release-"); err != nil {
		return "", err
	}
	in := r.indexed(dir)
	if _, err := in.git(ctx, nil, "read-tree", commit); err != nil {
		return "", err
	}
	_, err = in.git(ctx, nil, "checkout-index", "--all", "--prefix="+filepath.ToSlash(filepath.Join(dir, "tree"))+"/")
	return dir, err
}

// indexed returns the repository with the index in a directory.
func (r *repository) indexed(dir string) *repository {
	in := *r
	in.env = append(slices.Clone(r.env), "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
	return &in
}

// createZip writes the zip of a module, as a module proxy does.
func createZip(file string, m module.Version, dir string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(f, m, dir), f.Close())
}
