package scheduledjob

import batchv1 "k8s.io/api/batch/v1"

// Names that a run's pods and Jobs carry, for tests.
const (
	LabelName       = labelName
	AnnotationDue   = annotationDue
	AnnotationDelay = annotationDelay
	EnvDue          = envDue
	EnvDelay        = envDelay
	MaxPodCount     = maxPodCount
)

func (s *ScheduledJob) Owns(j *batchv1.Job) bool { return s.owns(j) }
