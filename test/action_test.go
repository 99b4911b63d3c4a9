//go:build linux

package test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeCommand prints its arguments, one a line, and does what its name says.
const fakeCommand = "#!/bin/bash\nprintf '%s\\n' \"$@\"\n[[ -z \"${SAY:-}\" ]] || echo \"$SAY\" >&2\nexit \"${STATUS:-0}\"\n"

// An actionRun is a run of the action's step, as a runner would.
type actionRun struct {
	dir, bin string
	env      []string
}

func newActionRun(t *testing.T) *actionRun {
	r := &actionRun{dir: t.TempDir(), bin: t.TempDir()}
	r.script(t, "scaledjob", fakeCommand)
	r.env = []string{"PATH=" + r.bin + ":/usr/bin:/bin", "HOME=" + t.TempDir(), "SCALEDJOB=" + filepath.Join(r.bin, "scaledjob")}
	return r
}

func (r *actionRun) script(t *testing.T, name, text string) {
	require.NoError(t, os.WriteFile(filepath.Join(r.bin, name), []byte(text), 0o755))
}

// run returns the exit status and the lines of the log.
func (r *actionRun) run(t *testing.T, env ...string) (status int, log []string) {
	script, err := filepath.Abs("../.github/lint.sh")
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), "bash", script)
	c.Dir, c.Env = r.dir, append(append([]string{}, r.env...), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return c.ProcessState.ExitCode(), strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// The files of the input reach the command, whatever they are called.
func TestActionFiles(t *testing.T) {
	r := newActionRun(t)
	for _, name := range []string{"a b.yaml", "c.yaml", "--help", "x/d.yaml", "x/e.yaml", "y/a/b.yml", "y/c.yml"} {
		path := filepath.Join(r.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	for files, want := range map[string]string{
		"":                            ".",
		".":                           ".",
		"a b.yaml\nc.yaml\n\n  x  \n": "a b.yaml|c.yaml|x",
		"c.yaml x":                    "c.yaml|x",
		"a b.yaml":                    "a b.yaml",
		"--help":                      "--help",
		"x/*.yaml":                    "x/d.yaml|x/e.yaml",
		"y/**/*.yml":                  "y/a/b.yml|y/c.yml",
		"gone.yaml":                   "gone.yaml",
	} {
		status, log := r.run(t, "FILES="+files)
		require.Zero(t, status, log)
		require.Equal(t, []string{"lint", "--fail-on", "error", "-o", "github", "--"}, log[:6], files)
		require.Equal(t, want, strings.Join(log[6:], "|"), files)
	}
	status, log := r.run(t, "FILES=z/*.yaml")
	require.Equal(t, 2, status)
	require.Equal(t, []string{"::error::scaledjob: no file matches the input files"}, log)
}

// A pull request may have links: none lets the command read, and so print, a file of the runner, and
// none takes the place of the SARIF file.
func TestActionLinks(t *testing.T) {
	r, outside := newActionRun(t), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "token.yaml"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "c.yaml"), nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(r.dir, ".git"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, ".git", "config"), nil, 0o600))
	for name, to := range map[string]string{"token.yaml": ".git/config", "repository": ".git", "a.yaml": filepath.Join(outside, "token.yaml"), "b": outside, "inside.yaml": "c.yaml", "gone.yaml": "/none"} {
		require.NoError(t, os.Symlink(to, filepath.Join(r.dir, name)))
	}
	named := filepath.Join(t.TempDir(), "named") // a runner's link to the checkout
	require.NoError(t, os.Symlink(r.dir, named))
	parent, dir := filepath.Dir(r.dir), filepath.Base(r.dir)
	for files, want := range map[string]string{
		"*.yaml": "c.yaml|inside.yaml", "a.yaml c.yaml": "c.yaml", "b/token.yaml c.yaml": "c.yaml", "b/*.yaml c.yaml": "c.yaml", "b c.yaml": "c.yaml", "token.yaml c.yaml": "c.yaml", "repository/config c.yaml": "c.yaml",
		named + "/a.yaml c.yaml": "c.yaml", parent + "//" + dir + "/a.yaml c.yaml": "c.yaml", "../" + dir + "/a.yaml c.yaml": "c.yaml",
	} {
		status, log := r.run(t, "FILES="+files)
		require.Zero(t, status, log)
		require.Contains(t, strings.Join(log, "\n"), "::warning::scaledjob: ", files)
		require.Equal(t, want, strings.Join(log[len(log)-strings.Count(want, "|")-1:], "|"), files)
		require.Equal(t, "--", log[len(log)-strings.Count(want, "|")-2], files)
	}
	for _, name := range []string{filepath.Join(outside, "token.yaml"), named + "/c.yaml"} {
		_, log := r.run(t, "FILES="+name)
		require.Equal(t, name, log[len(log)-1], "which the workflow names")
	}
}

