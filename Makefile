# Fawn: build, checks and the jobs around them. `make help` lists the targets.
# Needs Go, a C compiler for the race detector, Node and Python for the end-to-end
# tests, and Chromium for those in the browser. `.ci/run` installs what is missing.

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
# Size budget of the binary, in MB.
MAX_MB   := 70
# Packages that no token and no step waits for are compiled without inlining, for the size.
LEAN := $(foreach p,github.com/ProtonMail github.com/anthropics github.com/araddon github.com/cloudflare github.com/coder \
  github.com/coreos github.com/dop251 github.com/fxamacker github.com/go-git github.com/go-jose github.com/go-webauthn github.com/google \
  github.com/klippa-app github.com/modelcontextprotocol github.com/prometheus github.com/sashabaranov github.com/xuri \
  go.opentelemetry.io go.yaml.in golang.org/x/image google.golang.org \
  fawn/agent/channels fawn/agent/config fawn/agent/skills fawn/backup \
  fawn/views/account fawn/views/agents fawn/views/chat fawn/views/files \
  fawn/views/insight fawn/views/layout fawn/views/part fawn/views/reference fawn/views/settings fawn/views/tasks \
  fawn/web/account fawn/web/cli fawn/web/mcpserver fawn/web/ui/account fawn/web/ui/agents fawn/web/ui/settings \
  fawn/web/ui/chats fawn/web/ui/export fawn/web/ui/insight fawn/web/ui/share fawn/web/ui/tasks,-gcflags=$(p)/...=-l)
# Some lines of modules are changed on the way, so that the linker keeps only what is called (release/slim).
SLIM     := bin/slim
GOBUILD  := CGO_ENABLED=0 go build -trimpath -modfile $(SLIM)/go.mod $(LEAN) -ldflags '$(LDFLAGS)'

# Packages whose tests run under the race detector: those with goroutines or
# shared state. The rest runs without, which is several times faster.
RACE := ^fawn/(agent|agent/(channels|community|extensions|inspect|lead|llm|mcp|middleware|runs|skills|subagent|tools).*|memory|store.*|sandbox.*|uploads.*|web|web/(api|api/wire|attack|audit|chain|cli|gateway|heap|httpx|metrics|redact|tlsport|tracing|ui|ui/(chats|conversation|export|files|page|settings)))$$

# Of those, packages whose state is shared in code that others test: make soak watches them, too.
CALM := ^fawn/(agent/skills/skilltool|sandbox/render|uploads/(convert|preview)|web/(attack|chain))$$

# These begin first, so that they aren't left to run alone at the end.
SLOW  := fawn/web
WAITS := fawn/web/history

# The race detector needs a C compiler. Where there is none, the same tests run without, but not in CI.
# SQLite is C that was translated: its own code isn't watched, which makes tests that use it five times as fast.
UNWATCHED := $(foreach p,modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory,-gcflags=$(p)=-race=false)
RACED = $(if $(FAWN_CI)$(shell command -v $$(go env CC)),CGO_ENABLED=1 go test -race $(UNWATCHED),$(warning \
  there is no C compiler: the tests run without the race detector)go test)

# .ci/run vets everything before it tests.
VET := $(if $(FAWN_CI),-vet=off)

.PHONY: help install generate build run gateway dev test fuzz lint cross format e2e bench bench-cluster soak docker release clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{printf "  %-10s %s\n", $$1, $$2}'

install: ## fetch the Go modules and the packages of the end-to-end tests
	go mod download
	cd web/e2e && npm ci --no-audit --no-fund

generate: ## make the Go code of the templates, the script and style bundles and the list of licences
	go tool templ generate -path ./views
	sh assets/build.sh
	go run ./assets/notices

# The sandbox's first process inside the namespaces; Linux only, embedded where it was built, packed.
INIT    := sandbox/initbin/sbxinit
packinit = CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags '-s -w' -o $(INIT) ./sandbox/sbxinit && gzip -9nf $(INIT)
define initbin
	@$(packinit)
endef

build: ## compile bin/fawn: one static binary with the web UI inside
	$(initbin)
	@mkdir -p bin
	@go run ./release/slim $(SLIM)
	$(GOBUILD) -o bin/fawn .
	@size=$$(($$(wc -c <bin/fawn) / 1000000)); \
	  if [ $$size -gt $(MAX_MB) ]; then echo "bin/fawn has $$size MB, the budget is $(MAX_MB)" >&2; exit 1; fi; \
	  echo "bin/fawn: $$size MB"

run: build ## build and serve on ADDR (127.0.0.1:2026)
	./bin/fawn serve --addr $(ADDR)

gateway: ## same as run: one process serves the web UI and every API
	@echo "One process serves the web UI, the gateway API and the LangGraph API."
	@$(MAKE) run

dev: ## serve and build again when a template or a Go file changes, proxied on 127.0.0.1:7331
	go tool templ generate --watch -path ./views --proxy=http://$(ADDR) --cmd="go run . serve --addr $(ADDR)"

