package why

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
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

// A splitter joins the raw lines of a text to the lines of the log. A Markdown fence begins another paste: its lines may
// be of another day, and in another order.
type splitter struct {
	emit          func(line)
	open          strings.Builder
	depth, number int // of braces; of the open line
	paste         int
	filled, blank bool // the paste has a line; an empty line came before
	output        int  // the first line of kubectl's output, or 0
}

// scan reads a text to its end. The remainder of a line that is longer than maxObject is left out.
func (s *splitter) scan(r io.Reader) error {
	lines := bufio.NewReaderSize(r, maxObject)
	for number := 1; ; number++ {
		raw, err := lines.ReadSlice('\n')
		text := string(raw)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if text != "" {
			s.add(strings.ToValidUTF8(text, "?"), number)
		}
		if err != nil {
			s.end()
			s.paste, s.filled, s.blank = s.paste+1, false, false
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func (s *splitter) add(raw string, number int) {
	if raw = strings.TrimRight(raw, "\r\n"); raw != "" {
		raw = unquote.Replace(raw)
	}
	if strings.ContainsRune(raw, '\x1b') {
		raw = colors.ReplaceAllString(raw, "")
	}
	if strings.HasPrefix(raw, ">") {
		raw = strings.TrimLeft(raw, "> ")
	}
	bare := strings.TrimSpace(raw)
	if bare == "" {
		s.blank = true
		return
	}
	for _, head := range []string{"Name: ", "LAST SEEN ", "NAMESPACE ", "kind: ScaledJob", `"kind": "ScaledJob"`} {
		if s.output == 0 && strings.HasPrefix(bare, head) {
			s.output = number
		}
	}
	// a terminal breaks long lines, and jq writes a line for each field
	inObject := s.depth > 0 && s.open.Len() < maxObject
	broken := !s.blank && cutBefore(s.open.String())
	switch {
	case strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~"):
		s.end()
		if s.filled {
			s.paste++
		}
		s.filled, s.blank = false, false
		return
	case (inObject || broken) && !begins.MatchString(raw):
	default:
		s.end()
		s.number = number
	}
	s.open.WriteString(raw)
	s.depth += strings.Count(raw, "{") - strings.Count(raw, "}")
	s.blank = false
}

func (s *splitter) end() {
	if s.open.Len() > 0 {
		l := unwrap(s.open.String())
		l.number, l.paste = s.number, s.paste
		s.filled, s.depth = true, 0
		s.open.Reset()
		s.emit(l)
	}
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
	unquote = strings.NewReplacer("\ufeff", "", "\u201c", `"`, "\u201d", `"`, "\u00a0", " ", "&quot;", `"`, "&#34;", `"`)
	colors  = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
)

var (
	podName = regexp.MustCompile(`^\s*\[?(?:pod/)?(keda-operator-[a-z0-9-]+)|"(keda-operator-[a-z0-9]+-[a-z0-9]+)"`)
	// podOf matches the pod in the fields that a collector of logs adds.
	podOf = regexp.MustCompile(`"pod_name"\s*:\s*"([^"]*)"`)
	// ofOthers matches lines of another component of KEDA, by their prefix, a field of a collector or the last column.
	ofOthers = regexp.MustCompile(`(?:^\s*\[?(?:pod/)?|(?:pod|pod_?[nN]ame|app|container|container_name)"?\s*[:=]\s*"|,"?)[\w-]*(?:keda-(?:operator-)?metrics-apiserver|keda-admission)`)
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
	if strings.Contains(original, `"pod_name"`) {
		if m := podOf.FindStringSubmatch(original); m != nil {
			pod, prefixed = m[1], true
		}
	}
	ofKEDA := strings.Contains(original, "metrics-apiserver") || strings.Contains(original, "keda-admission")
	l.others = (ofKEDA && ofOthers.MatchString(original)) || (prefixed && !strings.Contains(pod, "keda"))
	if strings.Contains(original, "keda-operator-") {
		if m := podName.FindStringSubmatch(original); m != nil {
			l.source = cmp.Or(m[1], m[2])
		}
	}
	if strings.Contains(original, `\"`) {
		if m := inJSON.FindStringSubmatch(original); m != nil {
			l.text = strings.TrimSpace(unescape.Replace(strings.Trim(m[1], `"`)))
		}
	}
	l.fields = fieldsOf(l.text)
	if l.time = timeOf(l.text, l.fields["ts"]); l.time.IsZero() {
		l.time = timeOf(original, "")
	}
	return l
}

// pair matches a key and its value: a string, a list, a word or a number, which the end of the text may cut off.
var pair = regexp.MustCompile(`(?s)"([\w.:/% -]+)"[ \t]*:[ \t]*("(?:[^"\\]|\\.|\\$)*"?|\[[^\]]*\]?|true|false|null|[0-9.eE+-]+)`)

// fieldsOf returns the first value of each key of a text, which may be cut off, and may have objects in objects.
func fieldsOf(text string) map[string]string {
	fields := map[string]string{}
	for _, m := range pair.FindAllStringSubmatch(text, -1) {
		key := strings.TrimRight(m[1], " ")
		_, present := fields[key]
		if value, ok := unquoted(m[2], m[1] == "error"); ok && !present {
			fields[key] = value
		}
	}
	return fields
}

// unquoted returns a value without its quotes. One without the last is cut off, of which only an error is of use.
func unquoted(value string, cutAllowed bool) (string, bool) {
	if !strings.HasPrefix(value, `"`) {
		return value, true
	}
	s, err := strconv.Unquote(value)
	if cut := len(value) < 2 || !strings.HasSuffix(value, `"`); cut && !cutAllowed {
		return "", false
	} else if err != nil {
		s = strings.Trim(value, `"`)
	}
	return s, true
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
	if first, _, found := strings.Cut(text, "\t"); ts == "" && found { // most lines
		if t, err := time.Parse(time.RFC3339Nano, first); err == nil {
			return t
		}
	}
	if ts == "" {
		if m := leveled.FindStringSubmatch(text); m != nil {
			ts = m[1]
		}
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
	if text == "" { // which a line without a time is, and each layout would make an error of it
		return time.Time{}
	}
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
