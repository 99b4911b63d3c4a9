// Package oracle answers questions in JSON with the decisions of the ScaledJob
// specification and of each release of KEDA. Implementations in any language can be
// compared with them. A question is a line, and so is its answer:
//
//	{"id":1,"release":"2.21","scalers":[{"queueLength":10,"target":2,"isActive":true}],"maxReplicaCount":3,"running":0,"pending":0}
//	{"id":1,"isActive":true,"queueLength":10,"target":3,"create":3,"effectiveMaxScale":3,"scaleTo":10,"trace":"…"}
//
// [Help] documents the fields. A line of each kind with its answer is in testdata.
package oracle

import _ "embed"

// Help documents the format.
//
//go:embed help.txt
var Help string
