# Fawn: build, checks and the jobs around them. `make help` lists the targets.
# run, build and test need Go. The race detector needs a C compiler, the end-to-end tests Node,
# Python and Chromium. `.ci/run` installs what is missing.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
ADDR     ?= 127.0.0.1:2026
FUZZTIME ?= 5s
DIST     ?= dist
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
GOBUILD  := CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)'

# Tests are compiled as the release is, so that each package is compiled once. Without debug information they link in half the time.
GOTEST := CGO_ENABLED=0 go test -trimpath -vet=off -ldflags '-s -w'

# These begin first, so that they aren't left to run alone at the end.
FIRST := ./web ./agent/runs ./web/history ./agent/channels ./web/attack

# SQLite is C translated to Go. The race detector leaves it out, which makes tests that use it five times as fast.
UNWATCHED := $(foreach p,modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory,-gcflags=$(p)=-race=false)
GORACE := CGO_ENABLED=1 go test -race -trimpath -vet=off $(UNWATCHED)

.PHONY: help install generate build run gateway dev test race fuzz lint cross format e2e e2e-gate bench bench-cluster \
  nightly nightly-race nightly-fuzz nightly-cluster nightly-e2e nightly-attack nightly-release nightly-soak corpus docker release clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{printf "  %-16s %s\n", $$1, $$2}'

install: ## fetch the Go modules and the packages of the end-to-end tests
	go mod download
	cd web/e2e && npm ci --no-audit --no-fund

generate: ## make the Go code of the templates, the script and style bundles, the list of licences and the sandbox's first process
	go tool templ generate -path ./views
	sh assets/build.sh
	go run ./assets/notices
	sh sandbox/initbin/build.sh

build: ## compile bin/fawn: one static binary with the web UI inside
	@mkdir -p bin
	$(GOBUILD) -o bin/fawn .
	@echo "bin/fawn: $$(($$(wc -c <bin/fawn) / 1000000)) MB"

run: build ## build and serve on ADDR (127.0.0.1:2026)
	./bin/fawn serve --addr $(ADDR)

gateway: ## same as run: one process serves the web UI and every API
	@echo "One process serves the web UI, the gateway API and the LangGraph API."
	@$(MAKE) run

dev: ## serve and build again when a template or a Go file changes, proxied on 127.0.0.1:7331
	go tool templ generate --watch -path ./views --proxy=http://$(ADDR) --cmd="go run . serve --addr $(ADDR)"

# Random input is the same each time and tests run in the order of their files, so that results of packages that haven't
# changed are kept: go test keeps none of shuffled tests. The nightly parts shuffle and look for more.
test: export RAPID_SEED := 1
# The go commands that tests run have these as well, so that each package is compiled once.
test: export CGO_ENABLED := 0
test: export GOFLAGS = $(shell go env GOFLAGS) -trimpath
test: ## unit tests and those of the whole program, a few minutes; needs nothing but Go
	@go run ./.ci/report $(GOTEST) -json -timeout 30m $(FIRST) ./...

race: ## the race detector on the packages that changed since BASE, and those that import them; needs a C compiler
	@packages=$$(.ci/changed $(BASE)); [ -n "$$packages" ] || { echo "no package changed"; exit 0; }; \
	  go run ./.ci/report $(GORACE) -json -timeout 40m $$packages

fuzz: ## each fuzz target for FUZZTIME, with new questions each time
	@.ci/fuzz $(FUZZTIME)

lint: ## formatting, vet, staticcheck, a build without WeChat and its tests, fresh generated files, tidy modules
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "not formatted, run make format:"; echo "$$unformatted"; exit 1; fi
	go vet ./... ./.ci/report
	go tool staticcheck ./...
	go build -tags nowechat -o /dev/null .
	go vet -tags nowechat ./agent/channels/...
	@.ci/fresh
	go mod tidy -diff

cross: ## build for every system and processor that Fawn is released for
	@for p in $(PLATFORMS); do echo "build $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 go build -trimpath -o /dev/null . || exit 1; done

