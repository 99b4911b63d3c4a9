package conform

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/oracle"
	"github.com/scaledjob/scaledjob/testdata"
)

// TestMain is also the programs that are tested: with an argument such as "program:hangs" it answers questions.
func TestMain(m *testing.M) {
	if fault, ok := strings.CutPrefix(os.Args[len(os.Args)-1], "program:"); ok {
		serve(fault)
		return
	}
	os.Exit(m.Run())
}

// A fault changes the right answer to the question with this number. A nil answer is none.
type fault func(n int, answer map[string]any) any

func right(_ int, a map[string]any) any { return a }
func wrong(_ int, a map[string]any) any { return change(a, func(x float64) any { return x + 1 }) }
func nothing(int, map[string]any) any   { return nil }
func hang(int, map[string]any) any      { select {} }
func exit(int, map[string]any) any      { os.Exit(7); return nil }
func question30(n int) bool             { return n == 30 }

// when answers some questions with one fault and the others with another.
func when(isMet func(n int) bool, then, otherwise fault) fault {
	return func(n int, a map[string]any) any {
		if isMet(n) {
			return then(n, a)
		}
		return otherwise(n, a)
	}
}

func printing(line string) fault {
	return func(int, map[string]any) any {
		for {
			fmt.Println(line)
		}
	}
}

var faults = map[string]fault{
	"is right":        right,
	"has more fields": func(_ int, a map[string]any) any { a["more"] = []int{1}; return a },
	"has fractions":   func(_ int, a map[string]any) any { return change(a, func(x float64) any { return x - 0.5 }) },
	"writes 3 as 3.0": func(_ int, a map[string]any) any {
		n, _ := a["effectiveMaxScale"].(json.Number)
		a["effectiveMaxScale"] = json.RawMessage(n + ".0")
		return a
	},
	"writes texts":       func(_ int, a map[string]any) any { return change(a, func(x float64) any { return fmt.Sprint(x) }) },
	"writes null":        func(_ int, a map[string]any) any { return change(a, func(float64) any { return nil }) },
	"writes true":        func(_ int, a map[string]any) any { return change(a, func(float64) any { return true }) },
	"writes a list":      func(_ int, a map[string]any) any { return change(a, func(x float64) any { return []float64{x} }) },
	"has nulls":          func(_ int, a map[string]any) any { a["unsupported"], a["error"] = nil, nil; return a },
	"has no answer":      func(_ int, a map[string]any) any { return map[string]any{"id": a["id"]} },
	"has no id":          func(_ int, a map[string]any) any { delete(a, "id"); return a },
	"has texts as ids":   func(_ int, a map[string]any) any { a["id"] = fmt.Sprint(a["id"]); return a },
	"supports nothing":   func(_ int, a map[string]any) any { return map[string]any{"id": a["id"], "unsupported": "no"} },
	"supports a quarter": func(n int, a map[string]any) any { a["unsupported"] = n%4 > 0; return a },
	"supports most":      func(n int, a map[string]any) any { a["unsupported"] = n%4 == 0; return a },
	"only has errors":    func(_ int, a map[string]any) any { return map[string]any{"id": a["id"], "error": "what?"} },
	"hangs":              hang,
	"hangs later":        when(question30, hang, right),
	"is slow":            func(n int, a map[string]any) any { time.Sleep(100 * time.Microsecond); return a },
	"ends":               func(int, map[string]any) any { os.Exit(0); return nil },
	"dies later": when(question30, func(int, map[string]any) any {
		fmt.Fprintln(os.Stderr, "out of\x1b memory")
		return exit(0, nil)
	}, right),
	"is wrong and dies":  when(question30, exit, wrong),
	"answers to nothing": nothing,
	"skips one":          when(func(n int) bool { return n == 9 }, nothing, right),
	"answers twice": func(_ int, a map[string]any) any {
		return json.RawMessage(question(a).String() + "\n" + question(a).String())
	},
	"adds a line": when(func(n int) bool { return n == 20 }, func(_ int, a map[string]any) any {
		return json.RawMessage(question(a).String() + "\ndone")
	}, right),
	"says hello":         func(_ int, a map[string]any) any { return json.RawMessage("hello\n" + question(a).String()) },
	"prints megabytes":   func(int, map[string]any) any { return json.RawMessage(strings.Repeat("x", 3<<20)) },
	"prints lines":       printing("{}"),
	"prints empty lines": printing(""),
	"writes NaN": func(_ int, a map[string]any) any {
		return json.RawMessage(fmt.Sprintf(`{"id":%v,"effectiveMaxScale":NaN}`, a["id"]))
	},
	"dies within a line": func(int, map[string]any) any { fmt.Print(`{"id":1`); os.Exit(7); return nil },
	"writes half":        func(int, map[string]any) any { return json.RawMessage(`{"id":1,`) },
	"complains":          func(_ int, a map[string]any) any { fmt.Fprint(os.Stderr, strings.Repeat("x", 10_000)); return a },
	"changes later":      when(func(n int) bool { return n > 300 }, wrong, right),
	"is moody":           when(func(n int) bool { return n%7 == 0 }, wrong, right),
	"needs each field":   wrong,
	"closes its input":   when(func(n int) bool { return n == 5 }, func(_ int, a map[string]any) any { os.Stdin.Close(); return a }, right),
	"ignores signals": func(_ int, a map[string]any) any {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
		return a
	},
	"stays":          right,
	"leaves a child": right,
}

