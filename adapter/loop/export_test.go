package loop

const AnnotationMark = annotationMark

var (
	Judge        = judge
	NewTransport = newTransport
)
