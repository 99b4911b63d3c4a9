package loop

const AnnotationMark = annotationMark

var NewIdentity = newIdentity
