FUZZTIME  ?= 5s
BENCHTIME ?= 1s
SOAK      ?= 10m
SCALEDJOBS ?= 2000
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
MODULES = . e2e

.PHONY: ci test check race fuzz examples bench e2e soak cluster

ci: test check race fuzz examples bench e2e

test:
	go test ./...

check:
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	@set -e; for m in $(MODULES); do echo "check $$m"; \
	(cd $$m && go mod tidy -diff && go vet ./... && $(STATICCHECK) ./...); done; \
	for m in e2e/binaries/*; do echo "check $$m"; (cd $$m && GOWORK=off go mod tidy -diff); done

race:
	go test -race ./...

fuzz:
	@set -e; for p in $$(go list ./...); do \
	for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	echo "fuzz $$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p; done; done

examples:
	go run ./examples/quickstart

bench:
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...

e2e:
	cd e2e && go test -count=1 -v -timeout 40m ./...

soak:
	cd e2e && go test -count=1 -v -run TestSoak -timeout 90m . -soak $(SOAK) -scaledjobs $(SCALEDJOBS)

cluster:
	go run ./e2e/cluster/run