// The SARIF file is written to no place that a link of a pull request leads to, at any depth.
func TestActionSARIFLinks(t *testing.T) {
	r, outside := newActionRun(t), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "c.yaml"), nil, 0o600))
	for _, name := range []string{".git/hooks", "out.sarif", "reports/a", "plain"} { // out.sarif may have a forged file
		require.NoError(t, os.MkdirAll(filepath.Join(r.dir, name), 0o755))
	}
	for name, to := range map[string]string{
		"hooks": ".git/hooks", "reports/b": "../.git", "file.sarif": "c.yaml", "away": outside, "dangling": "/none", "reports/a/up": "../..",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(r.dir, name)))
	}
	named := filepath.Join(t.TempDir(), "named") // runners' links to the checkout, and into it
	require.NoError(t, os.Symlink(r.dir, named))
	require.NoError(t, os.Symlink(filepath.Join(r.dir, "reports"), named+".reports"))
	elsewhere := filepath.Dir(r.dir) + "//" + filepath.Base(r.dir) + "/hooks"
	for name, found := range map[string]string{
		named + "/hooks/x": named + "/hooks", named + ".reports/b/x": named + ".reports/b", elsewhere + "/x": elsewhere,
		filepath.Join(r.dir, "hooks/x"): filepath.Join(r.dir, "hooks"),
		"out.sarif":                     "out.sarif", "file.sarif": "file.sarif", "hooks/post-checkout": "hooks", "./hooks/x": "./hooks", "reports/b/hooks/x": "reports/b",
		"reports//b/config": "reports//b", "away/x.sarif": "away", "dangling/x": "dangling", "plain/../hooks/x": "plain/../hooks",
		"reports/a/up/.git/config": "reports/a/up",
	} {
		status, log := r.run(t, "FILES=c.yaml", "SARIF="+name)
		require.Equal(t, 2, status, name)
		require.Contains(t, log[len(log)-1], "::error::scaledjob: the checkout has "+found+", ", name)
	}
	for _, name := range []string{"plain/x.sarif", "reports/a/x.sarif", filepath.Join(outside, "x.sarif"), named + "/plain/y.sarif", "--target-directory=.git"} {
		status, log := r.run(t, "FILES=c.yaml", "SARIF="+name)
		require.Zero(t, status, log)
	}
	require.NoFileExists(t, filepath.Join(r.dir, ".git/sarif"))
	r.script(t, "scaledjob", "#!/bin/bash\necho report\nln -s ../.git/hooks plain/late\n") // while the command runs
	_, log := r.run(t, "FILES=c.yaml", "SARIF=plain/late")
	require.Contains(t, log[len(log)-1], "::error::scaledjob: the checkout has plain/late, ")
}

