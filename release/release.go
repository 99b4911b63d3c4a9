package main

import (
	"archive/tar"
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
)

// released are the directories of the modules that people install or import, the root
// first. The others require the root, and nothing else of the repository.
var released = []string{".", "cmd/scaledjob"}

// A repository is a clone of the project.
type repository struct {
	dir  string
	root string   // path of the root module
	env  []string // for git, beside the environment
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
	return r, nil
}

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

// release makes the commit and the tags, and returns the tags.
func (r *repository) release(ctx context.Context, version string) ([]string, error) {
	if err := r.ready(ctx, version); err != nil {
		return nil, err
	}
	commit, err := r.commit(ctx, version)
	if err != nil {
		return nil, err
	}
	var tags []string
	for _, dir := range released {
		tag := strings.TrimPrefix(dir+"/"+version, "./")
		if _, err := r.git(ctx, nil, "tag", "-a", "-m", tag, tag, commit); err != nil {
			return tags, err
		}
		tags = append(tags, tag)
	}
	return tags, nil
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

// commit makes the commit of a version and returns its hash. It changes no branch, no tag
// and no file.
func (r *repository) commit(ctx context.Context, version string) (string, error) {
	sums, err := r.sums(ctx, version)
	if err != nil {
		return "", err
	}
	temporary, err := os.MkdirTemp("", "release-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temporary)
	in := *r
	in.env = append(slices.Clone(r.env), "GIT_INDEX_FILE="+filepath.Join(temporary, "index"))
	if _, err := in.git(ctx, nil, "read-tree", "HEAD"); err != nil {
		return "", err
	}
	for _, dir := range released[1:] {
		for file, edit := range map[string]func([]byte) ([]byte, error){
			"go.mod": func(data []byte) ([]byte, error) { return r.requireReleased(data, version) },
			"go.sum": func(data []byte) ([]byte, error) { return addSums(data, sums), nil },
		} {
			if err := in.edit(ctx, dir+"/"+file, edit); err != nil {
				return "", fmt.Errorf("%s/%s: %w", dir, file, err)
			}
		}
	}
	tree, err := in.git(ctx, nil, "write-tree")
	if err != nil {
		return "", err
	}
	return r.git(ctx, nil, "commit-tree", tree, "-p", "HEAD", "-m", "release: "+version)
}

// edit replaces a file in the index.
func (r *repository) edit(ctx context.Context, file string, edit func([]byte) ([]byte, error)) error {
	old, err := r.git(ctx, nil, "cat-file", "blob", "HEAD:"+file)
	if err != nil {
		return err
	}
	data, err := edit([]byte(old + "\n"))
	if err != nil {
		return err
	}
	blob, err := r.git(ctx, bytes.NewReader(data), "hash-object", "-w", "--stdin")
	if err != nil {
		return err
	}
	_, err = r.git(ctx, nil, "update-index", "--cacheinfo", "100644,"+blob+","+file)
	return err
}

// requireReleased requires the version of the root, and drops the replace directives.
func (r *repository) requireReleased(data []byte, version string) ([]byte, error) {
	f, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	for _, require := range slices.Clone(f.Require) {
		switch path := require.Mod.Path; {
		case path == r.root:
			err = f.AddRequire(path, version)
		case strings.HasPrefix(path, r.root+"/"):
			err = fmt.Errorf("requires %s, which is not released; move the code that needs it", path)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, replace := range slices.Clone(f.Replace) {
		if !strings.HasPrefix(replace.Old.Path+"/", r.root+"/") {
			return nil, fmt.Errorf("replaces %s; a released module must not", replace.Old.Path)
		}
		if err := f.DropReplace(replace.Old.Path, replace.Old.Version); err != nil {
			return nil, err
		}
	}
	f.Cleanup()
	return f.Format()
}

// sums are the lines of go.sum about the root.
func (r *repository) sums(ctx context.Context, version string) ([]string, error) {
	dir, err := r.extract(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "root.zip")
	if err := createZip(file, module.Version{Path: r.root, Version: version}, filepath.Join(dir, "tree")); err != nil {
		return nil, err
	}
	content, err := dirhash.HashZip(file, dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	mod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, "tree", "go.mod")) })
	if err != nil {
		return nil, err
	}
	return []string{r.root + " " + version + " " + content, r.root + " " + version + "/go.mod " + mod}, nil
}

// addSums adds lines, and drops lines of other versions of the module.
func addSums(data []byte, sums []string) []byte {
	path, _, _ := strings.Cut(sums[0], " ")
	lines := slices.Clone(sums)
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, path+" ") {
			lines = append(lines, line)
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
	archive, err := r.git(ctx, nil, "archive", "--format=tar", commit)
	if err != nil {
		return "", err
	}
	files := tar.NewReader(strings.NewReader(archive))
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return dir, nil
		}
		if err != nil {
			return "", err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := filepath.Join(dir, "tree", filepath.FromSlash(h.Name))
		data, err := io.ReadAll(files)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err == nil {
			err = os.WriteFile(name, data, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
}

// createZip writes the zip of a module, as a module proxy does.
func createZip(file string, m module.Version, dir string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromDir(f, m, dir), f.Close())
}
