package input

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// Joined errors are problems of their own, and an error with several others in its text is one.
func TestProblems(t *testing.T) {
	one := fmt.Errorf("read: %w: %w", io.EOF, io.ErrClosedPipe)
	require.Equal(t, []error{io.EOF, one, io.ErrNoProgress}, Problems(errors.Join(io.EOF, errors.Join(one, io.ErrNoProgress))))
	require.Equal(t, []error{UsageError{io.EOF}, UsageError{one}}, Problems(Usage(errors.Join(io.EOF, one))))
	require.Empty(t, Problems(nil))
}
