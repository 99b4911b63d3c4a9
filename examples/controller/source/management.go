package source

import (
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
	q.endpoint = endpoint{client: f.httpClient(f.encryption()), url: &u, authorize: func(r *http.Request) {
		if b.username != "" {
			r.SetBasicAuth(b.username, b.password)
		}
	}}
	return q
}

// segments splits the URL's path into what is before the API's own path and the
// virtual host, both percent-encoded.
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

// Length asks for the queue, or for all whose names match. That none matches is a
// reading of 0; that a queue is not there is an error.
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
	if err := q.get(ctx, q.url, &state); err != nil {
		return backlog{}, err
	}
	return state.backlog(q.readyOnly)
}

// matching reads all pages of the queues that match.
func (q *managementQueue) matching(ctx context.Context) (backlog, error) {
	var all []backlog
	for number, pages := 1, 1; number <= pages; number++ {
		u := *q.url
		u.RawQuery += "&page=" + strconv.Itoa(number)
		var page struct {
			Items []queueState `json:"items"`
			Pages *int         `json:"page_count"`
		}
		if err := q.get(ctx, &u, &page); err != nil {
			return backlog{}, err
		}
		if page.Pages == nil {
			return backlog{}, errors.New("the answer is not a page of queues")
		}
		pages = *page.Pages
		for _, state := range page.Items {
			b, err := state.backlog(q.readyOnly)
			if err != nil {
				return backlog{}, err
			}
			all = append(all, b)
		}
	}
	return compose(all, q.operation), nil
}

// compose is the sum, the mean or the maximum, of each number on its own.
func compose(all []backlog, operation string) backlog {
	var sum, most backlog
	for _, b := range all {
		sum = backlog{sum.messages + b.messages, sum.published + b.published, sum.delivered + b.delivered}
		most = backlog{max(most.messages, b.messages), max(most.published, b.published), max(most.delivered, b.delivered)}
	}
	switch n := float64(len(all)); {
	case operation == "max":
		return most
	case operation == "avg" && n > 0:
		return backlog{sum.messages / n, sum.published / n, sum.delivered / n}
	}
	return sum
}

// A queueState is a queue as the management API describes it.
type queueState struct {
	Name     string   `json:"name"`
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
		return backlog{}, fmt.Errorf("queue %q: the management API does not have its message count (yet)", s.Name)
	}
	return backlog{*messages, s.Stats.Publish.Rate, s.Stats.DeliverGet.Rate}, nil
}

func (q *managementQueue) get(ctx context.Context, u *url.URL, into any) error {
	body, err := q.fetch(ctx, u)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the answer is not what the management API says: %w", err)
	}
	return nil
}
