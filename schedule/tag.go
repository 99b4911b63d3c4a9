package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A tag is a DNS label of at most 34 characters. The tag of a scheduled run has its
// occurrence in UTC, which can be read from the tag, and then what tells jobs apart. The tag of
// a run on demand is unlike any other. Tags must never change: a run
// would start again under its new tag.

const tagTime = "20060102t150405"

// scheduledTag is the tag of the run of an occurrence.
func scheduledTag(uid string, occurrence time.Time) string {
	text := occurrence.UTC().Format(tagTime)
	if n := occurrence.Nanosecond(); n > 0 {
		text += fmt.Sprintf("-%09d", n)
	}
	return text + "-" + digest(4, uid, text)
}

// TagOccurrence returns the occurrence in the tag of a scheduled run of the job with a UID, in UTC, and
// false for other tags.
func TagOccurrence(uid, tag string) (time.Time, bool) {
	text := tag[:max(0, strings.LastIndexByte(tag, '-'))]
	occurrence, err := time.Parse(tagTime, strings.Replace(text, "-", ".", 1))
	return occurrence, err == nil && scheduledTag(uid, occurrence) == tag
}

// RequestTag returns the tag of the run that a request with an ID asks for, of a job with a UID.
func RequestTag(uid, id string) string { return requestPrefix + digest(12, uid, id) }

const requestPrefix = "asked-"

// completionTag is the tag of the run that the n-th completion of another job asks for.
func completionTag(uid string, u Upstream, outcome Outcome, n int64) string {
	return "after-" + digest(12, uid, u.Job, u.UID, string(outcome), strconv.FormatInt(n, 10))
}

// digest returns so many bytes that no other parts have.
func digest(bytes int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:bytes])
}
