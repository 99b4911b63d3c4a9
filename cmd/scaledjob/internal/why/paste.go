package why

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// A Paste is what somebody copied from kubectl about a ScaledJob, instead of a log.
type Paste struct {
	Name, Namespace string
	Live            Live
}

var (
	describedKind  = regexp.MustCompile(`(?m)^Kind:\s+(\S+)\s*$`)
	describedName  = regexp.MustCompile(`(?m)^Name:\s+(\S+)\s*$`)
	describedSpace = regexp.MustCompile(`(?m)^Namespace:\s+(\S+)\s*$`)
	conditionField = regexp.MustCompile(`^\s+(Message|Reason|Status|Type):\s*(.*?)\s*$`)
	eventHead      = regexp.MustCompile(`(?m)^\s*(?:NAMESPACE\s+)?LAST SEEN\s+.*\bREASON\b.*\bMESSAGE\b.*$`)
	eventRow       = regexp.MustCompile(`^(?:(\S+)\s+)?\S+\s+(Normal|Warning)\s+(\S+)\s+scaledjob(?:\.keda\.sh)?/(\S+)\s+(.*)$`)
	eventLine      = regexp.MustCompile(`^\s+(Normal|Warning)\s+(\S+)\s+(?:<\w+>|[0-9]\S*(?: \(x\d+ over \S+\))?)\s+(\S+)\s+(.*)$`)
	othersDescribe = regexp.MustCompile(`(?m)^(?:Pods Statuses|Controlled By|Start Time|Parallelism|QoS Class):\s`)
)

// ErrOtherPaste refuses what kubectl describe prints of a Job or a pod.
var ErrOtherPaste = errors.New("kubectl describe of a Job or pod; give kubectl get jobs,pods -o json to scaledjob explain --jobs, or kubectl describe scaledjob here")

// ReadPaste reads what kubectl describe scaledjob or kubectl get events prints. It returns nil for a log.
func ReadPaste(text string) (pastes []*Paste, err error) {
	text = strings.ReplaceAll(colors.ReplaceAllString(text, ""), "\r\n", "\n")
	kind, name := describedKind.FindStringSubmatch(text), describedName.FindStringSubmatch(text)
	switch {
	case kind != nil && name != nil && kind[1] == "ScaledJob":
		return []*Paste{described(text, name[1])}, nil
	case name != nil && othersDescribe.MatchString(text):
		return nil, ErrOtherPaste
	case eventHead.MatchString(text):
		return listedEvents(text), nil
	}
	return nil, nil
}

// described reads the conditions and events of kubectl describe.
func described(text, name string) *Paste {
	p := &Paste{Name: name}
	if m := describedSpace.FindStringSubmatch(text); m != nil {
		p.Namespace = m[1]
	}
	inConditions, c := false, Condition{}
	for line := range strings.SplitSeq(text, "\n") {
		switch bare := strings.TrimSpace(line); {
		case bare == "Conditions:":
			inConditions = true
		case !inConditions || bare == "":
		case conditionField.MatchString(line):
			m := conditionField.FindStringSubmatch(line)
			switch m[1] {
			case "Message":
				c.Message = m[2]
			case "Reason":
				c.Reason = m[2]
			case "Status":
				c.Status = m[2]
			case "Type": // the last of a condition
				c.Type = m[2]
				p.Live.Conditions, c = append(p.Live.Conditions, c), Condition{}
			}
		default:
			inConditions = false
		}
		if m := eventLine.FindStringSubmatch(line); m != nil {
			p.Live.Events = append(p.Live.Events, Notice{m[2], m[4]})
		}
	}
	return p
}

// listedEvents reads the rows of kubectl get events that are about ScaledJobs.
func listedEvents(text string) (pastes []*Paste) {
	for line := range strings.SplitSeq(text, "\n") {
		m := eventRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		i := slices.IndexFunc(pastes, func(p *Paste) bool { return p.Name == m[4] && p.Namespace == m[1] })
		if i < 0 {
			i, pastes = len(pastes), append(pastes, &Paste{Name: m[4], Namespace: m[1]})
		}
		pastes[i].Live.Events = append(pastes[i].Live.Events, Notice{m[3], m[5]})
	}
	return pastes
}

// merge adds what another paste has.
func (l *Live) merge(other *Live) {
	l.Conditions, l.Events = append(l.Conditions, other.Conditions...), append(l.Events, other.Events...)
	l.Running, l.Pending, l.Counted = cmp.Or(l.Running, other.Running), cmp.Or(l.Pending, other.Pending), l.Counted || other.Counted
}
