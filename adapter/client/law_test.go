package client

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/fair"
)

// A tenant wants Jobs, and polls again when a create failed.
type tenant struct {
	fair.Owner
	fault *fault // nil is none
	jobs  int    // that it wants
}

// A fault answers the requests of a tenant. It returns false for a request without a fault.
type fault struct {
	name   string
	answer func(r *http.Request, random *rand.Rand) (answer, bool)
}

func always(a answer) func(*http.Request, *rand.Rand) (answer, bool) {
	return func(*http.Request, *rand.Rand) (answer, bool) { return a, true }
}

const serviceTime = 10 * time.Millisecond

// faults are those of a webhook, a policy, a quota, or storage.
var faults = []*fault{
	{"429", always(answer{after: serviceTime, code: 429, retryAfter: "1"})},
	{"429 for long", always(answer{after: serviceTime, code: 429, retryAfter: "20"})},
	{"503 with Retry-After", always(answer{after: serviceTime, code: 503, retryAfter: "20"})},
	{"500", always(answer{after: serviceTime, code: 500})},
	{"hanging", always(answer{after: -1})},
	{"hanging for 20 s, then 500", always(answer{after: 14 * time.Second, code: 500})},
	{"slow", always(answer{after: 5 * time.Second})},
	{"denied slowly", always(answer{after: 9 * time.Second, code: 403})},
	{"denied", always(answer{after: serviceTime, code: 403})},
	{"refused", always(answer{after: serviceTime, code: 422})},
	{"DELETE that fails", func(r *http.Request, _ *rand.Rand) (answer, bool) {
		return answer{after: 13 * time.Second, code: 504}, r.Method == http.MethodDelete
	}},
	{"any", func(r *http.Request, random *rand.Rand) (answer, bool) {
		codes := []int{200, 403, 422, 429, 500, 503, 504}
		a := answer{after: serviceTime, code: codes[random.IntN(len(codes))]}
		if a.retryAfter = fmt.Sprint(random.IntN(30)); random.IntN(2) == 0 {
			a.after = time.Duration(random.IntN(20)) * time.Second
		}
		return a, true
	}},
}

// A cluster answers requests after the service time, or as the fault of their namespace
// and owner says.
type cluster struct {
	mu     sync.Mutex
	random *rand.Rand
	faults map[string]*fault // by owner
}

func (c *cluster) RoundTrip(r *http.Request) (*http.Response, error) {
	a := answer{after: serviceTime, code: 201}
	c.mu.Lock()
	if f := c.faults[r.Header.Get("Owner")]; f != nil {
		if bad, is := f.answer(r, c.random); is {
			a = bad
		}
	}
	c.mu.Unlock()
	return (&server{answer: func(*http.Request) answer { return a }}).RoundTrip(r)
}

// A play is a run of tenants: the failing ones from the start, the others from the jump.
type play struct {
	slots   int
	tenants []tenant
	jump    time.Duration
	seed    uint64
}

// run returns how long after the jump all Jobs of the tenants without a fault existed.
func (p *play) run(t *testing.T) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{random: rand.New(rand.NewPCG(p.seed, 1)), faults: map[string]*fault{}}
		ctx, stop := context.WithCancel(t.Context())
		transport := newTransport(shortPause{c}, 15*time.Second, NewLimit(p.slots))
		var all, good sync.WaitGroup
		for _, who := range p.tenants {
			c.faults[who.Name] = who.fault
		}
		begin := time.Now()
		for _, who := range p.tenants {
			if who.fault != nil {
				all.Go(func() { who.work(ctx, transport) })
				continue
			}
			good.Go(func() {
				time.Sleep(p.jump - time.Since(begin))
				who.work(ctx, transport)
			})
		}
		good.Wait()
		took = time.Since(begin) - p.jump
		stop()
		all.Wait()
	})
	return took
}

// work creates Jobs in batches that double, as Apply does, and tries again one to two seconds
// after a failure. A failing tenant never has enough.
func (who *tenant) work(ctx context.Context, transport http.RoundTripper) {
	for left := who.jobs; ctx.Err() == nil && left > 0; {
		if who.fault != nil {
			who.send(ctx, transport, http.MethodDelete)
		}
		ok, todo := true, left
		for size := 1; ok && todo > 0; size = min(2*size, 64) {
			var batch sync.WaitGroup
			var mu sync.Mutex
			created := 0
			for range min(size, todo) {
				batch.Go(func() {
					code := who.send(ctx, transport, http.MethodPost)
					mu.Lock()
					defer mu.Unlock()
					if code == 201 || code == 200 {
						created++
					} else {
						ok = false
					}
				})
			}
			batch.Wait()
			if todo -= created; who.fault == nil {
				left -= created
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second + rand.N(time.Second)):
		}
	}
}

