FUZZTIME  ?= 5s
BENCHTIME ?= 1s
SOAK      ?= 10m
SCALEDJOBS ?= 2000
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
EXAMPLES = examples/controller examples/multicluster examples/redis-operator examples/scheduled
MODULES = . cmd/scaledjob conformance e2e $(EXAMPLES)
# Modules that are not in the workspace: each builds another program at its own versions.
ALONE = conformance/aggregate e2e/binaries/etcd e2e/binaries/kubernetes
# Of KEDA, besides the newest.
RELEASES = 2.8 2.13 2.16 2.18 2.19 2.20
CONFORM = go test -count=1 -v -timeout 30m -rapid.nofailfile

.PHONY: ci test check race fuzz examples bench conformance conformance-all e2e soak cluster fleet

ci: test check race fuzz examples bench conformance e2e

test:
	go test ./...

check:
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	@set -e; for m in $(MODULES); do echo "check $$m"; \
	(cd $$m && go mod tidy -diff && go vet ./... && $(STATICCHECK) ./...); done
	@echo "check what is generated"; cd examples/redis-operator; \
	sums() { find api config -type f | sort | xargs sha256sum; }; before="$$(sums)"; \
	go generate ./... && test "$$before" = "$$(sums)"
	@set -e; for m in $(ALONE); do echo "check $$m"; (cd $$m && GOWORK=off go mod tidy -diff); done

race:
	go test -race $$(go list ./... ./cmd/scaledjob/... $(EXAMPLES:%=./%/...) | grep -v /e2e$$)

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
	cd conformance && $(CONFORM) .

conformance-all: conformance
	@set -e; cd conformance; for r in $(RELEASES); do echo "KEDA $$r"; \
	GOWORK=off $(CONFORM) -modfile=releases/$$r.mod -tags=keda$$r .; done
	cd conformance/aggregate && GOWORK=off $(CONFORM) . && GOWORK=off $(CONFORM) -modfile=releases/2.7.mod -tags=keda2.7 .

e2e:
	cd e2e && go test -count=1 -v -timeout 40m ./...
	@set -e; for m in $(EXAMPLES); do (cd $$m && go test -count=1 -v -timeout 20m ./e2e); done

soak:
	cd e2e && go test -count=1 -v -run TestSoak -timeout 90m . -soak $(SOAK) -scaledjobs $(SCALEDJOBS)

# Not with go run, which passes SIGTERM on to nobody.
cluster:
	@go build -o cluster.out ./e2e/cluster/run
	@exec ./cluster.out $(ARGS)

# A home cluster and three members, for examples/multicluster.
fleet:
	@go build -o fleet.out ./examples/multicluster/local
	@exec ./fleet.out $(ARGS)