format: ## format Go files and templates
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')
	go tool templ fmt views

e2e: build ## the browser and the SDKs against the real binary with a scripted model
	@mkdir -p bin
	go build -o bin/scriptmodel ./web/e2e/scriptmodel/cmd
	go build -o bin/chatapp ./web/e2e/chatapp/cmd
	@[ web/e2e/node_modules/.package-lock.json -nt web/e2e/package-lock.json ] || (cd web/e2e && npm ci --no-audit --no-fund)
	cd web/e2e && node --test --test-concurrency=2 --test-timeout=1800000 *.test.mjs # for a whole file, not for each test
	cd web/e2e && node servers.mjs {sdk,methods,protocol,runs,records,react,python}.test.mjs # with three servers that share a database

.PHONY: e2e-kit e2e-gate nightly-e2e nightly-e2e-chat nightly-e2e-pages nightly-e2e-sdk nightly-e2e-servers nightly-e2e-release

e2e-kit: build
	@mkdir -p bin
	go build -o bin/scriptmodel ./web/e2e/scriptmodel/cmd
	go build -o bin/chatapp ./web/e2e/chatapp/cmd
	@[ web/e2e/node_modules/.package-lock.json -nt web/e2e/package-lock.json ] || (cd web/e2e && npm ci --no-audit --no-fund)

e2e-gate: e2e-kit ## the browser and SDK tests of each change, on one server and in one browser
	cd web/e2e && node gate.mjs

nightly-e2e: e2e-kit ## all browser and SDK tests, in parts: nightly-e2e-chat, -pages, -sdk, -servers, -release
	cd web/e2e && node nightly.mjs

nightly-e2e-chat: e2e-kit
nightly-e2e-pages: e2e-kit
nightly-e2e-sdk: e2e-kit
nightly-e2e-servers: e2e-kit
nightly-e2e-release: e2e-kit
nightly-e2e-chat nightly-e2e-pages nightly-e2e-sdk nightly-e2e-servers nightly-e2e-release:
	cd web/e2e && node nightly.mjs $(@:nightly-e2e-%=%)

bench: build ## cost per token, start, memory and disk, next to a bare relay; the sandbox, next to bare bash
	go build -o bin/load ./web/e2e/load/cmd
	./bin/load -bin bin/fawn $(BENCHFLAGS)
	go test -run '^$$' -bench '^BenchmarkChats$$' -benchtime 1x ./agent/channels # how soon chats are answered, and what bots take
	go test -run '^$$' -bench '^BenchmarkRecall$$' ./memory # what a turn waits for with 10,000 facts: 2 ms at most
	go test -run '^$$' -bench '^BenchmarkCollection$$' ./agent/knowledge # 10,000 documents: read, memory, searched
	go test -count=1 -run '^TestSearchingByMeaningFindsOtherWords$$' -v ./agent/knowledge # how well 200 questions find 500 documents
	go test -run '^$$' -bench '^BenchmarkTokenElsewhere$$' -benchtime 5000x ./agent/runs # token to reader, on the server of the run and on another

# The last release, unless a commit is given.
BASE ?= $(shell git describe --tags --abbrev=0 2>/dev/null)
.PHONY: nightly-perf
nightly-perf: build ## this version beside the last release, in turns; fails where it takes a tenth more. BASE=COMMIT is another one
	@if [ -z "$(BASE)" ]; then echo "nightly-perf: no release to compare with; BASE=COMMIT names a commit"; exit 0; fi; \
	rm -rf bin/base && git worktree prune && git worktree add --detach bin/base $(BASE) && \
	$(MAKE) -C bin/base build && mv bin/base/bin/fawn bin/earlier && git worktree remove --force bin/base && \
	go build -o bin/load ./web/e2e/load/cmd && ./bin/load -bin bin/fawn -base bin/earlier -only against $(BENCHFLAGS)

