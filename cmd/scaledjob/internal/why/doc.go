// Package why explains from the log of KEDA's operator why a ScaledJob was scaled, or was not.
//
// Read takes logs as people paste them, and puts the lines of each ScaledJob into polls. Explain
// judges each poll with the manifest, if it is known, and the rules of the release (package keda),
// and answers in a few sentences. The package reads no cluster and no file.
//
//	log := why.Read(text)
//	why.Explain(log, why.Question{Manifests: manifests}).Print(os.Stdout)
//
// # Statements
//
// A statement is seen (a line says it), computed (from values that were seen, with the rules of the
// release) or inferred (the lines leave it open, and it explains them). KEDA logs R, P and creates at
// level info, and values, activity and the strategy only at level 1. A poll without a line about
// creating is inactive in every release from 2.14 on. If an active poll creates nothing, the number
// in its lines and the manifest bound T and the queue length.
//
// # Polls
//
// Lines are joined by the ScaledJob and never by their neighborhood. A poll whose lines are cut
// off has no verdict. Pastes (Markdown fences, files), runs of the operator and pods are kept apart.
//
// # Texts
//
// Errors of the log are quoted without credentials. Lines that no message of KEDA matches are never
// printed.
package why
