package triggers

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// aloneFor is how long an owner that has ended workers is read alone, at first.
	aloneFor = time.Hour
	// longestAlone is the longest time alone.
	longestAlone = 7 * 24 * time.Hour
	// firstPause and longestPause are the time for which an owner is not read after it has ended
	// a worker of its own.
	firstPause, longestPause = time.Minute, time.Hour
	// manyDeaths is the number of deaths at which it no longer counts who was under way besides.
	manyDeaths = 3
	// ofNamespace is the number of deaths after which a namespace is alone. Only deaths count at which no
	// owner of another namespace was under way, and a death with a single owner counts as proof deaths.
	ofNamespace, proof = 12, 4
)

// A blame remembers which owners were read while a worker ended. The key is an owner's
// namespace and name: a new UID is not a new beginning. A namespace is a key as well, so that new
// names are none either: all its owners may be read alone.
type blame struct {
	mu     sync.Mutex
	owners map[string]*suspect
}

// A suspect was under way when a worker ended.
type suspect struct {
	once   bool      // the next read is alone
	deaths int       // of workers, with others under way
	alone  time.Time // read alone until then
	term   time.Duration
	paused time.Time // not read until then
	pause  time.Duration
	last   time.Time
}

// underWay notes the owners that were under way when a shared worker ended.
func (b *blame) underWay(owners map[string]bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	points := 1
	namespaces := map[string]bool{}
	for key := range owners {
		s := b.suspect(key, now)
		s.once = true
		namespaces[namespaceOf(key)] = true
		if len(owners) == 1 && s.term == 0 {
			points = proof
		}
		if s.deaths++; s.deaths >= manyDeaths || len(owners) == 1 {
			s.isolate(now)
		}
	}
	if len(namespaces) == 1 {
		for namespace := range namespaces {
			b.suspect(namespace, now).count(points, now)
		}
	}
}

// hangs notes an owner whose reads hung in a worker that was replaced for that.
func (b *blame) hangs(key string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.suspect(key, now).isolate(now)
}

// ended notes the end of an owner's read in a worker of its own.
func (b *blame) ended(key string, killed bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.suspect(key, now)
	s.once = false
	if !killed {
		s.pause, s.paused = 0, time.Time{}
		return
	}
	s.isolate(now)
	if s.pause == 0 {
		b.suspect(namespaceOf(key), now).count(proof, now)
	}
	s.pause = min(max(2*s.pause, firstPause), longestPause)
	s.paused = now.Add(s.pause)
}

// alone reports whether an owner is to be read alone, or the error if it is not to be read now.
func (b *blame) alone(key string, now time.Time) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of, s := b.owners[namespaceOf(key)], b.owners[key]
	if s == nil {
		s = &suspect{}
	}
	if now.Before(s.paused) {
		return true, fmt.Errorf("reading the triggers has ended a worker; the next read is at %s", s.paused.UTC().Format(time.TimeOnly))
	}
	return s.once || now.Before(s.alone) || of != nil && now.Before(of.alone), nil
}

func namespaceOf(key string) string {
	namespace, _, _ := strings.Cut(key, "/")
	return namespace
}

func (b *blame) suspect(key string, now time.Time) *suspect {
	if b.owners == nil {
		b.owners = map[string]*suspect{}
	}
	for other, s := range b.owners {
		if now.Sub(s.last) > 2*max(aloneFor, s.term) {
			delete(b.owners, other)
		}
	}
	s := b.owners[key]
	if s == nil {
		s = &suspect{}
		b.owners[key] = s
	}
	if now.Sub(s.last) > max(aloneFor, s.term) {
		s.deaths = 0
	}
	s.last = now
	return s
}

// count adds points to a namespace.
func (s *suspect) count(points int, now time.Time) {
	if s.deaths += points; s.deaths >= ofNamespace {
		s.isolate(now)
	}
}

// isolate keeps the owner alone for an hour, and for twice as long the next time.
func (s *suspect) isolate(now time.Time) {
	if now.Before(s.alone) && s.term > 0 && s.pause == 0 {
		return // it is alone already, for this death or the one before
	}
	s.term = min(max(2*s.term, aloneFor), longestAlone)
	s.alone = now.Add(s.term)
}
