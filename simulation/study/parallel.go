package study

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls work for 0 to n-1, some at the same time, and returns the error of the
// lowest index. Each call reports its share to tell.
func parallel(n, at int, bar *progress, work func(i int, tell func(float64) error) error) error {
	if at < 1 {
		at = runtime.GOMAXPROCS(0)
	}
	errs := make([]error, n)
	bar.begin(n)
	var next atomic.Int64
	var failed atomic.Bool
	var group sync.WaitGroup
	for range min(at, n) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				if errs[i] = work(i, bar.of(i)); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}

// A progress makes one increasing progress of that of several runs. Work that is found to be
// needed later takes half of what is left.
type progress struct {
	tell func(float64) error
	stop func() error

	mutex      sync.Mutex
	parts      []float64
	sum        float64
	from, told float64
	err        error
}

func (p *progress) begin(n int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.parts, p.sum, p.from = make([]float64, n), 0, p.told
}

// of returns the Progress of the run at i.
func (p *progress) of(i int) func(float64) error {
	if p.tell == nil && p.stop == nil {
		return nil
	}
	return func(part float64) error {
		if p.stop != nil {
			if err := p.stop(); err != nil || p.tell == nil {
				return err
			}
		}
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.sum += part - p.parts[i]
		p.parts[i] = part
		all := p.from + (1-p.from)*p.sum/float64(len(p.parts))
		if p.from == 0 {
			all *= 0.9 // the rest is for further seeds
		}
		if p.err == nil && all > p.told {
			p.told = all
			p.err = p.tell(all)
		}
		return p.err
	}
}
