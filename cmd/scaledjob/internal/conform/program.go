package conform

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

const (
	maxAnswer = 1 << 20 // bytes of a line
	maxStderr = 2 << 10 // bytes of standard error that a failure shows
	grace     = time.Second
)

// A Failure is an error of the program itself: it has no answer that can be compared.
type Failure struct {
	Problem  string // in words
	Question string // the line that it was asked; "" if none
	Stderr   string // the end of its standard error
}

// Error returns the problem and the question.
func (f *Failure) Error() string {
	text := "the program failed: " + f.Problem
	if f.Question != "" {
		text += "; it was asked " + f.Question
	}
	return text
}

// A program is asked on its standard input, and answers on its standard output.
type program struct {
	command *exec.Cmd
	stop    context.CancelFunc
	input   io.WriteCloser
	lines   chan []byte // closed at the end of its output
	broken  error       // what ended its output; read after lines is closed
	errors  *tail
	timeout time.Duration
	asked   int
}

func start(ctx context.Context, arguments []string, timeout time.Duration) (*program, error) {
	ctx, stop := context.WithCancel(ctx)
	c := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	p := &program{command: c, stop: stop, lines: make(chan []byte), errors: &tail{}, timeout: timeout}
	c.Stderr, c.WaitDelay = p.errors, grace
	killGroup(c)
	input, err := c.StdinPipe()
	output, problem := c.StdoutPipe()
	if err = errors.Join(err, problem); err == nil {
		err = c.Start()
	}
	if err != nil {
		stop()
		return nil, &Failure{Problem: "it does not start: " + err.Error()}
	}
	p.input = input
	go p.read(ctx, output)
	return p, nil
}

// read passes on one line at a time, so that a program that prints without end waits.
func (p *program) read(ctx context.Context, output io.Reader) {
	defer close(p.lines)
	scanner := bufio.NewScanner(output)
	scanner.Buffer(nil, maxAnswer)
	for scanner.Scan() {
		line := bytes.TrimSpace(bytes.TrimPrefix(scanner.Bytes(), []byte("\ufeff")))
		if len(line) == 0 {
			continue
		}
		select {
		case p.lines <- bytes.Clone(line):
		case <-ctx.Done():
			return
		}
	}
	p.broken = scanner.Err()
}

// ask returns the answers to questions, which it numbers, or those before the error. The program may read
// all questions before it answers the first.
func (p *program) ask(ctx context.Context, questions ...question) ([]answer, error) {
	texts, first := make([]string, len(questions)), p.asked
	for i, q := range questions {
		p.asked++
		texts[i] = q.with("id", p.asked).String()
	}
	go func() { _, _ = io.WriteString(p.input, strings.Join(texts, "\n")+"\n") }() // no answer comes if it fails
	answers := make([]answer, 0, len(questions))
	for i, q := range questions {
		data, problem := p.next(ctx)
		var answered answer
		if problem == "" {
			answered, problem = read(data, first+i+1, q)
		}
		if ctx.Err() != nil {
			return answers, ctx.Err()
		}
		if problem != "" {
			return answers, &Failure{problem, texts[i], p.errors.String()}
		}
		answers = append(answers, answered)
	}
	return answers, nil
}

// next returns the next line of the program, or the problem.
func (p *program) next(ctx context.Context) (line []byte, problem string) {
	select {
	case <-ctx.Done():
		return nil, "interrupted"
	case line, found := <-p.lines:
		switch {
		case found:
			return line, ""
		case errors.Is(p.broken, bufio.ErrTooLong):
			return nil, fmt.Sprintf("a line of its output is longer than %d bytes", maxAnswer)
		}
		return nil, "it closed its output without an answer: " + p.end()
	case <-time.After(p.timeout):
	}
	problem = fmt.Sprintf("no answer within %v", p.timeout)
	_ = p.input.Close()
	select {
	case _, found := <-p.lines:
		if found {
			return nil, problem + ", but one when its input was closed; write each answer at once: flush the output after each line, or use a longer --timeout"
		}
		return nil, problem + "; when its input was closed it ended: " + p.end()
	case <-time.After(grace):
		return nil, problem
	}
}

// end waits for the program for a short time, and says how it ended.
func (p *program) end() string {
	_ = p.input.Close()
	timer := time.AfterFunc(grace, p.stop)
	_ = p.command.Wait()
	if !timer.Stop() {
		return "it was still running, and was stopped"
	}
	return p.command.ProcessState.String()
}

// close ends the program. It returns a Failure if the program has printed more than its answers.
func (p *program) close() error {
	_ = p.input.Close()
	var failure error
	select {
	case line, found := <-p.lines:
		if found {
			failure = &Failure{"it printed more lines than it was asked: " + quote(line), "", p.errors.String()}
		}
	case <-time.After(grace):
	}
	p.stop()
	if p.command.ProcessState == nil {
		_ = p.command.Wait()
	}
	return failure
}

// quote returns the beginning of a line, safe to print.
func quote(data []byte) string {
	return report.Cut(report.Clean(string(data[:min(len(data), 500)])), 120)
}

// An answer is what the program said to a question.
type answer struct {
	value       string // as JSON, in one form for equal values
	unsupported bool
}

// read reads the answer to a question with this number. It may have other fields too.
func read(data []byte, id int, q question) (a answer, problem string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return a, "a line that is not a JSON object: " + quote(data)
	}
	field := q.field()
	switch value, found := fields[field]; {
	case fields["id"] == nil:
		return a, "an answer without the id of its question: " + quote(data)
	case number(string(fields["id"])) != strconv.Itoa(id):
		return a, fmt.Sprintf("the answer with id %s in the place of the answer with id %d; answer once, in the order of the questions", quote(fields["id"]), id)
	case isSet(fields["unsupported"]):
		a.unsupported = true
	case isSet(fields["error"]) && !found:
		a.value = "error: " + quote(fields["error"])
	case !found:
		return a, fmt.Sprintf("an answer without %q: %s", field, quote(data))
	default:
		form := "number"
		if field == "deleted" {
			form = "list of names"
		}
		if a.value = q.canonical(value); a.value == "" {
			return a, fmt.Sprintf("%q is no %s: %s", field, form, quote(data))
		}
	}
	return a, ""
}

// isSet reports whether a field is there: many programs write null for one that is not.
func isSet(value json.RawMessage) bool {
	return value != nil && string(value) != "null" && string(value) != "false"
}

// A tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	data []byte
}

// Write keeps the last bytes.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p[max(0, len(p)-maxStderr):]...)
	t.data = t.data[max(0, len(t.data)-maxStderr):]
	return len(p), nil
}

// String returns the end of the text, each line of it safe to print.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.data)), "\n")
	for i := range lines {
		lines[i] = report.Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}
