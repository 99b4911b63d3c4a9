// Package adaptertest is a fake API server for tests of controllers that create Jobs.
//
//	cluster := adaptertest.NewCluster()
//	cluster.Break(func(r adaptertest.Request, do func() error) error {
//		if r.Verb == "create" {
//			_ = do() // the Job is created, and the answer is lost
//			return context.DeadlineExceeded
//		}
//		return do()
//	})
//	jobs, err := adapter.List(ctx, cluster, target, adapter.Options{})
//
// It is client-go's fake with what controllers of Jobs rely on besides: UIDs, creation
// times, resource versions, generated names, conflicts of updates, and preconditions of
// deletes. It has no controllers: a test sets the status of a Job. It has no admission,
// permissions or defaults, and does not apply patches of kind apply.
package adaptertest

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	batchfake "k8s.io/client-go/kubernetes/typed/batch/v1/fake"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corefake "k8s.io/client-go/kubernetes/typed/core/v1/fake"
	ktesting "k8s.io/client-go/testing"
)

// A Request is what a client asks for. A list has no name.
type Request struct {
	Verb      string // create, update, patch, delete, get or list
	Resource  string // such as jobs
	Namespace string
	Name      string
}

// A Fault stands between a client and the server. It calls do to carry the request out,
// and returns what the client sees: do's error or another. It may keep do and call it
// after it has returned, so that the request arrives late. It is called for one request at
// a time, and must not block.
type Fault func(request Request, do func() error) error

// A Server makes a fake of client-go behave as an API server. Its methods may be called
// concurrently.
type Server struct {
	tracker ktesting.ObjectTracker
	now     func() time.Time

	mu       sync.Mutex
	versions int64 // the last resource version
	fault    Fault
	requests map[Request]int // by verb and resource
}

// Serve makes a fake behave as an API server, such as the Fake and the Tracker of a
// fake.Clientset. Its clock is time.Now.
func Serve(fake *ktesting.Fake, tracker ktesting.ObjectTracker) *Server {
	s := &Server{tracker: tracker, now: time.Now, requests: map[Request]int{}}
	fake.PrependReactor("*", "*", s.react)
	return s
}

// A Cluster serves the objects of the groups batch and core. It is an adapter.Client.
type Cluster struct {
	*Server
	fake ktesting.Fake
}

// NewCluster returns a cluster with these objects, as they are.
func NewCluster(objects ...runtime.Object) *Cluster {
	tracker := ktesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	for _, object := range objects {
		if err := tracker.Add(object); err != nil {
			panic(err) // an object of another scheme
		}
	}
	c := &Cluster{}
	c.Server = Serve(&c.fake, tracker)
	c.fake.AddWatchReactor("*", func(action ktesting.Action) (bool, watch.Interface, error) {
		options := action.(ktesting.WatchActionImpl).ListOptions
		events, err := tracker.Watch(action.GetResource(), action.GetNamespace(), options)
		return true, events, err
	})
	return c
}

// BatchV1 returns the client of the group batch.
func (c *Cluster) BatchV1() batchclient.BatchV1Interface {
	return &batchfake.FakeBatchV1{Fake: &c.fake}
}

// CoreV1 returns the client of the group core.
func (c *Cluster) CoreV1() coreclient.CoreV1Interface { return &corefake.FakeCoreV1{Fake: &c.fake} }

// IsWatchListSemanticsUnSupported tells informers of client-go that a watch begins with no objects.
func (c *Cluster) IsWatchListSemanticsUnSupported() bool { return true }

