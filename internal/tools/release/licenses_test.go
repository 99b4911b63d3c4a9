package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLicense(t *testing.T) {
	found, err := license("../../..")
	require.NoError(t, err)
	require.Equal(t, []string{"Apache-2.0"}, found)

	dir := t.TempDir()
	_, err = license(dir)
	require.ErrorContains(t, err, "no license file")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "LICENSE.txt"), []byte("Ask the authors before you use this."), 0o644))
	_, err = license(dir)
	require.ErrorContains(t, err, "LICENSE.txt: 0 % of the text is a known license")
}
