package run

import (
	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/internal/manifest"
)

// ReadScheduledJobs reads the ScheduledJobs among the documents of a YAML or JSON
// text; documents of other kinds are passed over. It is an error if there is none,
// and if one has a field that a ScheduledJob does not have, a value of another
// type, or the same key twice. All that can be found in one pass is returned at
// once, joined, as [*adapter.FieldError] where it is a field's. What a ScheduledJob
// says is checked by [ScheduledJob.Config].
func ReadScheduledJobs(data []byte) ([]*ScheduledJob, error) {
	return manifest.Read[ScheduledJob](manifest.Kind{
		GroupVersionKind: GroupVersionKind, Instead: instead,
		Problem: func(field, found, want string) error {
			return &adapter.FieldError{Field: field, Found: found, Want: want}
		},
	}, data)
}

// instead is what people meant by a field that does not exist.
var instead = map[string]string{
	"spec.jobTemplate":       "spec.template, of the pods (jobTemplate is a CronJob's)",
	"spec.concurrencyPolicy": "spec.allowConcurrentRun (concurrencyPolicy is a CronJob's)",
	"spec.timeZone":          "spec.schedule.timeZone",
	"spec.timeSpec":          "spec.schedule.timeSpec",
	"spec.backoffLimit":      "spec.maxRestart",
	"spec.parallelism":       "spec.podCount",
	"spec.completions":       "spec.podCount",
}