// SetClock sets the clock of creation times.
func (s *Server) SetClock(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// Break lets a fault answer the requests from now on. Nil repairs the server. Watches have
// no faults.
func (s *Server) Break(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Requests returns the number of requests with a verb for a resource. Those that a fault
// has answered count.
func (s *Server) Requests(verb, resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[Request{Verb: verb, Resource: resource}]
}

func (s *Server) react(action ktesting.Action) (handled bool, answer runtime.Object, err error) {
	request := requestOf(action)
	s.mu.Lock()
	s.requests[Request{Verb: request.Verb, Resource: request.Resource}]++
	fault := s.fault
	s.mu.Unlock()
	do := func() error {
		answer, err = s.carryOut(action)
		return err
	}
	if fault == nil {
		err = do()
	} else {
		err = fault(request, do)
	}
	if err != nil {
		return true, nil, err
	}
	return true, answer, nil
}

func requestOf(action ktesting.Action) Request {
	r := Request{Verb: action.GetVerb(), Resource: action.GetResource().Resource, Namespace: action.GetNamespace()}
	switch action := action.(type) {
	case ktesting.GetActionImpl:
		r.Name = action.Name
	case ktesting.DeleteActionImpl:
		r.Name = action.Name
	case ktesting.PatchActionImpl:
		r.Name = action.Name
	case interface{ GetObject() runtime.Object }: // create and update
		if object, err := meta.Accessor(action.GetObject()); err == nil {
			r.Name = object.GetName()
		}
	}
	return r
}

// carryOut lets the tracker carry a request out, with what an API server adds.
func (s *Server) carryOut(action ktesting.Action) (runtime.Object, error) {
	if err := s.prepare(action); err != nil {
		return nil, err
	}
	_, answer, err := ktesting.ObjectReaction(s.tracker)(action)
	return answer, err
}

func (s *Server) prepare(action ktesting.Action) error {
	switch action := action.(type) {
	case ktesting.CreateActionImpl:
		if action.GetSubresource() != "" {
			return nil
		}
		object, err := meta.Accessor(action.GetObject())
		if err == nil {
			s.admit(object)
		}
		return err
	case ktesting.UpdateActionImpl:
		return s.renew(action)
	case ktesting.DeleteActionImpl:
		return s.precondition(action)
	}
	return nil
}

// uids counts the created objects of all servers of the process: two clusters never give
// the same UID.
var uids atomic.Int64

// admit sets what a created object has from the API server.
func (s *Server) admit(object metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions++
	if object.GetName() == "" {
		object.SetName(object.GetGenerateName() + strconv.FormatInt(s.versions, 36))
	}
	object.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", uids.Add(1))))
	object.SetResourceVersion(strconv.FormatInt(s.versions, 10))
	object.SetCreationTimestamp(metav1.NewTime(s.now()))
}

// renew gives an updated object its resource version. An update of an older one is a
// conflict.
func (s *Server) renew(action ktesting.UpdateActionImpl) error {
	object, err := meta.Accessor(action.GetObject())
	if err != nil {
		return err
	}
	stored, err := s.stored(action, object.GetName())
	if err != nil {
		return err
	}
	if version := object.GetResourceVersion(); version != "" && version != stored.GetResourceVersion() {
		return apierrors.NewConflict(action.GetResource().GroupResource(), object.GetName(),
			fmt.Errorf("the object has been modified: resource version %q, not %q", stored.GetResourceVersion(), version))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions++
	object.SetResourceVersion(strconv.FormatInt(s.versions, 10))
	return nil
}

func (s *Server) precondition(action ktesting.DeleteActionImpl) error {
	wanted := action.DeleteOptions.Preconditions
	if wanted == nil {
		return nil
	}
	stored, err := s.stored(action, action.Name)
	if err != nil {
		return err
	}
	otherUID := wanted.UID != nil && *wanted.UID != stored.GetUID()
	otherVersion := wanted.ResourceVersion != nil && *wanted.ResourceVersion != stored.GetResourceVersion()
	if otherUID || otherVersion {
		return apierrors.NewConflict(action.GetResource().GroupResource(), action.Name,
			fmt.Errorf("precondition failed: UID %s, resource version %q", stored.GetUID(), stored.GetResourceVersion()))
	}
	return nil
}

func (s *Server) stored(action ktesting.Action, name string) (metav1.Object, error) {
	object, err := s.tracker.Get(action.GetResource(), action.GetNamespace(), name)
	if err != nil {
		return nil, err
	}
	return meta.Accessor(object)
}
