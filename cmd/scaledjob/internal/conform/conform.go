// Package conform asks a program the questions of package oracle, and compares its answers with the
// right ones: first the test vectors, then random questions, then properties of several answers.
package conform

import (
	"cmp"
	"context"
	"math/rand/v2"
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

// Run starts a program and asks it. If the program fails, the report has what it showed before.
func Run(ctx context.Context, arguments []string, options Options) (*Report, error) {
	report := &Report{Program: arguments, Seed: options.Seed}
	err := report.run(ctx, options)
	if err != nil {
		report.Failure = err.Error()
	}
	return report, err
}

func (r *Report) run(ctx context.Context, options Options) error {
	program, err := start(ctx, r.Program, options.Timeout)
	if err != nil {
		return err
	}
	for _, name := range options.Levels {
		t := test{program: program, Level: Level{Name: name}, vectors: vectors(name), wrong: map[string]bool{}}
		err = t.ask(options)
		t.judge(err)
		if r.Levels = append(r.Levels, t.Level); err != nil {
			break
		}
	}
	if err = cmp.Or(err, program.close()); err != nil {
		r.Stderr = strings.TrimSpace(string(program.errors))
	}
	return err
}

// A test asks the questions of one level.
type test struct {
	program *program
	Level
	vectors []vector
	wrong   map[string]bool // vectors with a wrong answer, by name
}

func (t *test) ask(options Options) error {
	if err := t.compare(t.vectors, &t.Vectors); err != nil {
		return err
	}
	random := generator{rand.New(rand.NewPCG(options.Seed, 0)), t.vectors}
	if err := t.compare(random.vectors(options.Questions), &t.Random); err != nil {
		return err
	}
	for _, p := range properties(t.Name) {
		if err := t.try(p, random.vectors(checked)); err != nil {
			return err
		}
	}
	return nil
}

// judge sets the verdict, and the rules of the differences. A level is unsupported if the program answers less
// than half of its vectors.
func (t *test) judge(err error) {
	for i := range t.Differences {
		t.Differences[i].Rules = t.Differences[i].Question.likely(t.vectors, t.wrong)
	}
	t.Verdict = "conforms"
	switch answered := t.Vectors.Right + t.Vectors.Wrong; {
	case err != nil:
		t.Verdict = "failed"
	case t.Vectors.Wrong+t.Random.Wrong+t.Properties.Wrong > 0:
		t.Verdict = "differs"
	case answered == 0 || answered < t.Vectors.Unsupported:
		t.Verdict = "unsupported"
	}
}

// compare asks the questions, and counts their answers. The program may read many before it answers the first.
func (t *test) compare(asked []vector, tally *Tally) error {
	for part := range slices.Chunk(asked, batch) {
		questions := make([]question, len(part))
		for i := range part {
			questions[i] = part[i].question
		}
		answers, err := t.program.ask(questions...)
		for i, answered := range answers {
			d := part[i].question.compare(answered, part[i].right)
			switch {
			case answered.unsupported:
				tally.Unsupported++
			case d == nil:
				tally.Right++
			default:
				tally.Wrong++
				t.wrong[part[i].name] = true
				if d.Name = part[i].name; len(t.Differences) < shown {
					err = t.add(d, t.once, err)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A judge asks what a question needs. It returns what is wrong, or nil, and whether an answer was compared.
type judge func(question) (d *Difference, compared bool, err error)

// once asks a question by itself.
func (t *test) once(q question) (d *Difference, compared bool, err error) {
	right, fair := q.right()
	if !fair {
		return nil, false, nil
	}
	answers, err := t.program.ask(q)
	if err != nil {
		return nil, false, err
	}
	return q.compare(answers[0], right), !answers[0].unsupported, nil
}

// add adds a difference, as small as possible. After the failure of the program nothing can be asked, and it
// stays as it is. Differences that became the same question count once.
func (t *test) add(d *Difference, ask judge, failure error) error {
	if failure == nil {
		d, failure = d.shrink(ask)
	}
	if !slices.ContainsFunc(t.Differences, func(o Difference) bool { return o.Question.String() == d.Question.String() }) {
		t.Differences = append(t.Differences, *d)
	}
	return failure
}

// try checks a property with random questions, up to the first that breaks it.
func (t *test) try(p property, random []vector) error {
	tally, ask := &t.Properties.Unsupported, t.check(p)
	for _, v := range random {
		d, compared, err := ask(v.question)
		switch {
		case err != nil:
			return err
		case d != nil:
			t.Properties.Wrong++
			return t.add(d, ask, nil)
		case compared:
			tally = &t.Properties.Right
		}
	}
	*tally++
	return nil
}
