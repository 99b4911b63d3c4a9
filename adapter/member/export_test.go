package member

// Labels of Jobs, for tests.
const (
	LabelHome     = labelHome
	LabelCreation = labelCreation
	LabelSource   = labelSource
	LabelAttempt  = labelAttempt
	LabelProof    = labelProof
)
