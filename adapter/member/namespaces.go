package member

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A listWatcher lists and watches the objects of a kind in a namespace.
type listWatcher[L metav1.ListInterface] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// in returns the objects of a namespace. If it is empty, they are those of all namespaces that the
// hub may use.
func in[L metav1.ListInterface, C listWatcher[L]](c *Cluster, namespace string, of func(string) C) listWatcher[L] {
	if namespace != "" || len(c.options.Namespaces) < 2 {
		return of(namespace)
	}
	s := &several[L]{versions: make([]string, len(c.options.Namespaces))}
	for _, n := range c.options.Namespaces {
		s.in = append(s.in, of(n))
	}
	return s
}

// A several lists one namespace after the other, as pages of one list, and watches all of them.
type several[L metav1.ListInterface] struct {
	in []listWatcher[L]

	mu       sync.Mutex
	versions []string // of the last list, by namespace
}

// List returns a page.
func (s *several[L]) List(ctx context.Context, o metav1.ListOptions) (page L, err error) {
	number, rest, _ := strings.Cut(o.Continue, "/")
	i, _ := strconv.Atoi(number) // the first page has none
	o.Continue = rest
	if page, err = s.in[i].List(ctx, o); err != nil {
		if apierrors.IsResourceExpired(err) { // a client would list a single namespace instead
			err = apierrors.NewInternalError(err)
		}
		return page, err
	}
	s.mu.Lock()
	s.versions[i] = page.GetResourceVersion()
	s.mu.Unlock()
	if rest = page.GetContinue(); rest == "" {
		i++
	}
	if i < len(s.in) {
		page.SetContinue(strconv.Itoa(i) + "/" + rest)
	}
	return page, nil
}

// Watch watches from the last list. From any other version it ends, so that all namespaces are
// listed again: events of different namespaces arrive in any order.
func (s *several[L]) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	versions := slices.Clone(s.versions)
	s.mu.Unlock()
	if o.ResourceVersion != versions[0] {
		w := watch.NewFakeWithChanSize(1, false)
		w.Error(&apierrors.NewResourceExpired("the namespaces are listed again").ErrStatus)
		return w, nil
	}
	m := &merged{events: make(chan watch.Event), stopped: make(chan struct{})}
	m.stop = sync.OnceFunc(func() { close(m.stopped) })
	var all []watch.Interface
	for i, of := range s.in {
		o.ResourceVersion = versions[i]
		w, err := of.Watch(ctx, o)
		if err != nil {
			for _, opened := range all {
				opened.Stop()
			}
			return nil, err
		}
		all = append(all, w)
	}
	var group sync.WaitGroup
	for _, w := range all {
		group.Go(func() { m.take(w) })
	}
	go func() {
		group.Wait()
		close(m.events)
	}()
	return m, nil
}

// A merged watch ends with the first of its watches.
type merged struct {
	events  chan watch.Event
	stopped chan struct{}
	stop    func()
}

func (m *merged) ResultChan() <-chan watch.Event { return m.events }

func (m *merged) Stop() { m.stop() }

func (m *merged) take(w watch.Interface) {
	defer m.stop()
	defer w.Stop()
	for {
		select {
		case e, more := <-w.ResultChan():
			if !more {
				return
			}
			select {
			case m.events <- e:
			case <-m.stopped:
				return
			}
		case <-m.stopped:
			return
		}
	}
}
