// Package conform asks a program the questions of package oracle, and compares its answers with the
// right ones: first the test vectors, then random questions, then properties of several answers.
package conform

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Options say what is asked.
type Options struct {
	Levels    []string      // see [Levels]; or a release of KEDA
	Questions int           // random ones of each level
	Seed      uint64        // of the random questions
	Timeout   time.Duration // of each answer
}

// Levels are those of the specification.
func Levels() []string { return []string{"strategy", "decision", "history", "rollout"} }

// A Tally counts answers.
type Tally struct {
	Right       int `json:"right"`
	Wrong       int `json:"wrong"`
	Unsupported int `json:"unsupported"`
}

// A Level is what a program showed at a level.
type Level struct {
	Name        string       `json:"level"`
	Verdict     string       `json:"verdict"` // conforms, differs, unsupported or failed
	Vectors     Tally        `json:"vectors"`
	Random      Tally        `json:"random"`
	Properties  Tally        `json:"properties"` // a property is wrong if any of its questions shows it
	Differences []Difference `json:"differences,omitempty"`
}

// A Difference is a question with a wrong answer, as small as it was found.
type Difference struct {
	Name     string   `json:"name"` // of the vector or the property
	Question question `json:"question"`
	Answer   string   `json:"answer"`
	Right    string   `json:"right,omitempty"`
	Rules    []rule   `json:"rules,omitempty"` // the likeliest one first
	Trace    string   `json:"trace,omitempty"` // of the right answer
}

// A Report is the result. Failure is set if the program did not reach the end.
type Report struct {
	Program []string `json:"program"`
	Seed    uint64   `json:"seed"`
	Levels  []Level  `json:"levels"`
	Failure string   `json:"failure,omitempty"`
	Stderr  string   `json:"stderr,omitempty"` // the end of the program's standard error, if it failed
}

// Conforms reports whether every level conforms.
func (r *Report) Conforms() bool {
	return r.Failure == "" && !slices.ContainsFunc(r.Levels, func(l Level) bool { return l.Verdict != "conforms" })
}

const (
	shown   = 3   // differences of a level that are made small and shown
	batch   = 200 // questions that are asked before the first answer is read
	checked = 150 // questions for each property
)

// Run starts a program and asks it. The error is a [*Failure] if the program fails; the report
// has what it showed before.
func Run(ctx context.Context, arguments []string, options Options) (*Report, error) {
	report := &Report{Program: arguments, Seed: options.Seed}
	program, err := start(ctx, arguments, options.Timeout)
	if err == nil {
		for _, name := range options.Levels {
			r := &run{ctx: ctx, program: program, options: options, level: Level{Name: name}, wrong: map[string]bool{}}
			if err = r.ask(); err != nil {
				r.level.Verdict = "failed"
			}
			if report.Levels = append(report.Levels, r.level); err != nil {
				break
			}
		}
		if problem := program.close(); err == nil {
			err = problem
		}
	}
	if err != nil {
		report.Failure = err.Error()
		if failure, ok := errors.AsType[*Failure](err); ok {
			report.Stderr = failure.Stderr
		}
	}
	return report, err
}

// A run asks the questions of one level.
type run struct {
	ctx     context.Context
	program *program
	options Options
	level   Level
	vectors []vector
	wrong   map[string]bool // vectors with a wrong answer, by name
}

func (r *run) ask() (err error) {
	if r.vectors, err = vectors(r.level.Name); err != nil {
		return err
	}
	defer func() {
		r.level.Verdict = r.level.verdict()
		page := rules()
		for i := range r.level.Differences {
			d := &r.level.Differences[i]
			for _, n := range d.Question.likely(page, r.vectors, r.wrong) {
				d.Rules = append(d.Rules, page[n])
			}
		}
	}()
	if err := r.compare(r.vectors, &r.level.Vectors); err != nil {
		return err
	}
	random := newGenerator(r.vectors, r.options.Seed)
	if err := r.compare(random.vectors(r.options.Questions), &r.level.Random); err != nil {
		return err
	}
	for _, p := range properties(r.level.Name) {
		if err := r.try(p, random.vectors(checked)); err != nil {
			return err
		}
	}
	return nil
}

// verdict says that a level is unsupported if the program answers less than half of the vectors.
func (l *Level) verdict() string {
	switch answered := l.Vectors.Right + l.Vectors.Wrong; {
	case l.Vectors.Wrong+l.Random.Wrong+l.Properties.Wrong > 0:
		return "differs"
	case answered == 0 || answered < l.Vectors.Unsupported:
		return "unsupported"
	}
	return "conforms"
}

// compare asks the questions, and counts their answers.
func (r *run) compare(asked []vector, tally *Tally) error {
	for part := range slices.Chunk(asked, batch) {
		questions := make([]question, len(part))
		for i := range part {
			questions[i] = part[i].question
		}
		answers, failure := r.program.ask(r.ctx, questions...)
		for i, answered := range answers {
			switch v := part[i]; {
			case answered.unsupported:
				tally.Unsupported++
			case answered == v.right:
				tally.Right++
			default:
				tally.Wrong++
				r.wrong[v.name] = true
				failure = r.differ(v, answered, failure)
			}
		}
		if failure != nil {
			return failure
		}
	}
	return nil
}

// differ adds a difference, as small as possible, and returns the failure of the program. After one nothing
// can be asked, and the difference stays as it is.
func (r *run) differ(v vector, answered answer, failure error) error {
	if len(r.level.Differences) >= shown {
		return failure
	}
	q, wrong := v.question, func(q question) (bool, error) {
		right, _, ok := q.right()
		if !ok {
			return false, nil
		}
		answers, err := r.program.ask(r.ctx, q)
		wrong := err == nil && !answers[0].unsupported && answers[0] != right
		if wrong {
			answered = answers[0]
		}
		return wrong, err
	}
	if failure == nil {
		q, failure = q.shrink(wrong)
	}
	right, trace, _ := q.right()
	if q.String() != v.question.String() && v.rule > 0 {
		v.name += ", made smaller"
	}
	r.add(Difference{Name: v.name, Question: q, Answer: answered.value, Right: right.value, Trace: trace})
	return failure
}

// add adds a difference. Differences that became the same question count once.
func (r *run) add(d Difference) {
	if !slices.ContainsFunc(r.level.Differences, func(o Difference) bool { return o.Question.String() == d.Question.String() }) {
		r.level.Differences = append(r.level.Differences, d)
	}
}

// try checks a property with random questions, up to the first that breaks it.
func (r *run) try(p property, random []vector) error {
	tried := false
	for _, v := range random {
		problem, compared, err := r.check(p, v.question)
		if err != nil {
			return err
		}
		if tried = tried || compared; problem == "" {
			continue
		}
		q, err := v.question.shrink(func(q question) (bool, error) {
			smaller, _, err := r.check(p, q)
			if smaller != "" {
				problem = smaller
			}
			return smaller != "", err
		})
		r.level.Properties.Wrong++
		answers, trace, _ := strings.Cut(problem, "; package scaling decides\n")
		r.add(Difference{Name: p.name + ": " + p.meaning, Question: q, Answer: answers, Trace: trace})
		return err
	}
	if tried {
		r.level.Properties.Right++
	} else {
		r.level.Properties.Unsupported++
	}
	return nil
}
