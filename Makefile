FUZZTIME  ?= 5s
BENCHTIME ?= 1s
SOAK      ?= 1m
BESIDE    ?= 20m
HOSTILE   ?= 30s
SCALEDJOBS ?= 500
# What make mutate changes.
PACKAGES ?= ./slots ./strategy ./scaling ./history ./rollout ./placement/jobs ./placement/replicas ./placement/apportion ./placement/taint ./schedule ./keda
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = go run golang.org/x/vuln/cmd/govulncheck@v1.9.0
GORELEASER = go run github.com/goreleaser/goreleaser/v2@v2.16.0
GREMLINS   = go run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
ACTIONLINT = go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
CYCLONEDX  = go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
# Of vuln.go.dev, as a directory: CI caches it.
VULNDB ?= $(HOME)/.cache/vulndb
# Of the stripped command, in bytes.
MAXIMUM = 38000000
# The lists of modules come from go.work, which explains the words. Modules of the workspace:
USED     := $(shell awk '$$1 ~ /^\.(\/|$$)/ {print $$1}' go.work)
# $(call with,WORD): all modules with the word, also those outside of the workspace.
with      = $(shell awk '{sub(/^[ \t]*\/\/[ \t]*\./, "."); sub(/ \/\//, "")} $$1 ~ /^\.(\/|$$)/ && / $(1)( |$$)/ {print $$1}' go.work)
ALONE    := $(shell awk '$$1 == "//" && $$2 ~ /^\.\// {print $$2}' go.work)
# Tested with the race detector, fuzzed and benchmarked.
PURE     := $(filter-out $(call with,keda) $(call with,cluster),$(USED))
# Their packages, without tests that need a control plane.
PACKAGED  = $$(go list $(PURE:%=%/...) | grep -v /e2e$$)
# Of KEDA, besides the newest.
RELEASES = $(patsubst test/conformance/releases/%.mod,%,$(wildcard test/conformance/releases/*.mod))
CONFORM = go test -count=1 -v -timeout 30m -rapid.nofailfile

.PHONY: ci test update modules weekly oldest check race fuzz bench conformance conformance-all recordings newest e2e e2e-all e2e-oldest beside resources soak agree hostile law overload mutate cluster fleet \
	release release-check compare licenses vulnerabilities peers snapshot archives images image-check

# What .ci/run runs. What takes longer is in weekly.
ci: test check modules conformance e2e image-check

weekly: oldest race bench e2e-all soak licenses compare release-check

test:
	go test ./...

# The library with the oldest versions of its requirements: the workspace selects the newest.
oldest:
	@set -e; for m in . ./adapter; do (cd $$m && GOWORK=off go test -short -timeout 30m ./...); done

check:
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	@set -e; for m in $(USED); do echo "check $$m"; \
	(cd $$m && go mod tidy -diff && go vet ./... && $(STATICCHECK) ./...); done
	@echo "check what is generated"; before="$$(git diff | sha256sum)"; go generate ./... && test "$$before" = "$$(git diff | sha256sum)"
	@set -e; for m in $(ALONE); do echo "check $$m"; (cd $$m && GOWORK=off go mod tidy -diff); done
	$(ACTIONLINT)

# Writes what is generated or pinned, in all modules.
update:
	go generate ./...
	UPDATE=1 go test -count=1 ./placement/jobs ./test ./internal/tools/...
	cd cmd/scaledjob && UPDATE=1 go test -count=1 . ./oracle ./internal/triggers && go test -count=1 ./lint -update

# Of the root, only the packages that TestImports allows to be concurrent, and of the command only what
# runs beside something else. The other tests of study run the same goroutines for longer. With -short
# properties have a tenth of their draws: a race does not need many cases.
race:
	go test -race -short -timeout 30m ./field ./simulation ./strategy/... ./cmd/scaledjob/internal/cluster \
	$$(go list $(patsubst %,%/...,$(filter-out . ./internal/tools ./cmd/scaledjob,$(PURE))) | grep -v /e2e$$)
	go test -race -run 'TestSameBytes|TestErrors|TestReplicate|TestTraces' ./simulation/study
	go test -race -run Interrupt ./cmd/scaledjob

# Before Go 1.27 the end of -fuzztime may be told as a failure of a target that has
# found nothing (go.dev/issue/75804).
fuzz:
	@set -e; for p in $(PACKAGED); do \
	for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do echo "fuzz $$p $$f"; \
	go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p >fuzz.out 2>&1 || { cat fuzz.out; \
	grep -q '^    context deadline exceeded$$' fuzz.out && ! grep -q 'Failing input' fuzz.out || exit 1; }; \
	tail -n 1 fuzz.out; done; done; rm -f fuzz.out

# The quickstart, and the tests of all other modules that need no control plane.
modules:
	go run ./examples/quickstart
	go test -count=1 -timeout 30m $$(go list $(patsubst %,%/...,$(filter-out .,$(PURE))) | grep -v /e2e$$)

bench:
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) $(PACKAGED)

conformance:
	cd test/conformance && $(CONFORM) . ./triggers
	cd test/conformance/horizontal && GOWORK=off go test -count=1 .

# What the HPA and KEDA do, for testdata; make conformance compares.
recordings:
	cd test/conformance && RECORDINGS=$(CURDIR)/testdata/recordings go test -count=1 -run TestRecording .
	cd test/conformance/horizontal && RECORDINGS=$(CURDIR)/testdata/recordings GOWORK=off go test -count=1 -run TestRecording .

conformance-all: conformance
	cd test/conformance/horizontal && GOWORK=off go test -count=1 -timeout 60m . -polls 100000 && \
	GOWORK=off go test -count=1 -modfile=releases/1.35.mod -tags=kubernetes1.35 -timeout 60m . -polls 100000
	cd test/conformance && GOWORK=off $(CONFORM) -tags=scalers -run 'TestConstructedTriggers|TestTriggersWithoutTarget' .
	@set -e; cd test/conformance; for r in $(RELEASES); do echo "KEDA $$r"; \
	GOWORK=off $(CONFORM) -modfile=releases/$$r.mod -tags=older,keda$$r .; done
	cd test/conformance/aggregate && GOWORK=off $(CONFORM) . && GOWORK=off $(CONFORM) -modfile=releases/2.7.mod -tags=keda2.7 .

# Fails if KEDA has a release that package keda does not know. It asks the module proxy.
newest:
	cd test/conformance && go test -count=1 -run TestNewestRelease . -newest

# The tests on a real control plane that CI has time for. make e2e-all runs all of them, each week.
QUICK = TestAdapter|TestInstall|TestDistributedScaledJob|TestDistributedScaledObject|TestExplainCluster|TestFaults|TestOwnController|TestQueues
e2e:
	$(MAKE) e2e-all RUN='^($(QUICK))$$$$'

# A test that fails runs a second time; the last lines name it. Tests on a control plane compete with it
# for processors: a flaky one must neither lose a run of hours nor be hidden. A program that died has
# tests that never ran, and fails.
RUN ?= .
e2e-all:
	GOBIN=$(CURDIR) go install gotest.tools/gotestsum@v1.13.0 && mv gotestsum retry.out
	@set -e; again() { rm -f again.out; r=0; \
	$(CURDIR)/retry.out --format standard-verbose --jsonfile=events.out --rerun-fails=1 --rerun-fails-run-root-test \
	--rerun-fails-report=again.out --packages="$$1" -- -count=1 -run '$(RUN)' $$2 || r=$$?; cat again.out 2>/dev/null || true; \
	! grep -E '"Output":"(fatal error: |signal: |\*\*\* Test killed)' events.out || r=1; rm -f again.out events.out; test $$r = 0; }; \
	for m in $(call with,cluster); do (cd $$m; again ./... '-timeout 40m'); done; \
	for m in $(PURE); do cd $$m; p=$$(go list ./... | grep /e2e$$ || true); \
	test -z "$$p" || again "$$p" '-p 2 -timeout 30m'; cd $(CURDIR); done

# The tests of the adapter and the command on an older Kubernetes.
e2e-oldest:
	cd test/e2e && SCALEDJOB_KUBERNETES=1.31 go test -count=1 -v -timeout 60m . ./cluster

# KEDA's operator on the control plane with a real Redis and RabbitMQ: each poll of its log, and each
# deletion of a Job, is computed again. 11 CPU minutes for the operator the first time. SCALEDJOB_KEDA=2.18.3
# selects another release.
beside:
	cd test/e2e && go test -count=1 -v -run 'TestBeside(Operator|SameJobs)' -timeout 90m . -beside $(BESIDE)
	cd controllers && go test -count=1 -v -run TestBesideKEDA -timeout 20m ./scaledjob-controller/e2e -beside

# The numbers of docs/benchmarks.md: KEDA's operator, then controllers/scaledjob-controller.
resources:
	@set -e; cd test/e2e; for n in 0 100 200 1000; do for which in -operator ""; do \
	go test -count=1 -v -run 'TestSoak$$' -timeout 60m . -soak 30s -scaledjobs $$n $$which; done; done

soak:
	cd test/e2e && go test -count=1 -v -run TestSoak -timeout 90m . -soak $(SOAK) -scaledjobs $(SCALEDJOBS)

# A tenant's hostile resources, for HOSTILE, against the controllers on the control plane.
hostile:
	cd controllers && go test -count=1 -v -run TestHostileTenant -timeout 30m ./scaledjob-controller/e2e -hostile $(HOSTILE)

# The time of healthy ScaledJobs beside failing ones, on the control plane, and who is named.
law:
	cd controllers && go test -count=1 -v -run 'TestFailingNumbers|TestCulprit' -timeout 40m ./scaledjob-controller/e2e -law

# A jump to SCALEDJOBS times ten Jobs, on an API server that answers few requests at a time.
overload:
	cd controllers && go test -count=1 -v -run TestOverload -timeout 30m ./scaledjob-controller/e2e -overload $(SCALEDJOBS)

# A real run on the control plane, compared with simulated runs.
agree:
	cd controllers && go test -count=1 -v -run TestAgreesWithSimulation -timeout 20m ./scaledjob-controller/e2e -agree

# Changes the packages in small ways, and prints the changes that no test notices. Outside of the workspace, whose
# go.work.sum would get the tool's requirements.
mutate:
	@set -e; for p in $(PACKAGES); do echo "mutate $$p"; GOWORK=off RAPID_SEED=1 GOFLAGS=-short $(GREMLINS) unleash --workers 2 --test-cpu 1 $(ARGS) $$p; done

# Makes a commit without replace directives beside the branch, and the tags of the modules. It
# pushes nothing, and prints the commands that do.
# The manifests name IMAGES='scaledjob-controller=REGISTRY/NAME@sha256:DIGEST ...' by digest.
release:
	go run ./internal/tools/release '$(VERSION)' $(IMAGES)

# Publishes HEAD to a module proxy in a temporary directory, and installs and imports it from there.
release-check:
	go run ./internal/tools/release check

# The incompatible changes of the Go API since the newest release: CHANGELOG.md must name each.
compare:
	go run ./internal/tools/release compare

# The licenses of the dependencies.
licenses:
	go run ./internal/tools/release licenses

# Known vulnerabilities in code that the modules call. Those of modules with KEDA are KEDA's: they
# are reported, and do not fail.
vulnerabilities:
	@VULNDB='$(VULNDB)' GOVULNCHECK='$(GOVULNCHECK)' KEDA='$(call with,keda)' ALONE='$(ALONE)' \
	internal/tools/vulnerabilities.sh $(filter-out $(call with,programs),$(USED) $(ALONE))

# The library beside KEDA's executor and Karmada's division of replicas: the table of docs/benchmarks.md.
peers:
	cd test/conformance && go test -count=1 -run 'TestPeers$$' . -peers

# Builds the archives of a release for all platforms, without publishing them.
snapshot:
	$(GORELEASER) check
	$(GORELEASER) build --snapshot --clean --parallelism 1

# Builds the archives of the tag that is checked out, with the list of their parts (SBOM). The
# release workflow publishes them.
archives:
	$(GORELEASER) release --clean --skip=publish
	cd cmd/scaledjob && GOWORK=off $(CYCLONEDX) app -json -licenses -output $(CURDIR)/dist/scaledjob_sbom.cdx.json .
	cd dist && sha256sum scaledjob_sbom.cdx.json >>checksums.txt # what is in it is attested

# An image of each controller as a file, and its install manifest.
images:
	mkdir -p dist/images
	@set -e; for c in scaledjob-controller multicluster scheduled redis-operator; do \
	i=$$(sed -n 's/^# docker build -t \([^: ]*\).*/\1/p' controllers/$$c/Dockerfile); \
	docker build -t ghcr.io/scaledjob/$$i:$(VERSION) -f controllers/$$c/Dockerfile . ; \
	docker save -o dist/images/$$i.tar ghcr.io/scaledjob/$$i:$(VERSION); done
	cd controllers && go run ./internal/install $(VERSION) $(CURDIR)/dist
	cd dist && sha256sum scaledjob-controller.yaml multicluster.yaml scheduled.yaml redis-operator.yaml >>checksums.txt

# The steps of the Dockerfile without a container engine.
image-check:
	CGO_ENABLED=0 GOWORK=off go build -C cmd/scaledjob -trimpath -ldflags '-s -w' -o $(CURDIR)/image.out .
	@! ldd image.out 2>/dev/null || { echo "image.out is not static"; exit 1; }
	./image.out version
	@size=$$(wc -c <image.out); echo "$$size bytes"; test "$$size" -le $(MAXIMUM) || { echo "above $(MAXIMUM) bytes"; exit 1; }

# Not with go run, which passes SIGTERM on to nobody.
cluster:
	@go build -o cluster.out ./test/e2e/cluster/run
	@exec ./cluster.out $(ARGS)

# A home cluster and three members, for controllers/multicluster.
fleet:
	@go build -o fleet.out ./controllers/multicluster/local
	@exec ./fleet.out $(ARGS)
