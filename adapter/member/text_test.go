package member

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A text of a member has one line, is short, and moves no cursor.
func TestShort(t *testing.T) {
	require.Equal(t, "a[31mbc", short("a\x1b[31mb\u009bc\x07\x7f\nd"))
	require.Len(t, short(string(make([]byte, 1000))+"a"), len("…"))
}
