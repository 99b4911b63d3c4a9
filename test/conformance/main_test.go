package conformance

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/scaledjob/scaledjob/keda"
)

// checks is how many random cases each test tries, unless -rapid.checks says
// otherwise.
const checks = "20000"

var (
	profile keda.Profile // of the release that the module requires
	scheme  = k8sruntime.NewScheme()

	cases, differences atomic.Int64
)

// requestJobScale is what an operator does in one poll once it knows what its
// scalers ask for.
type requestJobScale func(j *v1alpha1.ScaledJob, active bool, scaleTo, maxScale int64)

func TestMain(m *testing.M) {
	log.SetLogger(logr.FromSlogHandler(slog.DiscardHandler)) // a sink, which controller-runtime of 2.8 needs
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	var err error
	if profile, err = keda.Release(required(executor.NewScaleExecutor)); err != nil {
		panic(err)
	}
	flag.Parse()
	setDefault("rapid.checks", checks)
	status := m.Run()
	fmt.Printf("| %s | %d cases | %d differences |\n", profile.Release(), cases.Load(), differences.Load())
	os.Exit(status)
}

// setDefault sets a flag that the command line does not.
func setDefault(name, value string) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

// required returns the version of the module that a function was compiled from:
// the path of its file has it.
func required(function any) string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).FileLine(0)
	_, version, _ := strings.Cut(file, "@")
	version, _, _ = strings.Cut(version, "/")
	return version
}

// tb is what tests and random tests have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// same counts a case, and fails where the model is not what KEDA is. of tells
// the case, and is called then only.
func same[T comparable](t tb, model, operator T, of func() string) {
	cases.Add(1)
	if model != operator {
		t.Helper()
		differences.Add(1)
		t.Fatalf("model %v, KEDA %v: %s", model, operator, of())
	}
}

// panics runs f and reports whether it panicked.
func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return
}
