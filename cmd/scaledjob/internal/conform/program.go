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
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

const (
	maxAnswer = 1 << 20 // bytes of a line
	maxStderr = 2 << 10 // bytes of standard error that a failure shows
	grace     = time.Second
)

// A program is asked on its standard input, and answers on its standard output.
type program struct {
	ctx     context.Context // that it was started with
	command *exec.Cmd
	stop    context.CancelFunc
	input   io.WriteCloser
	lines   chan []byte // closed at the end of its output
	errors  tail        // read after the end of the program
	timeout time.Duration
	asked   int // questions
}

func start(ctx context.Context, arguments []string, timeout time.Duration) (*program, error) {
	running, stop := context.WithCancel(ctx)
	c := exec.CommandContext(running, arguments[0], arguments[1:]...)
	p := &program{ctx: ctx, command: c, stop: stop, lines: make(chan []byte), timeout: timeout}
	c.Stderr, c.WaitDelay = &p.errors, grace
	killGroup(c)
	input, err := c.StdinPipe()
	output, problem := c.StdoutPipe()
	if err = errors.Join(err, problem); err == nil {
		err = c.Start()
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("the program failed: it does not start: %w", err)
	}
	p.input = input
	go p.read(running, output)
	return p, nil
}

// read passes on one line at a time, so that a program that prints without end waits.
func (p *program) read(ctx context.Context, output io.Reader) {
	defer close(p.lines)
	lines := bufio.NewReaderSize(output, maxAnswer)
	for {
		line, err := lines.ReadSlice('\n') // a part of a longer line, which is no answer
		if line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))); len(line) > 0 {
			select {
			case p.lines <- bytes.Clone(line):
			case <-ctx.Done():
				return
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// ask returns the answers to questions, which it numbers, or those before the error.
func (p *program) ask(questions ...question) (answers []answer, err error) {
	texts, first := make([]string, len(questions)), p.asked+1
	for i, q := range questions {
		texts[i] = q.with("id", first+i).String()
	}
	p.asked += len(questions)
	go func() { _, _ = io.WriteString(p.input, strings.Join(texts, "\n")+"\n") }() // no answer comes if it fails
	for i, q := range questions {
		var answered answer
		data, problem := p.next(first + i)
		if problem == "" {
			answered, problem = read(data, first+i, q)
		}
		if p.ctx.Err() != nil {
			return answers, p.ctx.Err()
		}
		if problem != "" {
			if data != nil { // perhaps it failed within a line
				if _, ended := p.finish(); ended && p.end() != "exit status 0" {
					problem += "; it ended: " + p.end()
				}
			}
			return answers, fmt.Errorf("the program failed: %s; it was asked %s", problem, texts[i])
		}
		answers = append(answers, answered)
	}
	return answers, nil
}

// next returns the next line of the program, or the problem.
func (p *program) next(id int) (line []byte, problem string) {
	select {
	case <-p.ctx.Done():
		return nil, "interrupted"
	case line, found := <-p.lines:
		if !found {
			return nil, "it closed its output without an answer: " + p.end()
		}
		return line, ""
	case <-time.After(p.timeout):
	}
	problem = fmt.Sprintf("no answer within %v", p.timeout)
	switch line, ended := p.finish(); {
	case line != nil:
		problem += ", but one when its input was closed: write each answer at once, flush the output after each line, or use a longer --timeout"
	case ended:
		problem += "; when its input was closed it ended: " + p.end()
	case id == 1:
		problem += " of its start; a program that starts slowly needs a longer --timeout"
	}
	return nil, problem
}

// finish closes the input. It returns the next line, if there is one within a short time, or whether the
// output ended.
func (p *program) finish() (line []byte, ended bool) {
	_ = p.input.Close()
	select {
	case line, found := <-p.lines:
		return line, !found
	case <-time.After(grace):
		return nil, false
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

// close ends the program. It is an error if the program has printed more than its answers.
func (p *program) close() error {
	line, _ := p.finish()
	p.stop()
	_ = p.command.Wait() // also if it has ended before
	if line == nil {
		return nil
	}
	return fmt.Errorf("the program failed: it printed more lines than it was asked: %s", quote(line))
}

// quote returns the beginning of a line, safe to print.
func quote(data []byte) string {
	text := report.Cut(report.Clean(string(data[:min(len(data), 500)])), 120)
	if len(data) >= maxAnswer {
		text += fmt.Sprintf(" (a line may have fewer than %d bytes)", maxAnswer)
	}
	return text
}

// An answer is what the program said to a question.
type answer struct {
	value       string // as JSON, in one form for equal values
	trace       string // of a right one
	unsupported bool
}

// read reads the answer to a question with this number. It may have other fields too.
func read(data []byte, id int, q question) (a answer, problem string) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(data, &fields) // fields that are missing are problems
	value, found := fields[q.field()]
	isNext := number(string(fields["id"])) == strconv.Itoa(id)
	switch a.value = q.canonical(value); {
	case isNext && isSet(fields["unsupported"]):
		a.unsupported = true
	case isNext && isSet(fields["error"]) && !found:
		a.value = "error: " + quote(fields["error"])
	case !isNext || a.value == "":
		right, _ := q.right()
		problem = fmt.Sprintf("in place of an answer such as {\"id\":%d,%q:%s} it printed %s", id, q.field(), quote([]byte(right.value)), quote(data))
	}
	if !isNext && number(string(fields["id"])) != "" {
		problem += "; answer each question once, in the order of the questions"
	}
	return a, problem
}

// isSet reports whether a field is there: many programs write null for one that is not.
func isSet(value json.RawMessage) bool {
	return value != nil && string(value) != "null" && string(value) != "false"
}

// A tail keeps the end of what is written.
type tail []byte

// Write keeps the last bytes.
func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	*t = (*t)[max(0, len(*t)-maxStderr):]
	return len(p), nil
}
