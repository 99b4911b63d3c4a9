package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A release names images by digest where there is one, else by its own version.
func TestImages(t *testing.T) {
	r := project(t, tied)
	const file = "controllers/a/manifests/tenant/controller.yaml"
	require.NoError(t, os.MkdirAll(filepath.Join(r.dir, filepath.Dir(file)), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, file), []byte("        - image: one:v0.0.1 # of the Dockerfile\n          image: two:v0.0.1\n"), 0o644))
	r.run(t, "add", "-A")
	r.run(t, "commit", "-q", "-m", "manifests")
	digest := "registry.example.com/one@sha256:" + strings.Repeat("0a", 32)
	images, err := parseImages([]string{"one=" + digest})
	require.NoError(t, err)
	_, tagged, err := r.release(t.Context(), "v0.1.0", images)
	require.NoError(t, err)
	require.Equal(t, []string{"two"}, tagged)
	require.Equal(t, "        - image: "+digest+" # of the Dockerfile\n          image: two:v0.1.0", r.run(t, "show", "v0.1.0:"+file))
	for _, wrong := range []string{"one", "one=one:v1", "one=one@sha256:00"} {
		_, err := parseImages([]string{wrong})
		require.ErrorContains(t, err, "use NAME=REGISTRY/NAME@sha256:DIGEST")
	}
	_, _, err = r.commit(t.Context(), "v0.2.0", map[string]string{"three": digest})
	require.ErrorContains(t, err, `image "three": no manifest has it`)
}

// The patterns find each image of the repository's own manifests.
func TestManifestsHaveImages(t *testing.T) {
	for _, pattern := range manifests {
		files, err := filepath.Glob(filepath.Join("../../..", pattern))
		require.NoError(t, err)
		found := 0
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			images := strings.Count(string(data), " image: ")
			require.Len(t, imageLine.FindAll(data, -1), images, file)
			found += images
		}
		require.NotZero(t, found, pattern)
	}
}
