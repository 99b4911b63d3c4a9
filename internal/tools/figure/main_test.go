package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The picture in the repository is the program's. UPDATE=1 writes it.
func TestPicture(t *testing.T) {
	got := draw(decide())
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile("decision.svg", []byte(got), 0o644))
	}
	want, err := os.ReadFile("decision.svg")
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	require.Contains(t, got, "prefers-color-scheme: dark")
	for decoder := xml.NewDecoder(strings.NewReader(got)); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
}
