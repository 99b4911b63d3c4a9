package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// A managementQueue asks RabbitMQ's management API.
type managementQueue struct {
	endpoint
	mode      string
	threshold float64
	regex     bool
	readyOnly bool
	operation string
	pageSize  int
}

func (f *fields) management(b broker) Queue {
	q := &managementQueue{
		mode:      f.mode(),
		threshold: f.number("activationValue"),
		regex:     f.flag("useRegex"),
		readyOnly: f.flag("excludeUnacknowledged"),
		operation: f.choice(f.given("operation"), "sum", "avg", "max"),
		pageSize:  f.whole("pageSize", 100, 1),
	}
	u := *b.host
	u.RawQuery, u.Fragment = "", ""
	prefix, vhost := b.segments()
	raw := prefix + "/api/queues/" + vhost
	if q.regex {
		u.RawQuery = url.Values{"use_regex": {"true"}, "name": {b.queue}, "page_size": {strconv.Itoa(q.pageSize)}}.Encode()
	} else {
		raw += "/" + url.PathEscape(b.queue)
	}
	u.Path, _ = url.PathUnescape(raw)
	u.RawPath = raw
	q.endpoint = f.endpoint(&u, f.encryption(), f.tlsKey(true), func(r *http.Request) {
		if b.username != "" {
			r.SetBasicAuth(b.username, b.password)
		}
	})
	return q
}

// segments splits the URL's path into the prefix of the API's path and the virtual host,
// both percent-encoded.
func (b broker) segments() (prefix, vhost string) {
	prefix, vhost = "", strings.TrimPrefix(b.host.EscapedPath(), "/")
	if i := strings.LastIndex(vhost, "/"); i >= 0 {
		prefix, vhost = "/"+strings.Trim(vhost[:i], "/"), vhost[i+1:]
	}
	if b.vhost != "" {
		vhost = url.PathEscape(b.vhost)
	}
	if vhost == "" {
		vhost = "%2F"
	}
	return strings.TrimSuffix(prefix, "/"), vhost
}

// Length reads the queue, or all queues whose names match. It returns 0 if no name matches,
// and an error if a named queue does not exist.
func (q *managementQueue) Length(ctx context.Context) (Reading, error) {
	b, err := q.backlog(ctx)
	if err != nil {
		return Reading{}, fmt.Errorf("rabbitmq %s: %w", bare(q.url), ended(ctx, err))
	}
	r, err := b.reading(q.mode, q.threshold)
	if err != nil {
		return Reading{}, fmt.Errorf("rabbitmq %s: %s: %w", bare(q.url), q.mode, err)
	}
	return r, nil
}

func (q *managementQueue) backlog(ctx context.Context) (backlog, error) {
	if q.regex {
		return q.matching(ctx)
	}
	var state queueState
	if _, err := q.get(ctx, q.url, &state); err != nil {
		return backlog{}, err
	}
	return state.backlog(q.readyOnly)
}

// The most that matching reads, so that a great number of queues, or a hostile server, does
// not keep it busy: 16 MiB describe some 10,000 queues.
const (
	mostPages = 1000
	mostBytes = atMost
)

// matching reads all pages of the queues that match.
func (q *managementQueue) matching(ctx context.Context) (backlog, error) {
	var all tally
	var problem error
	for number, pages, read := 1, 1, 0; number <= pages; number++ {
		u := *q.url
		u.RawQuery += "&page=" + strconv.Itoa(number)
		var page struct {
			Items eachQueue `json:"items"`
			Pages *int      `json:"page_count"`
		}
		page.Items = func(state queueState) {
			b, err := state.backlog(q.readyOnly)
			if err != nil && problem == nil {
				problem = err
			}
			all.add(b)
		}
		n, err := q.get(ctx, &u, &page)
		read += n
		switch {
		case err != nil:
			return backlog{}, err
		case problem != nil:
			return backlog{}, problem
		case page.Pages == nil:
			return backlog{}, errors.New("the answer is not a page of queues")
		case *page.Pages > mostPages:
			return backlog{}, fmt.Errorf("found %d pages of queues: want %d or fewer, of a larger pageSize or with a narrower queueName", *page.Pages, mostPages)
		case read > mostBytes:
			return backlog{}, fmt.Errorf("found more than %d bytes about queues: want a narrower queueName", mostBytes)
		}
		pages = *page.Pages
	}
	return all.compose(q.operation), nil
}

// An eachQueue is called with each queue of a list as it is decoded, so that a long list
// takes no room.
type eachQueue func(queueState)

func (each eachQueue) UnmarshalJSON(data []byte) error {
	list := json.NewDecoder(bytes.NewReader(data))
	if begin, err := list.Token(); begin != json.Delim('[') {
		return err // null has none
	}
	for list.More() {
		var state queueState
		if err := list.Decode(&state); err != nil {
			return err
		}
		each(state)
	}
	return nil
}

// A tally is of the backlogs of queues.
type tally struct {
	n         float64
	sum, most backlog
}

func (t *tally) add(b backlog) {
	t.n++
	t.sum = backlog{t.sum.messages + b.messages, t.sum.published + b.published, t.sum.delivered + b.delivered}
	t.most = backlog{max(t.most.messages, b.messages), max(t.most.published, b.published), max(t.most.delivered, b.delivered)}
}

// compose is the sum, the mean or the maximum, of each number on its own.
func (t *tally) compose(operation string) backlog {
	switch {
	case operation == "max":
		return t.most
	case operation == "avg" && t.n > 0:
		return backlog{t.sum.messages / t.n, t.sum.published / t.n, t.sum.delivered / t.n}
	}
	return t.sum
}

// A queueState is a queue as the management API describes it.
type queueState struct {
	Messages *float64 `json:"messages"`
	Ready    *float64 `json:"messages_ready"`
	Stats    struct {
		Publish    struct{ Rate float64 } `json:"publish_details"`
		DeliverGet struct{ Rate float64 } `json:"deliver_get_details"`
	} `json:"message_stats"`
}

func (s queueState) backlog(readyOnly bool) (backlog, error) {
	messages := s.Messages
	if readyOnly {
		messages = s.Ready
	}
	if messages == nil {
		return backlog{}, errors.New("the management API does not have the message count of a queue (yet)")
	}
	return backlog{*messages, s.Stats.Publish.Rate, s.Stats.DeliverGet.Rate}, nil
}

// get returns how many bytes it has read.
func (q *managementQueue) get(ctx context.Context, u *url.URL, into any) (int, error) {
	body, err := q.fetch(ctx, u)
	if err != nil {
		return 0, err
	}
	if json.Unmarshal(body, into) != nil { // the error would quote the answer
		return 0, errors.New("the answer is not the management API's")
	}
	return len(body), nil
}