// change changes the numbers of an answer but for its id.
func change(a map[string]any, number func(float64) any) any {
	for name, value := range a {
		if n, ok := value.(json.Number); ok && name != "id" {
			x, _ := n.Float64()
			a[name] = number(x)
		}
	}
	return a
}

// serve answers with a fault.
func serve(fault string) {
	out := bufio.NewWriter(os.Stdout)
	lines, end := bufio.NewReader(os.Stdin), "\n"
	if fault == "leaves a child" {
		child := exec.Command("sleep", "300")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		_ = child.Start()
	}
	var waiting []any
	for n := 0; ; n++ {
		question, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		if fault == "needs each field" && !strings.Contains(string(question), `"pending"`) {
			os.Exit(1)
		}
		data, _ := oracle.Answer(question)
		var answer any
		switch changed := faults[fault]; fault {
		case "swaps":
			var first any
			_ = json.Unmarshal(data, &first)
			if waiting = append(waiting, first); len(waiting) < 2 {
				continue
			}
			_ = json.NewEncoder(out).Encode(waiting[1])
			answer, waiting = waiting[0], nil
		case "ends lines with CRLF", "starts with a mark", "buffers":
			answer = json.RawMessage(data)
		default:
			var fields map[string]any
			numbers := json.NewDecoder(bytes.NewReader(data))
			numbers.UseNumber() // some exceed a float64
			_ = numbers.Decode(&fields)
			answer = changed(n, fields)
		}
		if fault == "ends lines with CRLF" {
			end = "\r\n"
		}
		if fault == "starts with a mark" && n == 0 {
			_, _ = out.WriteString("\ufeff")
		}
		if text, ok := answer.(json.RawMessage); ok {
			_, _ = out.WriteString(string(text) + end)
		} else if answer != nil {
			_ = json.NewEncoder(out).Encode(answer)
		}
		if fault != "buffers" {
			_ = out.Flush()
		}
	}
	_ = out.Flush()
	if fault == "stays" || fault == "ignores signals" {
		time.Sleep(10 * time.Minute)
	}
}

func runFault(ctx context.Context, fault string, options Options) (*Report, error) {
	return Run(ctx, []string{os.Args[0], "program:" + fault}, options)
}

