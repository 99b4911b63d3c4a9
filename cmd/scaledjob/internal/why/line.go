package why

import (
	"cmp"
	"encoding/csv"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A line is a line of a log without the marks of the program that printed it.
type line struct {
	number int    // from 1
	paste  int    // of the fenced blocks and files, from 0
	source string // the operator's pod, if the line names it
	others bool   // of another component of KEDA, or of another pod
	time   time.Time
	text   string
	fields map[string]string
}

// split returns the lines of a text. A Markdown fence begins another paste: its lines may be
// of another day, and in another order.
func split(text string, first int) (lines []line, pastes int) {
	pastes = first
	var open strings.Builder
	filled, depth, number, blank := false, 0, 0, false
	add := func(raw string) {
		open.WriteString(raw)
		depth += strings.Count(raw, "{") - strings.Count(raw, "}")
	}
	end := func() {
		if open.Len() > 0 {
			l := unwrap(open.String())
			l.number, l.paste = number, pastes
			filled, depth = true, 0
			open.Reset()
			lines = append(lines, l)
		}
	}
	text = colors.ReplaceAllString(unquote.Replace(text), "")
	for i, raw := range strings.Split(text, "\n") {
		if strings.HasPrefix(raw, ">") {
			raw = strings.TrimLeft(raw, "> ")
		}
		switch bare := strings.TrimSpace(raw); {
		case strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~"):
			end()
			if filled {
				pastes++
			}
			filled = false
		case bare == "":
			blank = true
			continue
		case depth > 0 && open.Len() < maxObject && !begins.MatchString(raw): // a terminal breaks long lines, and jq writes a line for each field
			add(raw)
		case !blank && cutBefore(open.String()) && !begins.MatchString(raw):
			add(raw)
		default:
			end()
			add(raw)
			number = i + 1
		}
		blank = false
	}
	end()
	return lines, pastes + 1
}

// begins matches the begin of a line of a log: an object, a time, the header of klog, a prefix or a crash.
var begins = regexp.MustCompile(`^\s*(?:\{\s*$|\[?"?\{|"?\d{4}-\d\d-\d\d|"?\d\d:\d\d:\d\d|[IWEF]\d{4} |\[?(?:pod/)?keda-|"?1\.\d+e\+09|"?\d{10}|(?i:info|debug|error|warn)\b|panic: |fatal error: |goroutine )`)

// cutBefore reports whether a line may have been broken before its object, by the width of a terminal.
func cutBefore(text string) bool {
	const narrow = 60
	return len(text) >= narrow && len(text) < maxObject && !strings.Contains(text, "{") && begins.MatchString(text)
}

// maxObject is the most bytes of an object over several lines.
const maxObject = 64 << 10

// Marks that editors, chats, pages and terminals add.
var (
	unquote = strings.NewReplacer("\r\n", "\n", "\u201c", `"`, "\u201d", `"`, "\u00a0", " ", "&quot;", `"`, "&#34;", `"`)
	colors  = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
)

var (
	podName = regexp.MustCompile(`^\s*\[?(?:pod/)?(keda-operator-[a-z0-9-]+)|"(keda-operator-[a-z0-9]+-[a-z0-9]+)"`)
	// podOf matches the pod in the fields that a collector of logs adds.
	podOf = regexp.MustCompile(`"pod_name"\s*:\s*"([^"]*)"`)
	// ofOthers matches lines of another component of KEDA, by their prefix, a field of a collector or the last column.
	ofOthers = regexp.MustCompile(`(?:^\s*\[?(?:pod/)?|(?:pod|pod_?[nN]ame|app|container|container_name)"?\s*[:=]\s*"|,"?)[\w-]*(?:keda-(?:operator-)?metrics-apiserver|keda-admission)`)
	field    = regexp.MustCompile(`"([A-Za-z0-9_.:/% -]+?)\s*"\s*:\s*("(?:[^"\\]|\\.)*"?|\[[^\]]*\]?|-?[0-9][0-9.eE+-]*|true|false|null)`)
	// inJSON matches a string of JSON that is a line of the operator.
	inJSON = regexp.MustCompile(`[:,\[]\s*("(?:[^"\\]|\\.)*?(?:\\"(?:msg|ts|logger|scaledJob\.Name|ScaledJob|ScaledJob\.Name|controllerKind)\\"\s*:|\\"type\\"\s*:\s*\\"Scaled)(?:[^"\\]|\\.)*"?)`)
)

// unwrap removes quotes of CSV and JSON around the operator's line, and reads the fields and the time.
func unwrap(raw string) line {
	l := line{text: strings.TrimSpace(raw)}
	if strings.Contains(l.text, `""`) && strings.Contains(l.text, `"":`) {
		l.text = fromCSV(l.text)
	}
	original := l.text
	pod, prefixed := strings.CutPrefix(original, "[pod/")
	pod, _, _ = strings.Cut(pod, "]")
	if m := podOf.FindStringSubmatch(original); m != nil {
		pod, prefixed = m[1], true
	}
	l.others = ofOthers.MatchString(original) || (prefixed && !strings.Contains(pod, "keda"))
	if m := podName.FindStringSubmatch(original); m != nil {
		l.source = cmp.Or(m[1], m[2])
	}
	if strings.Contains(original, `\"`) {
		if m := inJSON.FindStringSubmatch(original); m != nil {
			l.text = strings.TrimSpace(unescape.Replace(strings.Trim(m[1], `"`)))
		}
	}
	l.fields = map[string]string{}
	for _, m := range field.FindAllStringSubmatch(l.text, -1) {
		value := m[2]
		if strings.HasPrefix(value, `"`) {
			s, err := strconv.Unquote(value)
			if cut := len(value) < 2 || !strings.HasSuffix(value, `"`); cut && m[1] != "error" {
				continue
			} else if err != nil {
				s = strings.Trim(value, `"`)
			}
			value = s
		}
		if _, present := l.fields[m[1]]; !present {
			l.fields[m[1]] = value
		}
	}
	if l.time = timeOf(l.text, l.fields["ts"]); l.time.IsZero() {
		l.time = timeOf(original, "")
	}
	return l
}

var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\t`, "\t", `\n`, " ")

// fromCSV returns the longest column of a line in quotes, or the line with single quotes.
func fromCSV(text string) string {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes = -1, false
	row, err := r.Read()
	if err != nil { // a cut line has no closing quote
		// an empty value in quotes, doubled, is four quotes
		text = strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)
		return strings.ReplaceAll(text, `""`, `"`)
	}
	longest := ""
	for _, column := range row {
		if len(column) > len(longest) {
			longest = column
		}
	}
	if t := timeOf(longest, ""); t.IsZero() && len(row) > 1 {
		return strings.Join(row, "\t")
	}
	return longest
}