# What is random in a check is the same each time, also the order of the tests; make soak and make fuzz look for more.
SHUFFLE ?= 1
test: export RAPID_SEED := 1
test: ## unit tests, with the race detector where it counts, and each fuzz target for FUZZTIME
	$(initbin)
	$(RACED) $(VET) -shuffle=$(SHUFFLE) -timeout 25m $(SLOW) $$(go list ./... | grep -E '$(RACE)' | grep -vE '$(CALM)' | grep -vxF $(SLOW))
	code=0; go test $(VET) -timeout 15m -run '^(TestStorageGrowsWithTheContent$$|TestPostgreSQL$$|TestCluster)' ./agent/runs & slow=$$!; \
	  go test $(VET) -shuffle=$(SHUFFLE) -timeout 15m $(WAITS) $$(go list ./... | grep -E '$(CALM)') \
	    $$(go list ./... | grep -vE '$(RACE)' | grep -vxF $(WAITS)) || code=$$?; \
	  wait $$slow && exit $$code # those of runs are too slow under the race detector, and mostly wait
	@.ci/fuzz seeded $(FUZZTIME)

fuzz: ## each fuzz target for FUZZTIME, with new questions each time
	@.ci/fuzz $(FUZZTIME)

lint: ## formatting, vet, staticcheck, fresh generated files, tidy modules
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "not formatted, run make format:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...
	@.ci/fresh
	go mod tidy -diff

cross: ## vet for every system and processor that Fawn is built for
	go run ./release/vet $(PLATFORMS)

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
	go test -run '^$$' -bench '^BenchmarkTokenElsewhere$$' -benchtime 5000x ./agent/runs # token to reader, on the server of the run and on another

bench-cluster: build ## three servers on one PostgreSQL, next to one on SQLite and, with AEGRA=1, next to aegra
	$(if $(AEGRA),FAWN_BENCH_AEGRA=$$(web/e2e/load/aegra/setup)) go test -run '^$$' -bench '^BenchmarkCluster$$' -benchtime 1x -timeout 20m ./web/e2e/load
	go test -run '^$$' -bench '^BenchmarkTokenElsewhere$$' -benchtime 10000x ./agent/runs # at most 20 and 60 ms on another server

soak: build ## the long version of the tests: many kill points, long fuzzing, 60 s of load
	FAWN_CI=1 FAWN_SOAK=1 CGO_ENABLED=1 go test -race $(UNWATCHED) -shuffle=on -count=1 -timeout 60m $$(go list ./... | grep -E '$(RACE)')
	FAWN_CI=1 FAWN_SOAK=1 go test -shuffle=on -count=1 -timeout 60m $$(go list ./... | grep -vE '$(RACE)')
	FAWN_CI=1 FAWN_SOAK=1 go test -count=1 -timeout 60m -v -run '^(TestStorageGrowsWithTheContent|TestManyCutRunsAreTakenUpAtOnce)$$' ./agent/runs # times and sizes mean nothing under the race detector
	@.ci/fuzz total 600
	@$(MAKE) cross
	go build -o bin/load ./web/e2e/load/cmd
	./bin/load -bin bin/fawn -seconds 60
	go build -o bin/scriptmodel ./web/e2e/scriptmodel/cmd
	cd web/e2e && FAWN_CI=1 FAWN_SOAK=1 node --test corpus.test.mjs earlier.test.mjs stop.test.mjs # documents of all kinds, 40 of which are in make e2e; 2,000 messages; 60 stops
	cd web/e2e && FAWN_CI=1 FAWN_SOAK=1 node --test --test-timeout=5400000 proxy.test.mjs # streams of 20 minutes
	.ci/fresh-start # the README's two commands, as in the first minutes with Fawn

docker: ## build the image fawn:VERSION
	docker build --build-arg VERSION=$(VERSION) -t fawn:$(VERSION) .

release: ## archives, packages, lists of parts and checksums for PLATFORMS, in DIST (dist/)
	@go run ./release/slim $(SLIM)
	@mkdir -p $(DIST) && rm -f $(DIST)/fawn[-_]* $(DIST)/SHA256SUMS
	@work=$$(mktemp -d) && trap 'rm -rf "$$work" $(INIT)*' EXIT; for p in $(PLATFORMS); do \
	  os=$${p%/*} arch=$${p#*/}; echo "build $$p"; \
	  if [ $$os = linux ]; then (export GOARCH=$$arch; $(packinit)); fi; \
	  GOOS=$$os GOARCH=$$arch $(GOBUILD) -buildvcs=false -o $$work/$$os-$$arch .; done; \
	  go run ./release -version '$(VERSION)' -time "$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}" -out $(DIST) $$work/*
	$(initbin)

clean: ## remove what the targets made
	rm -rf bin dist web/e2e/node_modules web/e2e/shots
