// Package conform asks a program the questions of package oracle, and compares its answers with the
// right ones: first the test vectors, then random questions, then properties of several answers.
package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	Name     string          `json:"name"` // of the vector or the property
	Question json.RawMessage `json:"question"`
	Answer   string          `json:"answer"`
	Right    string          `json:"right,omitempty"`
	Rules    []rule          `json:"rules,omitempty"` // the likeliest one first
	Trace    string          `json:"trace,omitempty"` // of the right answer
}

// A Report is the result. Failure is set if the program did not reach the end.
type Report struct {
	Program []string `json:"program"`
	Seed    uint64   `json:"seed"`
	Levels  []Level  `json:"levels"`
	Failure string   `json:"failure,omitempty"`
}

// Conforms reports whether every level conforms.
func (r *Report) Conforms() bool {
	return r.Failure == "" && !slices.ContainsFunc(r.Levels, func(l Level) bool { return l.Verdict != "conforms" })
}

const (
	shown      = 3    // differences of a level that are made small and shown
	batch      = 200  // questions that are asked before the first answer is read
	smallSteps = 1000 // questions to make one small
	checked    = 150  // questions for each property

	maxRestarts = 10 // of a program that fails at smaller questions, for each level
)

// Run starts a program and asks it. The error is a [*Failure] if the program fails; the report
// has what it showed before.
func Run(ctx context.Context, arguments []string, options Options) (*Report, error) {
	report := &Report{Program: arguments, Seed: options.Seed}
	program, err := start(ctx, arguments, options.Timeout)
	if err == nil {
		for _, name := range options.Levels {
			r := &run{ctx: ctx, arguments: arguments, program: program, options: options, level: Level{Name: name}, rules: rules(), wrong: map[string]bool{}}
			if err = r.ask(); err != nil {
				r.level.Verdict = "failed"
			}
			report.Levels, program = append(report.Levels, r.level), r.program
			if err != nil {
				break
			}
		}
		if problem := program.close(); err == nil {
			err = problem
		}
	}
	if err != nil {
		report.Failure = err.Error()
	}
	return report, err
}

// A run asks the questions of one level.
type run struct {
	ctx       context.Context
	arguments []string
	program   *program
	options   Options
	level     Level
	rules     []rule
	vectors   []vector
	wrong     map[string]bool // vectors with a wrong answer, by name
	restarts  int
}

func (r *run) ask() error {
	var err error
	if r.vectors, err = vectors(r.level.Name); err != nil {
		return err
	}
	defer func() { r.level.Verdict = r.level.verdict() }()
	if err := r.compare(r.vectors, &r.level.Vectors); err != nil {
		return err
	}
	random := make([]vector, r.options.Questions)
	for i := range random {
		random[i] = vector{name: "a random question", question: r.random(uint64(i))}
	}
	if err := r.compare(random, &r.level.Random); err != nil {
		return err
	}
	for _, p := range properties(r.level.Name) {
		if err := r.try(p); err != nil {
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

// random returns a question of the level. Equal seeds give equal questions.
func (r *run) random(n uint64) question {
	g := generator{rand.New(rand.NewPCG(r.options.Seed, n))}
	kinds := map[string][]string{"strategy": {"strategy"}, "decision": {"create"}, "history": {"history"}, "rollout": {"rollout"}}[r.level.Name]
	if kinds != nil {
		return g.question(kinds[0])
	}
	return g.question(pick(g, "create", "create", "create", "strategy", "history", "rollout")).with("release", r.level.Name)
}

// compare asks the questions that have a right answer.
func (r *run) compare(asked []vector, tally *Tally) error {
	for part := range slices.Chunk(asked, batch) {
		var questions []question
		var fair []vector
		var right []answer
		for _, v := range part {
			if answer, _, ok := v.question.right(); ok {
				questions, fair, right = append(questions, v.question), append(fair, v), append(right, answer)
			}
		}
		if len(questions) == 0 {
			continue
		}
		answers, err := r.program.ask(r.ctx, questions...)
		if err != nil {
			return err
		}
		for i, a := range answers {
			switch {
			case a.unsupported:
				tally.Unsupported++
			case a == right[i]:
				tally.Right++
			default:
				tally.Wrong++
				r.wrong[fair[i].name] = true
			}
		}
		for i, a := range answers {
			if a.unsupported || a == right[i] {
				continue
			}
			if err := r.differ(fair[i], a); err != nil {
				return err
			}
		}
	}
	return nil
}

// differ adds a difference, as small as possible. Differences that become the same question count once.
func (r *run) differ(v vector, given answer) error {
	if len(r.level.Differences) >= shown {
		return nil
	}
	q, err := shrink(v.question, smallSteps, func(q question) (bool, error) {
		right, _, ok := q.right()
		if !ok {
			return false, nil
		}
		found, err := r.again(q)
		wrong := err == nil && !found.unsupported && found != right
		if wrong {
			given = found
		}
		return wrong, err
	})
	right, trace, _ := q.right()
	name := v.name
	if q.String() != v.question.String() && v.rule > 0 {
		name += ", made smaller"
	}
	r.add(Difference{Name: name, Question: json.RawMessage(q.String()), Answer: given.value, Right: right.value, Trace: trace}, q)
	return err
}

// once asks one question.
func (r *run) once(q question) (answer, error) {
	answers, err := r.program.ask(r.ctx, q)
	if err != nil {
		return answer{}, err
	}
	return answers[0], nil
}

// again asks a smaller question after a wrong answer. A program that fails at it says nothing about that
// answer: it is started again, and after a few times it is asked no smaller questions.
func (r *run) again(q question) (answer, error) {
	if r.restarts == maxRestarts {
		return answer{unsupported: true}, nil
	}
	given, err := r.once(q)
	failure, failed := errors.AsType[*Failure](err)
	if !failed {
		return given, err
	}
	r.restarts++
	_ = r.program.close() // has failed
	program, err := start(r.ctx, r.arguments, r.options.Timeout)
	if err != nil {
		return answer{}, failure
	}
	r.program = program
	return answer{unsupported: true}, nil
}

// add adds a difference unless its question is there.
func (r *run) add(d Difference, q question) {
	if slices.ContainsFunc(r.level.Differences, func(o Difference) bool { return string(o.Question) == string(d.Question) }) {
		return
	}
	for _, n := range q.likely(r.vectors, r.wrong) {
		d.Rules = append(d.Rules, r.rules[n])
	}
	r.level.Differences = append(r.level.Differences, d)
}

// try checks a property with random questions, up to the first that breaks it.
func (r *run) try(p property) error {
	tried := false
	for i := range uint64(checked) {
		q := r.random(1<<32 + i)
		problem, compared, err := r.check(p, q, r.once)
		if err != nil {
			return err
		}
		if tried = tried || compared; problem == "" {
			continue
		}
		q, err = shrink(q, smallSteps, func(q question) (bool, error) {
			again, _, err := r.check(p, q, r.again)
			problem = cmp.Or(again, problem)
			return again != "", err
		})
		r.level.Properties.Wrong++
		first, trace, _ := strings.Cut(problem, "; package scaling decides\n")
		r.add(Difference{Name: p.name + ": " + p.meaning, Question: json.RawMessage(q.String()), Answer: first, Trace: trace}, q)
		return err
	}
	if tried {
		r.level.Properties.Right++
	} else {
		r.level.Properties.Unsupported++
	}
	return nil
}