func (who *tenant) send(ctx context.Context, transport http.RoundTripper, method string) int {
	r, err := http.NewRequestWithContext(fair.With(ctx, who.Owner), method,
		"http://server/apis/batch/v1/namespaces/"+who.Namespace+"/jobs", nil)
	if err != nil {
		return 0
	}
	r.Header.Set("Owner", who.Name)
	response, err := transport.RoundTrip(r)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// tenantsOf returns n tenants, of which the first k fail.
func tenantsOf(n, k int, namespaces int, which func(i int) *fault, jobs int) (all []tenant) {
	for i := range n {
		who := tenant{Owner: fair.Owner{Namespace: fmt.Sprintf("n%d", i%namespaces), Name: fmt.Sprintf("o%d", i)}, jobs: jobs}
		if i < k {
			who.fault = which(i)
		}
		all = append(all, who)
	}
	return all
}

// With k of n owners failing in any way, the others need at most twice the time.
func TestLaw(t *testing.T) {
	const jump = time.Minute
	for _, f := range faults {
		t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			for _, c := range []struct{ n, k, namespaces, slots int }{
				{20, 1, 1, 16}, {20, 1, 20, 16}, {20, 10, 1, 16}, {20, 10, 5, 16},
				{20, 19, 1, 16}, {20, 19, 20, 16}, {90, 70, 1, 16}, {90, 70, 90, 16}, {90, 89, 3, 64},
			} {
				with := play{c.slots, tenantsOf(c.n, c.k, c.namespaces, func(int) *fault { return f }, 40), jump, 1}
				without := with
				without.tenants = with.tenants[c.k:]
				took, alone := with.run(t), without.run(t)
				require.LessOrEqual(t, took, 2*alone, "%+v", c)
			}
		})
	}
}

// The law holds for any mixture of faults. Owners whose requests begin to fail at the jump
// cost Patience in addition.
func TestLawOfMixtures(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 2))
		n := 2 + random.IntN(60)
		k := 1 + random.IntN(n-1)
		with := play{8 + random.IntN(60), tenantsOf(n, k, 1+random.IntN(n), func(int) *fault { return faults[random.IntN(len(faults))] }, 1+random.IntN(60)), time.Minute, seed}
		without := with
		without.tenants = with.tenants[k:]
		alone := without.run(t)
		require.LessOrEqual(t, with.run(t), 2*alone+serviceTime, "seed %d: %d of %d", seed, k, n)
		if with.jump = 0; k <= 2*with.slots {
			require.LessOrEqual(t, with.run(t), 2*(alone+fair.Patience), "seed %d: %d of %d, from the start", seed, k, n)
		}
	}
}

// An overloaded API server refuses the requests above its own bound, whoever sends them.
// All Jobs exist in at most 1.5 times the time that it needs if it refuses none, and three
// times the longest wait for a retry.
func TestOverloadedServer(t *testing.T) {
	const owners, each, slots = 400, 10, 128
	for _, most := range []int{2, 5, 20, 100} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			inFlight, refused := 0, 0
			server := roundTripper(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				if inFlight >= most {
					refused++
					mu.Unlock()
					header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Retry-After": {"1"}}
					return &http.Response{StatusCode: 429, Header: header, Body: http.NoBody, Request: r}, nil
				}
				inFlight++
				mu.Unlock()
				time.Sleep(serviceTime)
				mu.Lock()
				defer mu.Unlock()
				inFlight--
				return &http.Response{StatusCode: 201, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
			})
			limit := NewLimit(slots)
			transport := newTransport(shortPause{server}, 15*time.Second, limit)
			begin := time.Now()
			var all sync.WaitGroup
			for _, who := range tenantsOf(owners, 0, 40, nil, each) {
				all.Go(func() { who.work(t.Context(), transport) })
			}
			all.Wait()
			took, ideal := time.Since(begin), owners*each*serviceTime/time.Duration(most)
			t.Logf("bound %d: %s, ideal %s, %d refused", most, took, ideal, refused)
			require.LessOrEqual(t, took, ideal*3/2+6*time.Second)
			require.Zero(t, limit.Stats().Owners, "no owner is congested")
		})
	}
}
