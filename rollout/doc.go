// Package rollout says which unfinished Jobs of an older spec to delete when
// their owner has changed.
//
// What happens to old Jobs is a [Strategy]:
//
//	gradual    they finish
//	immediate  they are deleted, at work or not
//	drain      those of which no pod has ever started are deleted, the others finish
//
// A Job is old if it was made from a lower generation of the owner than the
// current one, so that any change of the owner's spec counts. With TemplateOnly
// its template hash must differ as well, so that only a changed Job template
// counts.
//
// Unknown is not old: a Job without a generation, or with a newer one than the
// caller has read, and under TemplateOnly one without a hash, is never touched.
// Neither are finished Jobs, which are package history's, nor Jobs that are being
// deleted already. Where it is not known whether a Job has started, it has.
//
// In a poll, rollout comes before scaling: the Jobs that it deletes are
// terminating in the same decision. They are not made again as such; scaling
// decides from the queue how many Jobs of the new spec there are to be. While the
// owner is paused nothing is rolled out; that is for the caller to see to.
package rollout
