// Package oracle answers questions in JSON with the decisions of the ScaledJob
// specification and of each release of KEDA. Implementations in any language can be
// compared with them. A question is a line, and so is its answer: see the
// example of Run.
//
// [Fields] documents them. A line of each kind with its answer is in testdata.
package oracle

import _ "embed"

// Fields documents the questions and the answers.
//
//go:embed fields.txt
var Fields string