// Each program that cannot be compared is told what to do, at once.
func TestFailures(t *testing.T) {
	const form, order = `in place of an answer such as {"id":1,"effectiveMaxScale":`, "; answer each question once, in the order of the questions; it was asked"
	for fault, problem := range map[string]string{
		"hangs": "no answer within 1s of its start; a program that starts slowly needs a longer --timeout; it was asked", "hangs later": "no answer within 1s; it was asked", "answers to nothing": "no answer within 1s", "prints empty lines": "no answer within 1s",
		"needs each field": "without an answer: exit status 1", "ends": "without an answer: exit status 0", "dies later": "without an answer: exit status 7", "is wrong and dies": "without an answer: exit status 7", "closes its input": "it closed its output without an answer: exit status 0",
		"skips one": order, "answers twice": order, "swaps": order, "buffers": "but one when its input was closed: write each answer at once, flush the output after each line", "prints megabytes": "xxx… (a line may have fewer than 1048576 bytes); it was asked",
		"adds a line": "it printed done; it was asked", "dies within a line": `it printed {"id":1; it ended: exit status 7; it was asked`, "says hello": "it printed hello; it was asked", "prints lines": "it printed {}; it was asked", "writes half": `it printed {"id":1,; it was asked`, "writes NaN": form, "writes texts": form, "writes null": form, "writes true": form, "writes a list": form,
		"has no answer": form, "has no id": form, "has texts as ids": form,
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute // a busy machine is slow
			if strings.HasPrefix(problem, "no answer") || fault == "buffers" {
				timeout = time.Second
			}
			report, err := runFault(t.Context(), fault, Options{Levels: []string{"strategy"}, Questions: 50, Timeout: timeout})
			require.ErrorContains(t, err, problem)
			require.Equal(t, err.Error(), report.Failure)
			require.False(t, report.Conforms())
			require.Equal(t, "failed", report.Levels[0].Verdict)
			if fault == "dies later" {
				require.Equal(t, 30, report.Levels[0].Vectors.Right)
				require.Contains(t, report.Stderr, "out of")
			}
			if fault == "is wrong and dies" {
				require.Equal(t, 30, report.Levels[0].Vectors.Wrong)
				require.Len(t, report.Levels[0].Differences, shown, "those before the failure")
			}
		})
	}
}

// Programs that answer are judged by their answers alone.
func TestVerdicts(t *testing.T) {
	for fault, verdict := range map[string]string{
		"is right": "conforms", "has more fields": "conforms", "has nulls": "conforms", "writes 3 as 3.0": "conforms", "ends lines with CRLF": "conforms", "starts with a mark": "conforms", "complains": "conforms", "is slow": "conforms",
		"ignores signals": "conforms", "stays": "conforms", "leaves a child": "conforms", "supports most": "conforms",
		"has fractions": "differs", "only has errors": "differs", "changes later": "differs", "is moody": "differs", "supports nothing": "unsupported", "supports a quarter": "unsupported",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			report, err := runFault(t.Context(), fault, Options{Levels: []string{"strategy"}, Questions: 200, Timeout: time.Minute})
			require.NoError(t, err)
			require.Equal(t, verdict, report.Levels[0].Verdict, "%+v", report)
			require.Equal(t, verdict == "conforms", report.Conforms())
			if fault == "supports nothing" {
				require.Equal(t, Level{Name: "strategy", Verdict: verdict, Vectors: Tally{Unsupported: 297}, Random: Tally{Unsupported: 200}, Properties: Tally{Unsupported: 9}}, report.Levels[0])
			}
			require.Less(t, time.Since(began), 4*time.Minute, "a program that stays is stopped")
		})
	}
}

// An interrupt ends the program too.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := runFault(ctx, "hangs", Options{Levels: Levels(), Timeout: time.Minute})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 20*time.Second)
}

// Every vector is a fair question for a rule.
func TestVectors(t *testing.T) {
	for level, count := range map[string]int{"strategy": 297, "decision": 128, "history": 24, "rollout": 37} {
		list := vectors(level)
		require.Len(t, list, count, level)
		for _, v := range list {
			require.Positive(t, v.rule, v.name)
		}
	}
}

