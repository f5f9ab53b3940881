# axishost: `make demo` runs the main job, `make test` passes the tests. Both need Go alone.

GO ?= go
export GOTOOLCHAIN := local

# Pinned: the linter's findings must not change under a release.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

RECIPES := $(patsubst recipes/%/axis.json,%,$(wildcard recipes/*/axis.json))
PLUGINS := $(RECIPES:%=bin/plugins/%.wasm)

# What stands in another file is a rule of its own, so that nothing is built twice.
SOURCES := $(shell find . -name '*.go' -not -path './bin/*') go.mod go.sum

.PHONY: build guests man demo demo-rollbacks demo-refusals demo-durable test torture lint check bench clean fmt vet tidy clean-tree

build: bin/axishost

bin/axishost: $(SOURCES)
	CGO_ENABLED=0 $(GO) build -trimpath -o $@ ./cmd/axishost

guests: $(PLUGINS)

# A recipe is a stock Go module of the reactor kind, and its manifest packed into it.
bin/plugins/%.wasm: bin/axishost recipes/%/axis.json
	@mkdir -p bin/plugins
	GOOS=wasip1 GOARCH=wasm $(GO) build -buildmode=c-shared -trimpath -ldflags='-s -w' -o bin/plugins/.$*.wasm ./recipes/$*
	bin/axishost plugin pack --manifest recipes/$*/axis.json -o $@ bin/plugins/.$*.wasm
	@rm -f bin/plugins/.$*.wasm

# The manual pages, as --help has them.
man: build
	bin/axishost man bin/man

# A refusal that is rolled back, a malformed call that is reprompted, a tool call and a direct answer: 391.
demo: build guests
	@bin/axishost run --store bin/demo-store --model script:cmd/axishost/testdata/demo.yaml \
		--recipe bin/plugins/boxed.wasm --tool bin/plugins/calc.wasm "What is 17 * 23?"
	@echo "its events: bin/axishost tasks events last --store bin/demo-store" >&2

# Every reason for which something is hidden, and every trigger of a forced final turn: a timeline each.
demo-rollbacks: build guests
	@for script in cmd/axishost/testdata/rollbacks/*.yaml; do \
		echo; sed -n 's/^# \([A-Z].*\)/== \1/p' $$script; \
		bin/axishost run --store bin/demo-store --model script:$$script --recipe bin/plugins/careful.wasm \
			--tool bin/plugins/calc.wasm $$(sed -n 's/^# flags: //p' $$script) "What is 2 + 2?" || exit 1; \
	done

# Every way in which a plugin is refused: what is wrong with it, and the one line that its user gets.
demo-refusals: build
	@rm -rf bin/refusals && $(GO) run ./cmd/axishost/testdata/refusals bin/refusals
	@cd bin/refusals && for file in *.wasm; do \
		line=$$(../axishost plugin inspect $$file 2>&1 >/dev/null); code=$$?; \
		printf '%-31s %s\n' "$${file%.wasm}" "$${line#axishost: plugin $$file }"; \
		test $$code = 8 || { echo "exit code $$code, want 8"; exit 1; }; \
	done

# A task that writes, killed in the middle of a write whose reply is lost, resumed, reconciled and finished.
demo-durable: build guests
	@$(GO) run ./cmd/axishost/testdata/durable bin/axishost bin/plugins/ledger.wasm bin/demo-store

# The race detector needs cgo, and so a C compiler.
CC_FOUND := $(shell command -v $${CC:-cc} 2>/dev/null || command -v gcc 2>/dev/null)
ifneq ($(CC_FOUND),)
RACE := CGO_ENABLED=1 $(GO) test -race -tags invariants -timeout 30m
else
RACE := CGO_ENABLED=0 $(GO) test -tags invariants -timeout 30m
endif

test:
	@$(if $(CC_FOUND),true,echo "no C compiler found: testing without the race detector (install gcc to add it)")
	$(RACE) ./...

# kill -9 of the real binary at random instants, resumed and checked: N trials, and N kills of tasks that write to an
# outside ledger; `make torture N=200 SEED=7`.
N ?= 20
SEED ?= 0
torture:
	$(GO) test ./cmd/axishost -run '^TestTorture(Writes)?$$' -v -count 1 -timeout 240m -args -torture.n=$(N) -torture.kills=$(N) -torture.seed=$(SEED)

lint: fmt vet
	$(GO) run $(STATICCHECK) ./...

fmt:
	@files=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); test -z "$$files" || { echo "gofmt would change: $$files"; exit 1; }

vet:
	CGO_ENABLED=0 $(GO) build ./...
	$(GO) vet ./...
	GOOS=wasip1 GOARCH=wasm $(GO) build ./abi/...

tidy:
	$(GO) mod tidy -diff

# Last: building and testing must leave nothing behind that git would see.
clean-tree:
	@status=$$(git status --porcelain); test -z "$$status" || { echo "the work tree is not clean:"; echo "$$status"; exit 1; }

check: lint tidy test build guests clean-tree

# Side by side in one run; see README, "Speed".
bench: build guests
	$(GO) test -run '^$$' -bench . -benchmem ./...

clean:
	rm -rf bin
