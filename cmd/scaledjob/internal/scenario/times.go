package scenario

import (
	"fmt"
	"io"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/simulation"
)

// readTimes replaces the service and start times by times of real pods, unless the flags
// set them.
func (s *Flags) readTimes(m *input.ScaledJob, items int64, stdin io.Reader) error {
	if len(s.dumps) == 0 {
		return nil
	}
	if items == 0 && !s.changed("service") {
		return input.Usagef("--jobs with --items-per-job 0: the number of items of a Job is not known; use --service")
	}
	d, err := cluster.Read(s.dumps, stdin, m)
	if err != nil {
		return err
	}
	o, err := d.OwnedBy(m, s.release.Single())
	if err != nil {
		return err
	}
	all := o.PodTimes()
	s.recorded = fmt.Sprintf("%d pods of --jobs", len(all))
	if len(all) == 0 {
		all = o.JobTimes()
		s.recorded = field.Plural(len(all), "Job") + " of --jobs without pods; service has the startup"
	}
	if len(all) == 0 {
		return fmt.Errorf("--jobs: found no succeeded pod or Job of %s; %s, with finished Jobs", m.Name(), cluster.KubectlGet)
	}
	var service, startup []time.Duration
	for _, p := range all {
		service = append(service, p.Finished.Sub(p.Started)/time.Duration(max(1, items)))
		startup = append(startup, p.Started.Sub(p.Scheduled))
	}
	for flag, to := range map[string]struct {
		text   *string
		values []time.Duration
	}{"service": {&s.service, service}, "startup": {&s.startup, startup}} {
		if !s.changed(flag) {
			*to.text = simulation.Recorded(to.values...).String()
		}
	}
	return nil
}