// Fair random questions are common, and so is each kind of answer.
func TestRandomQuestions(t *testing.T) {
	for _, level := range append(Levels(), "2.8", "2.21") {
		random := generator{rand.New(rand.NewPCG(1, 0)), vectors(level)}.vectors(2000)
		require.Len(t, random, 2000)
		something, others := 0, map[string]bool{}
		for _, v := range random {
			others[v.question.String()] = true
			if v.right.value != "0" && v.right.value != "[]" {
				something++
			}
		}
		require.Greater(t, something, 300, level)
		require.Greater(t, len(others), 1000, level)
	}
}

// The Jobs of a random question have different names, also if some names end with a digit.
func TestRandomNames(t *testing.T) {
	jobs := make([]any, 12)
	for i := range jobs {
		jobs[i] = map[string]any{"name": []string{"a", "a1"}[i%2]}
	}
	random := generator{Rand: rand.New(rand.NewPCG(1, 0))}
	for range 100 {
		names := map[any]bool{}
		for _, j := range random.mix([]any{jobs}).([]any) {
			names[j.(map[string]any)["name"]] = true
		}
		require.Len(t, names, len(jobs))
	}
}

// A wrong answer leads to its smallest question and to its rule.
func TestShrinks(t *testing.T) {
	n := func(text string) json.Number { return json.Number(text) }
	q := question{"kind": "create", "running": n("3"), "hold": true, "maxReplicaCount": n("2e9"), "min": "floor", "strategy": "eager",
		"scalers": []any{map[string]any{"queueLength": n("30"), "target": n("3")}, map[string]any{"queueLength": n("9"), "target": n("2"), "activationTarget": n("5")}}}
	d, err := (&Difference{Question: q}).shrink(func(q question) (*Difference, bool, error) {
		if _, fair := q.right(); !fair || q["min"] != "floor" || len(q["scalers"].([]any)) == 0 {
			return nil, false, nil
		}
		return &Difference{Question: q}, true, nil
	})
	require.NoError(t, err)
	require.Equal(t, `{"kind":"create","min":"floor","scalers":[{"queueLength":0,"target":0}]}`, d.Question.String())
	require.Contains(t, d.Question.likely(vectors("decision"), nil), rules()[20])
	wrong := map[string]bool{}
	for _, v := range vectors("strategy") {
		wrong[v.name] = v.rule == 3
	}
	require.Equal(t, 3, question{"kind": "strategy", "strategy": "eager", "running": n("-1")}.likely(vectors("strategy"), wrong)[0].Number, "the formula")
}

// The port in Python conforms, and a fault of it is found with its rule.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, testdata.Files))
	program := []string{python, "-B", filepath.Join(folder, "python", "scaledjob.py")}
	options := Options{Levels: Levels(), Questions: 1000, Timeout: time.Minute}
	report, err := Run(t.Context(), program, options)
	require.NoError(t, err)
	require.True(t, report.Conforms(), "%+v", report)

	port := filepath.Join(folder, "python", "scaledjob.py")
	text, err := os.ReadFile(port)
	require.NoError(t, err)
	const rule = "pair[1]))"
	require.Contains(t, string(text), rule)
	require.NoError(t, os.WriteFile(port, []byte(strings.ReplaceAll(string(text), rule, "-pair[1]))")), 0o600)) // a tie goes to the higher target
	report, err = Run(t.Context(), program, options)
	require.NoError(t, err)
	for i, verdict := range []string{"conforms", "differs", "conforms", "conforms"} {
		require.Equal(t, verdict, report.Levels[i].Verdict)
	}
	difference := report.Levels[1].Differences[0]
	require.Equal(t, 11, difference.Rules[0].Number, "%+v", difference)
	require.Contains(t, difference.String(), "Of equal queues the lower target counts")
	require.Contains(t, difference.String(), "  trace     metrics")
}