// The settings come from the base of a pull request, which the checkout must have. Without a pull request
// the checkout is the base.
func TestActionBase(t *testing.T) {
	r := newActionRun(t)
	git := func(args ...string) {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", r.dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "-q")
	r.script(t, "scaledjob", "#!/bin/bash\nwhile [[ $# -gt 0 ]]; do [[ $1 != --config ]] || cat \"$2\"; shift; done\n")
	settings := filepath.Join(r.dir, ".scaledjob.yaml")
	require.NoError(t, os.WriteFile(settings, []byte("ignore: [of-the-base]\n"), 0o600))
	status, log := r.run(t, "CONFIG=base", "GITHUB_BASE_REF=main")
	require.Equal(t, 2, status)
	require.Equal(t, []string{"::error::scaledjob: the checkout has no origin/main; use fetch-depth: 0 with config: base"}, log)
	git("add", ".")
	git("commit", "-qm", "base")
	git("update-ref", "refs/remotes/origin/main", "HEAD")
	require.NoError(t, os.WriteFile(settings, []byte("ignore: [of-the-request]\n"), 0o600))
	status, log = r.run(t, "CONFIG=base", "GITHUB_BASE_REF=main")
	require.Zero(t, status)
	require.Equal(t, []string{"ignore: [of-the-base]"}, log)
	event := filepath.Join(t.TempDir(), "event.json")
	queue := []string{"CONFIG=base", "GITHUB_BASE_REF=", "GITHUB_EVENT_NAME=merge_group", "GITHUB_EVENT_PATH=" + event}
	status, log = r.run(t, queue...)
	require.Equal(t, 2, status)
	require.Contains(t, log[0], "::error::scaledjob: the event of the merge queue has no base")
	if _, err := exec.LookPath("jq"); err == nil {
		require.NoError(t, os.WriteFile(event, []byte(`{"merge_group": {"base_sha": "HEAD"}}`), 0o600))
		status, log = r.run(t, queue...)
		require.Zero(t, status)
		require.Equal(t, []string{"ignore: [of-the-base]"}, log)
	}
	status, log = r.run(t, "CONFIG=base", "GITHUB_BASE_REF=main", "GIT_DIR=/none")
	require.Equal(t, 2, status)
	require.Contains(t, log[0], "::error::scaledjob: git cannot read origin/main: fatal: not a git repository")
	status, log = r.run(t, "CONFIG=base", "GITHUB_BASE_REF=")
	require.Zero(t, status)
	require.Equal(t, []string{"The settings of .scaledjob.yaml count: exclude and ignore leave findings out."}, log)
}

// What the command says is an annotation, and its status is the step's. SARIF that was not
// written leaves no file.
func TestActionResults(t *testing.T) {
	r := newActionRun(t)
	status, log := r.run(t, "FILES=c.yaml", "SAY=scaledjob: 100% wrong", "STATUS=2")
	require.Equal(t, 2, status)
	require.Equal(t, "::error::scaledjob: 100%25 wrong", log[len(log)-1])
	status, _ = r.run(t, "FILES=c.yaml", "SARIF=out.sarif", "STATUS=1", "RELEASE=2.18")
	require.Equal(t, 1, status)
	data, err := os.ReadFile(filepath.Join(r.dir, "out.sarif"))
	require.NoError(t, err)
	require.Equal(t, "lint\n--fail-on\nerror\n--release\n2.18\n-o\nsarif\n--\nc.yaml\n", string(data))
	r.script(t, "scaledjob", "#!/bin/bash\necho 'scaledjob: wrong usage' >&2\nexit 2\n")
	status, log = r.run(t, "FILES=c.yaml", "SARIF=none.sarif")
	require.Equal(t, 2, status)
	require.Equal(t, []string{"::error::scaledjob: wrong usage"}, log)
	require.NoFileExists(t, filepath.Join(r.dir, "none.sarif"))
}

// The command comes from a release with a verified attestation, or the step fails.
func TestActionDownload(t *testing.T) {
	arch := map[string]string{"amd64": "amd64", "arm64": "arm64"}[runtime.GOARCH]
	if arch == "" {
		t.Skip("no archive for this machine")
	}
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "scaledjob", Mode: 0o755, Size: int64(len(fakeCommand))}))
	_, err := w.Write([]byte(fakeCommand))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	mux := http.NewServeMux()
	mux.HandleFunc("/download/v0.1.0/scaledjob_0.1.0_linux_"+arch+".tar.gz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive.Bytes()) })
	mux.HandleFunc("/latest", func(w http.ResponseWriter, q *http.Request) { http.Redirect(w, q, "/tag/v0.1.0", http.StatusFound) })
	mux.HandleFunc("/tag/v0.1.0", func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(mux)
	defer server.Close()

	r := newActionRun(t)
	r.env = append(r.env, "SCALEDJOB=", "FILES=.", "SCALEDJOB_RELEASES="+server.URL)
	require.NoError(t, os.Remove(filepath.Join(r.bin, "scaledjob")))
	verify := func(status string) {
		r.script(t, "gh", "#!/bin/bash\nprintf 'HTTP 404\\n\\n'\nprintf '%s ' \"$@\" >"+filepath.Join(r.bin, "asked")+"\nexit "+status+"\n")
	}
	verify("0")
	for _, version := range []string{"v0.1.0", "latest"} {
		status, log := r.run(t, "VERSION="+version)
		require.Zero(t, status, log)
		require.Equal(t, "lint", log[0])
		asked, err := os.ReadFile(filepath.Join(r.bin, "asked"))
		require.NoError(t, err)
		require.Contains(t, string(asked), "--repo scaledjob/scaledjob --signer-workflow scaledjob/scaledjob/.github/workflows/release.yaml --source-ref refs/tags/v0.1.0")
	}
	for version, want := range map[string]string{"v0.2.0": "cannot download", "main": "use the input version", "": "use the input version", "v1.2.3/../x": "use the input version"} {
		status, log := r.run(t, "VERSION="+version)
		require.Equal(t, 2, status, version)
		require.Contains(t, strings.Join(log, "\n"), want)
		require.NotContains(t, log, "lint")
	}
	verify("1")
	status, log := r.run(t, "VERSION=v0.1.0")
	require.Equal(t, 2, status)
	require.Contains(t, log[len(log)-1], "does not verify: HTTP 404")
	require.NotContains(t, log, "lint")
}
