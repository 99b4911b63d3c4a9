package results

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Text of a user is never HTML.
func TestPageEscapes(t *testing.T) {
	const text, escaped = `<b onclick="x">&</b>`, "&lt;b onclick=&#34;x&#34;&gt;&amp;&lt;/b&gt;"
	var p page
	p.add("<i>%s</i>%s", text, 5)
	p.table([]string{text}, [][]string{{text}})
	require.Contains(t, p.String(), "<i>"+escaped+"</i>5<table>")
	require.Contains(t, p.String(), "<th>"+escaped+"</th>")
	require.Contains(t, p.String(), `<td data-head="`+escaped+`">`+escaped+"</td>")
	require.NotContains(t, p.String(), "<b")
}