bench-cluster: build ## three servers on one PostgreSQL, next to one on SQLite and, with AEGRA=1, next to aegra
	$(if $(AEGRA),FAWN_BENCH_AEGRA=$$(web/e2e/load/aegra/setup)) go test -run '^$$' -bench '^BenchmarkCluster$$' -benchtime 1x -timeout 20m ./web/e2e/load
	go test -run '^$$' -bench '^BenchmarkTokenElsewhere$$' -benchtime 10000x ./agent/runs # at most 20 and 60 ms on another server

# The nightly parts: checks that take long or look for more. Each runs on its own, in at most 45 minutes on two cores.
NIGHTLY := FAWN_CI=1 FAWN_NIGHTLY=1
nightly: ## every part below; before a release
	@for part in race fuzz cluster e2e attack release perf soak; do $(MAKE) nightly-$$part || exit 1; done

nightly-race: ## the race detector on every package
	$(NIGHTLY) $(GORACE) -shuffle=on -timeout 45m ./...

nightly-fuzz: ## each fuzz target with new input, 20 minutes in all
	@.ci/fuzz total 1200

nightly-cluster: ## PostgreSQL under the whole suites, kills, faults of clusters, histories
	$(NIGHTLY) $(GOTEST) -count=1 -shuffle=on -timeout 45m ./web/history ./web ./web/leader ./web/hostrules ./web/cli \
	  ./agent/runs/... ./agent/channels/... ./agent/clusterstate ./agent/config ./sandbox/affinity ./agent/mcp/... ./store/...

nightly-attack: ## the sandbox under attack: namespaces and Landlock, as root and as a user
	$(NIGHTLY) $(GOTEST) -count=1 -shuffle=on -timeout 45m ./web/attack ./web/chain ./sandbox/... .

nightly-release: ## vet and build for every system, the README's commands in a fresh clone; make nightly-e2e-release tests the release itself
	go run ./release/vet $(PLATFORMS)
	@$(MAKE) cross
	.ci/fresh-start

nightly-soak: build ## the long versions: hundreds of kills, 10 GB of output, 60 s of load, streams of 20 minutes
	$(NIGHTLY) FAWN_SOAK=1 $(GOTEST) -count=1 -shuffle=on -timeout 60m ./...
	go build -o bin/load ./web/e2e/load/cmd
	./bin/load -bin bin/fawn -seconds 60
	go build -o bin/scriptmodel ./web/e2e/scriptmodel/cmd
	cd web/e2e && FAWN_CI=1 FAWN_SOAK=1 node --test corpus.test.mjs earlier.test.mjs stop.test.mjs
	cd web/e2e && FAWN_CI=1 FAWN_SOAK=1 node --test --test-timeout=5400000 proxy.test.mjs

corpus: build ## measure the converter and markitdown on files of other programs (docs/documents.md); takes an hour
	@python3 -m venv bin/others && bin/others/bin/pip install -q -r web/e2e/corpus/others/requirements.txt
	@bin/others/bin/python web/e2e/corpus/others/gather.py bin/corpus/files
	@bin/others/bin/python web/e2e/corpus/others/markitdown_all.py bin/corpus/files
	@node web/e2e/corpus/compare.mjs bin/corpus/files bin/others/bin

docker: ## build the image fawn:VERSION
	docker build --build-arg VERSION=$(VERSION) -t fawn:$(VERSION) .

release: ## archives, packages, lists of parts and checksums for PLATFORMS, in DIST (dist/)
	@mkdir -p $(DIST) && rm -f $(DIST)/fawn[-_]* $(DIST)/SHA256SUMS
	@work=$$(mktemp -d) && trap 'rm -rf "$$work"' EXIT; for p in $(PLATFORMS); do \
	  os=$${p%/*} arch=$${p#*/}; echo "build $$p"; \
	  GOOS=$$os GOARCH=$$arch $(GOBUILD) -buildvcs=false -o $$work/$$os-$$arch .; done; \
	  go run ./release -version '$(VERSION)' -time "$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}" -out $(DIST) $$work/*

clean: ## remove what the targets made
	rm -rf bin dist web/e2e/node_modules web/e2e/shots
