FUZZTIME  ?= 5s
BENCHTIME ?= 1s
SOAK      ?= 1m
SCALEDJOBS ?= 500
# Of the mutation tests: what to mutate, other packages whose tests count, the number of mutants
# to draw in each package (0 is all), the seed of the sample, and a commit to mutate only the
# lines changed since then.
PACKAGES ?= ./strategy ./scaling ./history ./rollout ./placement/jobs ./placement/replicas ./placement/apportion ./placement/taint ./schedule ./keda ./adapter
TESTS    ?=
SAMPLE   ?= 0
SEED     ?= 1
BASE     ?=
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = go run golang.org/x/vuln/cmd/govulncheck@v1.9.0
GORELEASER = go run github.com/goreleaser/goreleaser/v2@v2.16.0
# Of the stripped command, in bytes.
MAXIMUM = 38000000
EXAMPLES = examples/controller examples/multicluster examples/redis-operator examples/scheduled
MODULES = . cmd/scaledjob conformance e2e mutate release $(EXAMPLES)
# Modules that are not in the workspace: each builds another program at its own versions.
ALONE = conformance/aggregate e2e/binaries/etcd e2e/binaries/kubernetes e2e/binaries/kubernetes-1.31
# Of KEDA, besides the newest.
RELEASES = 2.8 2.13 2.16 2.18 2.19 2.20
CONFORM = go test -count=1 -v -timeout 30m -rapid.nofailfile

.PHONY: ci test check race fuzz examples bench conformance conformance-all newest e2e e2e-oldest soak scale agree mutate cluster fleet \
	release release-check compare licenses vulnerabilities peers snapshot publish image-check

ci: test check race fuzz examples bench conformance e2e release-check compare licenses image-check

test:
	go test ./... ./mutate/... ./release/...

check:
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	@set -e; for m in $(MODULES); do echo "check $$m"; \
	(cd $$m && go mod tidy -diff && go vet ./... && $(STATICCHECK) ./...); done
	@echo "check what is generated"; cd examples/redis-operator; \
	sums() { find api config -type f | sort | xargs sha256sum; }; before="$$(sums)"; \
	go generate ./... && test "$$before" = "$$(sums)"
	@set -e; for m in $(ALONE); do echo "check $$m"; (cd $$m && GOWORK=off go mod tidy -diff); done

race:
	go test -race $$(go list ./... ./cmd/scaledjob/... ./mutate/... $(EXAMPLES:%=./%/...) | grep -v /e2e$$)

# Before Go 1.27 the end of -fuzztime may be told as a failure of a target that has
# found nothing (go.dev/issue/75804).
fuzz:
	@set -e; for p in $$(go list ./... ./cmd/scaledjob/...); do \
	for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do echo "fuzz $$p $$f"; \
	go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p >fuzz.out 2>&1 || { cat fuzz.out; \
	grep -q '^    context deadline exceeded$$' fuzz.out && ! grep -q 'Failing input' fuzz.out || exit 1; }; \
	tail -n 1 fuzz.out; done; done; rm fuzz.out

examples:
	go run ./examples/quickstart
	cd cmd/scaledjob && go test -count=1 ./...
	@set -e; for m in $(EXAMPLES); do (cd $$m && go test -count=1 $$(go list ./... | grep -v /e2e$$)); done

bench:
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) ./... ./cmd/scaledjob/...

conformance:
	cd conformance && $(CONFORM) . ./triggers

conformance-all: conformance
	cd conformance && GOWORK=off $(CONFORM) -tags=scalers -run 'TestConstructedTriggers|TestTriggersWithoutTarget' .
	@set -e; cd conformance; for r in $(RELEASES); do echo "KEDA $$r"; \
	GOWORK=off $(CONFORM) -modfile=releases/$$r.mod -tags=keda$$r .; done
	cd conformance/aggregate && GOWORK=off $(CONFORM) . && GOWORK=off $(CONFORM) -modfile=releases/2.7.mod -tags=keda2.7 .

# Fails if KEDA has a release that package keda does not know. It asks the module proxy.
newest:
	cd conformance && go test -count=1 -run TestNewestRelease . -newest

e2e:
	cd e2e && go test -count=1 -v -timeout 40m ./...
	@set -e; for m in $(EXAMPLES); do (cd $$m && go test -count=1 -v -timeout 20m ./e2e); done

# The tests of the adapter and the command on an older Kubernetes.
e2e-oldest:
	cd e2e && SCALEDJOB_KUBERNETES=1.31 go test -count=1 -v -timeout 60m . ./cluster

soak:
	cd e2e && go test -count=1 -v -run TestSoak -timeout 90m . -soak $(SOAK) -scaledjobs $(SCALEDJOBS)

# Without a control plane, which would be the bottleneck.
scale:
	cd examples/controller && go test -count=1 -v -run TestScale -timeout 30m ./e2e -scale 10000

# A real run on the control plane, compared with simulated runs.
agree:
	cd examples/controller && go test -count=1 -v -run TestAgreesWithSimulation -timeout 20m ./e2e -agree

# Continues where the run before stopped: the results are in mutants.out.
mutate:
	@go build -o mutate.out ./mutate
	@./mutate.out -equivalent mutate/equivalent.txt -tests '$(TESTS)' -sample $(SAMPLE) -seed $(SEED) -changed '$(BASE)' $(ARGS) $(PACKAGES)

# Makes a commit without replace directives beside the branch, and the tags of the modules. It
# pushes nothing: git push origin v0.1.0 cmd/scaledjob/v0.1.0
release:
	go run ./release '$(VERSION)'

# Publishes HEAD to a module proxy in a temporary directory, and installs and imports it from there.
release-check:
	go run ./release check

# The incompatible changes of the Go API since the newest release: CHANGELOG.md must name each.
compare:
	go run ./release compare

# The licenses of the dependencies.
licenses:
	go run ./release licenses

# Known vulnerabilities in code that the released modules call. It asks vuln.go.dev.
vulnerabilities:
	@set -e; for m in . cmd/scaledjob; do (cd $$m && $(GOVULNCHECK) ./...); done

# The library beside KEDA's executor and Karmada's division; ARGS='-kubeconfig FILE' creates Jobs too.
peers:
	cd bench && GOWORK=off go run . $(ARGS)

# Builds the archives of a release for all platforms, without publishing them.
snapshot:
	$(GORELEASER) check
	$(GORELEASER) build --snapshot --clean --parallelism 1

# Publishes the archives of the tag that is checked out.
publish:
	$(GORELEASER) release --clean

# The steps of the Dockerfile without a container engine.
image-check:
	CGO_ENABLED=0 GOWORK=off go build -C cmd/scaledjob -trimpath -ldflags '-s -w' -o $(CURDIR)/image.out .
	@! ldd image.out 2>/dev/null || { echo "image.out is not static"; exit 1; }
	./image.out version
	@size=$$(wc -c <image.out); echo "$$size bytes"; test "$$size" -le $(MAXIMUM) || { echo "above $(MAXIMUM) bytes"; exit 1; }

# Not with go run, which passes SIGTERM on to nobody.
cluster:
	@go build -o cluster.out ./e2e/cluster/run
	@exec ./cluster.out $(ARGS)

# A home cluster and three members, for examples/multicluster.
fleet:
	@go build -o fleet.out ./examples/multicluster/local
	@exec ./fleet.out $(ARGS)
