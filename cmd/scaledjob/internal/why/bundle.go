package why

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/keda"
)

// The entries of a bundle.
const (
	bundledLog        = "log.jsonl"
	bundledScaledJobs = "scaledjobs.json"
)

// Limits of a bundle that is read.
const (
	maxEntries = 4
	maxEntry   = 64 << 20
)

// bundledFields are the fields of the log's lines that a bundle has, if the value is a number, a
// truth value or a word.
var bundledFields = regexp.MustCompile(`^(?:scaledJob\.Name|scaledJob\.Namespace|ScaledJob\.Name|ScaledJob\.Namespace|ScaledJob|name|namespace|controllerKind|type|` +
	`Number of running Jobs|Number of pending Jobs|Effective number of max jobs|Number of jobs|jobs|isActive|isTriggerActive|targetAverageValue|maxValue|selected|selected:|numJobsToDelete|historyLimit)$`)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9._:/+-]{0,253}$`)

// bundledKeys are the keys of a trigger's metadata that the decision reads.
var bundledKeys = regexp.MustCompile(`^(?:activation[A-Za-z]*|value|targetValue|threshold|[a-zA-Z]*(?:Length|Count|Threshold|Backlog|Lag)|mode|protocol|excludeUnacknowledged|scaleOnInFlight|queueLengthStrategy|includeOngoingSessions)$`)

var plainValue = regexp.MustCompile(`^(?:[0-9.]{1,20}|true|false|auto|amqp|http|QueueLength|MessageRate|visibleonly|all)$`)

// Files returns the entries of a bundle: the known lines of the log and the manifests, each with
// listed fields only, of the ScaledJobs asked about. An error becomes a word for its kind, and a pod of the
// operator a number. Of lines about others, the time shows that the operator works.
func Files(l *Log, q Question) (log, scaledJobs []byte, err error) {
	var b bytes.Buffer
	var pods []string
	var last time.Time
	paste := 0
	for _, e := range l.entries {
		if e.paste != paste {
			paste, last = e.paste, time.Time{}
		}
		unclear := q.Namespace != "" && e.namespace == "" && slices.ContainsFunc(l.Subjects, func(s *Subject) bool { return s.Name == e.name && s.Mixed })
		if !e.kind.ofOperator() && (unclear || !q.asks(e.name, e.namespace)) {
			if e.time.Sub(last) < settled {
				continue
			}
			last = e.time
			e.line, e.kind, e.message = line{time: e.time, source: e.source}, another, anotherText
		}
		fields := e.bundled()
		if e.source != "" {
			if !slices.Contains(pods, e.source) {
				pods = append(pods, e.source)
			}
			fields["pod"] = fmt.Sprintf("keda-operator-pod-%d", 1+slices.Index(pods, e.source))
		}
		line, err := json.Marshal(fields)
		if err != nil {
			return nil, nil, err
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	items := []any{}
	for _, m := range q.Manifests {
		if len(q.Manifests) == 1 || q.asks(m.Name, m.Namespace) {
			items = append(items, bundledManifest(m))
		}
	}
	scaledJobs, err = json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}, "", " ")
	return b.Bytes(), scaledJobs, err
}

// bundled returns the fields of a line for a bundle.
func (e *entry) bundled() map[string]any {
	out := map[string]any{"msg": e.said()}
	if !e.time.IsZero() {
		out["ts"] = e.time.Format("2006-01-02T15:04:05.999999Z07:00")
	}
	for key, value := range e.fields {
		if !bundledFields.MatchString(key) || !plainWord.MatchString(value) {
			continue
		}
		if strings.Contains(e.text, `"`+key+` "`) {
			key += " " // up to 2.14, and a sign of it
		}
		out[key] = scalar(value)
	}
	if t, ok := triggerOf(*e); ok && e.kind == metric {
		key := "queueLength"
		if index, _, found := strings.Cut(t.Name, "-"); found {
			key = index + "-metric"
		}
		out[key] = t.Value
	}
	switch e.kind {
	case denied, unleased:
		out["error"] = kindOf(listErrors, e.text)
	case stopped:
		if text := e.fields["error"]; text == leaseLost {
			out["error"] = text
		} else if text != "" {
			out["error"] = kindOf(listErrors, text)
		}
	case refused:
		out["error"] = kindOf(createErrors, e.fields["error"])
	case unreadable, invalid, scaler:
		out["error"] = kindOf(readErrors, e.fields["error"]+e.fields["Error"])
	}
	if e.isError() {
		out["level"] = "error"
	}
	return out
}

func scalar(value string) any {
	if value == "true" || value == "false" {
		return value == "true"
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil && !strings.ContainsAny(value, "xXnNiI_") {
		return json.Number(value)
	}
	return value
}

// said is the longest known text of the line, or a sign of its release.
func (e *entry) said() string {
	switch {
	case e.kind == version:
		return versionText.FindString(e.text)
	case e.crash():
		return e.message
	}
	longest := strings.Trim(e.message, `"`)
	for _, s := range signs {
		if strings.Contains(e.text, s.text) && len(s.text) > len(longest) && !strings.Contains(s.text, `"`) {
			longest = s.text
		}
	}
	return longest
}