const stamp = `\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?`

var (
	leveled = regexp.MustCompile(`(` + stamp + `|1\.\d+e\+\d\d|\d{10,19}(?:\.\d+)?)\s+(?:INFO|DEBUG|ERROR|WARN)`)
	dated   = regexp.MustCompile(stamp)
	epoch   = regexp.MustCompile(`\b(1\.\d+e\+09|1\d{9}(?:\.\d+)?)\b`)
	clock   = regexp.MustCompile(`^(\d\d:\d\d:\d\d)(?:[.,]\d+)?\b`)
	klog    = regexp.MustCompile(`\b[IWEF](\d{4} \d\d:\d\d:\d\d)\.\d{6}\s`)
	layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
		"2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05"}
)

// timeOf returns the time that zap wrote, or else the first time of the line. A time of klog is in
// the year 0, and one without a day on its first day.
func timeOf(text, ts string) time.Time {
	if m := leveled.FindStringSubmatch(text); ts == "" && m != nil {
		ts = m[1]
	}
	if t := parseTime(ts); !t.IsZero() {
		return t
	}
	if m := klog.FindStringSubmatch(text); m != nil {
		t, _ := time.Parse("0102 15:04:05", m[1])
		return t
	}
	if t := parseTime(dated.FindString(text)); !t.IsZero() {
		return t
	}
	if m := epoch.FindString(text); m != "" && strings.Index(text, m) < 40 {
		if t := parseTime(m); !t.IsZero() {
			return t
		}
	}
	if m := clock.FindStringSubmatch(text); m != nil {
		t, _ := time.Parse(time.TimeOnly, m[1])
		return t
	}
	return time.Time{}
}

func parseTime(text string) time.Time {
	text = strings.ReplaceAll(text, ",", ".")
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	number, err := strconv.ParseFloat(text, 64)
	for _, micros := range []float64{1e6, 1e3, 1e-3} { // zap's epoch, millis and nano
		if micro := number * micros; err == nil && micro > 1e15 && micro < 1e16 {
			return time.UnixMicro(int64(micro)).UTC()
		}
	}
	return time.Time{}
}
