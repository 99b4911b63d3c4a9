package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
)

// Read reads a path of the API server, with pairs of parameters. It refuses a path that a name in it
// leads elsewhere. A parameter without a value is left out.
func (c *Client) Read(ctx context.Context, path string, parameters ...string) ([]byte, error) {
	if strings.Contains(path, "..") || strings.ContainsAny(path, "%?#") {
		return nil, fmt.Errorf("%q is not read: a name in it is not that of an object", path)
	}
	request := c.requests.Get().AbsPath(path)
	for i := 0; i+1 < len(parameters); i += 2 {
		if parameters[i+1] != "" {
			request = request.Param(parameters[i], parameters[i+1])
		}
	}
	return c.get(ctx, request)
}

const pageSize = "500"

// List reads the items of a path, of all pages.
func List[T any](ctx context.Context, c *Client, path string, parameters ...string) (items []T, err error) {
	for next := ""; ; {
		data, err := c.Read(ctx, path, append([]string{"limit", pageSize, "continue", next}, parameters...)...)
		if err != nil {
			return nil, err
		}
		var page struct {
			Metadata struct{ Continue string }
			Items    []json.RawMessage
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return nil, input.Plain(err)
		}
		for _, data := range page.Items {
			if string(data) == "null" {
				continue
			}
			var item T
			if err := json.Unmarshal(data, &item); err != nil {
				return nil, input.Plain(err)
			}
			items = append(items, item)
		}
		if next = page.Metadata.Continue; next == "" {
			return items, nil
		}
	}
}
