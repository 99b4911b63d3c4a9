// Package report holds how the command writes: the writer that every byte of its output
// passes, and the words, numbers and tables that several commands share.
//
// # Text from outside
//
// Manifests, logs, clusters and file names hold texts that anybody may have written. [Clean]
// makes such a text safe within a line. [Writer] makes the whole output safe: no escape
// sequence reaches a terminal, and no command reaches a runner of GitHub or Azure.
package report