// kindOf is the word for an error's kind. It has no part of the error.
func kindOf(candidates []plainError, text string) string {
	return cmp.Or(find(candidates, text).word, "an error of another kind")
}

func bundledManifest(m *manifest.ScaledJob) any {
	spec := m.KEDA().Spec
	for _, text := range []*string{&spec.RolloutStrategy, &spec.Rollout.Strategy, &spec.Rollout.PropagationPolicy, &spec.ScalingStrategy.Strategy,
		&spec.ScalingStrategy.MultipleScalersCalculation, &spec.ScalingStrategy.CustomScalingRunningJobPercentage} {
		if !plainWord.MatchString(*text) {
			*text = ""
		}
	}
	spec.ScalingStrategy.PendingPodConditions = nil // free words, and the log has P
	triggers := []any{}
	for _, t := range m.Spec.Triggers {
		metadata := maps.Clone(t.Metadata)
		maps.DeleteFunc(metadata, func(key, value string) bool { return !bundledKeys.MatchString(key) || !plainValue.MatchString(value) })
		triggers = append(triggers, map[string]any{"type": t.Type, "metadata": metadata})
	}
	meta := map[string]any{"name": m.Name, "namespace": m.Namespace}
	if text, found := m.Annotations[manifest.AnnotationPaused]; found {
		if _, err := strconv.ParseBool(text); err != nil {
			text = "unreadable" // it pauses
		}
		meta["annotations"] = map[string]string{manifest.AnnotationPaused: text}
	}
	container := map[string]any{"name": "c", "image": "i"}
	return map[string]any{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": meta, "spec": struct {
		keda.Spec
		Triggers     []any `json:"triggers"`
		JobTargetRef any   `json:"jobTargetRef"`
	}{spec, triggers, map[string]any{"template": map[string]any{"spec": map[string]any{"restartPolicy": "Never", "containers": []any{container}}}}}}
}

// WriteBundle writes an archive.
func WriteBundle(out io.Writer, log, scaledJobs []byte) error {
	zip := gzip.NewWriter(out)
	t := tar.NewWriter(zip)
	for name, data := range map[string][]byte{bundledLog: log, bundledScaledJobs: scaledJobs} {
		if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data))}); err != nil {
			return err
		}
		if _, err := t.Write(data); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), zip.Close())
}

// ReadBundle reads an archive. It accepts the entries that WriteBundle writes and no others.
func ReadBundle(in io.Reader) (log string, scaledJobs []byte, err error) {
	zip, err := gzip.NewReader(in)
	if err != nil {
		return "", nil, fmt.Errorf("not a bundle: %w", err)
	}
	t := tar.NewReader(zip)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case err != nil:
			return "", nil, fmt.Errorf("not a bundle: %w", err)
		case n == maxEntries:
			return "", nil, fmt.Errorf("the bundle has more than %d entries", maxEntries)
		case h.Typeflag != tar.TypeReg || (h.Name != bundledLog && h.Name != bundledScaledJobs):
			return "", nil, fmt.Errorf("the bundle has an entry %q, which no bundle has", h.Name)
		}
		data, err := io.ReadAll(io.LimitReader(t, maxEntry+1))
		switch {
		case err != nil:
			return "", nil, fmt.Errorf("not a bundle: %w", err)
		case len(data) > maxEntry:
			return "", nil, fmt.Errorf("%s in the bundle has more than %d MiB", h.Name, maxEntry>>20)
		case h.Name == bundledLog:
			log = string(data)
		default:
			scaledJobs = data
		}
	}
	return log, scaledJobs, nil
}
