# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Everything here works without root, and needs Go, git, make, bash and a C compiler (for the race detector) only; test-system alone
# installs Debian packages, and needs root for that.
# Servers and linters are built from Go modules into .cache/tools, once. GOFLAGS and the other settings of Go are respected.

MODULE  := github.com/graft-provider/gardener-extension-provider-graft
VERSION := $(shell cat VERSION)
COMMIT  := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

# Programs are static, and the tests that link the same packages find them compiled. The race detector needs cgo.
export CGO_ENABLED ?= 0

# Version and commit of the programs: variables of their package main. All targets link with the same flags, so that each program is linked once.
export GRAFT_LDFLAGS := -X main.version=$(VERSION) -X main.commit=$(COMMIT)

TOOLS := hack/tools/build.sh
BUILD := hack/start/build.sh
# The control plane of the preview of `make start`.
SAMPLE := pkg/controlplane/sample/static/today-1.34.jsonl
LINT  := .cache/tools/bin/golangci-lint

# UNIT are the packages with unit tests. NO_RACE are those with sequential tests that would compile all of Gardener's components again
# for the race detector. `make test RACE=1` runs the unit tests of all packages once, with the race detector except for NO_RACE.
UNIT    = $(filter-out $(MODULE)/test/%,$(shell go list ./...))
RACE   ?=
NO_RACE = $(addprefix $(MODULE)/,pkg/controlplane/sample pkg/workbench/convert pkg/workbench/render pkg/workbench/snapshot pkg/workbench/snapshot/gardener \
	hack/samples example/embed cmd/graft-controlplane cmd/gardener-extension-provider-graft)

# For `make bench BENCH=Graft` and `make test TESTFLAGS=-count=1`.
BENCH     ?= .
STORES    ?= .
# How often test-system kills the network provider; `make test` does so once at each point or more.
CRASHES   ?= 2000
# How many profiles that compute values as large as they can test-system loads into the extension; `make test` loads a dozen.
OVERSIZE  ?= 100
# How often test-system kills it while histories are recorded, with a ledger on a file and on etcd; `make test` does so ten times, on a file.
HISTORY_FILE ?= 500
HISTORY_ETCD ?= 100
HELD      ?= 100,1000000
SHOOTS    ?= 10,1000,10000
TESTFLAGS ?=
# `make test FOCUS='under attack'` and `make test LABELS='!slow'` run only those specs of the suites in test/.
LABELS    ?=
FOCUS     ?=
# The folder for JUnit reports of suites with Ginkgo. Their results are not cached then.
REPORTS   ?=
PLATFORMS ?= linux/amd64,linux/arm64
# `make start ONCE=1` ends after the differences have been shown.
ONCE      ?=
export ONCE
# `make start PROFILE=p.yaml PROVIDER=acme`; ARGS are further arguments of the program of a target. They are
# not taken from the environment, where such names mean other things.
PROFILE    = example/profiles/openstack/profile.yaml
PROVIDER   =
ARGS       =
START_ARGS = $(foreach path,$(PROFILE),-profile '$(path)') \
	$(if $(PROVIDER),-provider '$(PROVIDER)') $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help start start-network start-docker start-interpreter servers test test-unit test-integration test-suites test-libnetwork test-race test-system test-debian test-guests engines test-gardener test-neutron test-histories test-crashes test-oversize test-packages test-types mutants bench bench-admissions bench-allocations bench-docker bench-containers bench-interpretations bench-memory bench-neutron bench-units check check-format check-charts check-generated test-changed docs \
	format generate kubeflags build tools vendor images clean

help: ## Show the targets (this is the default).
	@echo 'Graft $(VERSION). Targets:'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1	\2/p' Makefile | expand -t 20

# The preview needs the engine alone, and shows a mistake in the profile before anything else is built.
start: ## Show a control plane being admitted by a real kube-apiserver, until Ctrl-C (ONCE=1: show it and end; PROFILE=path PROVIDER=acme).
	@$(BUILD) graft '1 minute' ./cmd/graft
	@echo '==> a preview with stored objects (graft diff); what a real kube-apiserver stores follows'
	@bin/graft diff $(foreach path,$(PROFILE),-p '$(path)') $(if $(PROVIDER),--provider '$(PROVIDER)') $(SAMPLE)
	@$(TOOLS) etcd kube-apiserver $(if $(ONCE),,kubectl)
	@$(BUILD) gardener-extension-provider-graft '2 minutes' ./cmd/gardener-extension-provider-graft
	@$(BUILD) start '10 seconds' ./hack/start
	@exec .cache/bin/start $(START_ARGS)

start-network: ## Show the network provider: allocations by DRANET's calls on a socket, a crash, a release (ONCE=1: show it and end).
	@$(BUILD) graft-network-provider '1 minute' ./cmd/graft-network-provider ./cmd/graft
	@exec hack/start/network.sh $(ARGS)

start-docker: ## Show two containers on a Graft network, and their addresses (ONCE=1: show it and end; as root it installs Debian's docker.io).
	@$(BUILD) graft-network-provider '1 minute' ./cmd/graft-network-provider ./cmd/graft
	@$(BUILD) start-docker '10 seconds' ./hack/start/docker
	@exec .cache/bin/start-docker $(ARGS)

start-interpreter: ## Show the answers to Karmada for a Worker, an Etcd and a custom kind, over TLS (ONCE=1: show it and end).
	@$(BUILD) graft-resource-interpreter '1 minute' ./cmd/graft-resource-interpreter ./cmd/graft
	@exec hack/start/interpreter.sh $(ARGS)

# The servers are built during the unit tests, because neither uses two cores all the time.
test: ## Run all tests that need no root: units (RACE=1: with the race detector), then suites against a real kube-apiserver (FOCUS=<regexp> and LABELS choose specs).
	@$(if $(LABELS)$(FOCUS),,$(MAKE) --no-print-directory -j2 test-unit servers)
	@$(MAKE) --no-print-directory test-integration

servers: ## Build etcd, kube-apiserver, kubectl and a CNI plugin into .cache/tools/bin.
	@$(TOOLS) etcd kube-apiserver kubectl host-local

# `make check` runs vet.
test-unit: $(if $(RACE),test-race) ## Run the unit tests; RACE=1 runs them with the race detector.
	@echo '==> unit tests (the first time, a few minutes pass while dependencies are compiled)'
	@hack/test.sh -vet=off $(TESTFLAGS) $(if $(RACE),$(NO_RACE),$(UNIT))
	cd hack/images && go test $(TESTFLAGS) ./...
	cd hack/tools/monitoring && go test -count=1 $(TESTFLAGS) ./...

test-changed: ## Run the unit tests that depend on your changes since main (BASE=<branch>), and the suites that you changed.
	@hack/test-changed.sh $(TESTFLAGS)

# Docker's controllers wait most of the time, so their suite runs beside the others.
test-integration: build servers ## Run the suites against a real etcd and kube-apiserver, and Docker's network controllers.
	@$(MAKE) --no-print-directory -j2 test-suites test-libnetwork

test-suites:
	@echo '==> integration suites (each starts its own etcd and kube-apiserver, three at a time)'
	@REPORTS='$(REPORTS)' LABELS='$(LABELS)' FOCUS='$(FOCUS)' hack/test.sh suites -vet=off -p 3 -timeout 20m $(TESTFLAGS)

# go test remembers results as long as the programs are the same, too.
LIBNETWORK = .cache/bin/libnetwork
# Not a prerequisite: make would start the other parts of test-system before the longest ones, which need it.
define ENGINES
	@mkdir -p $(LIBNETWORK)
	@cd test/libnetwork && go build -o ../../$(LIBNETWORK)/ ./engine/docker28 ./engine/moby2
endef

test-libnetwork: build ## Run the network controllers of Docker 28 and 29 against the network provider, in namespaces of their own, as root or not.
	@echo "==> Docker's network controllers (the first time, a minute passes while they are compiled)"
	$(ENGINES)
	@if [ -n "$$GRAFT_TEST_WITHOUT_KERNEL" ]; then echo '*** GRAFT_TEST_WITHOUT_KERNEL IS SET: WHERE THE KERNEL REFUSES NAMESPACES, NOTHING OF THIS RUNS' >&2; fi
	cd test/libnetwork && GRAFT_PROGRAMS="$$(cat ../../bin/graft ../../bin/graft-network-provider ../../$(LIBNETWORK)/* | cksum)" \
		$(if $(REPORTS),GRAFT_TEST_REPORTS='$(abspath $(REPORTS))') go test $(if $(LABELS)$(FOCUS),.,./...) -vet=off -timeout 10m \
		$(TESTFLAGS) $(if $(LABELS),-ginkgo.label-filter='$(LABELS)') $(if $(FOCUS),-ginkgo.focus='$(FOCUS)')

test-race: ## Run the unit tests with the race detector (the first time, ten minutes pass while dependencies are compiled).
	@echo '==> unit tests with the race detector'
	CGO_ENABLED=1 go test -ldflags=-w -vet=off -race $(TESTFLAGS) $(filter-out $(NO_RACE),$(UNIT))

mutants: ## Remove each clause of the control-plane contract in turn; the test that docs/contract.md names for it must fail.
	go test -count=1 -tags system -timeout 30m $(TESTFLAGS) ./test/mutants

# The suites wait for servers most of the time; three run at once, the longest first.
SYSTEM = test-guests test-debian test-gardener test-neutron test-histories mutants test-crashes test-oversize test-packages test-types
test-system: build engines ## Run the tests that need Debian packages (hack/system/packages.txt), and root to install missing ones.
	@hack/system/packages.sh
	@$(TOOLS) registry oras crane $(GARDEN)
	@$(MAKE) --no-print-directory -j3 $(SYSTEM)

# Parts of test-system. The histories take 20 minutes.
test-histories: build
	@echo '==> histories of the network provider, killed $(HISTORY_FILE) times on a file and $(HISTORY_ETCD) times on etcd'
	GRAFT_HISTORY_FILE=$(HISTORY_FILE) GRAFT_HISTORY_ETCD=$(HISTORY_ETCD) go test -v -tags system -timeout 60m $(TESTFLAGS) ./test/history -ginkgo.v

test-crashes: build
	@echo '==> the network provider, killed $(CRASHES) times (it says how far it is)'
	GRAFT_CRASHES=$(CRASHES) go test -v -timeout 30m $(TESTFLAGS) ./test/crash -ginkgo.v

test-oversize: build
	@echo '==> the extension with $(OVERSIZE) profiles that compute values as large as they can'
	GRAFT_OVERSIZE_CASES=$(OVERSIZE) go test -v -timeout 30m $(TESTFLAGS) ./test/oversize -ginkgo.v

test-packages: build
	@echo '==> images and charts in a registry, as the page of packaging says'
	cd hack/images && go test -tags system -run '^TestPage' $(TESTFLAGS) ./...

test-types:
	@echo '==> the library of interpreter profiles, decoded into the API types of its projects'
	cd test/interpreter/types && go test -count=1 $(TESTFLAGS) ./...

engines:
	$(ENGINES)

# One guest of user-mode Linux runs at a time: its kube-apiserver is slow beside another guest.
GUESTS = clock systemd uml
test-guests: build
	@$(TOOLS) etcd kube-apiserver
	$(ENGINES)
	@echo '==> system suites in user-mode Linux: clock jumps, systemd, a kernel with all kinds of links'
	go test -tags system -p 1 -timeout 60m $(TESTFLAGS) $(GUESTS:%=./test/system/%)

DEBIAN = $(filter-out $(GUESTS) gardener neutron,$(notdir $(wildcard test/system/*)))
test-debian: build
	@$(TOOLS) etcd kube-apiserver
	$(ENGINES)
	@echo '==> system suites with Debian packages: Docker, a browser, shells, the documentation, two machines of a Swarm'
	go test -tags system -p 1 -timeout 60m $(TESTFLAGS) $(DEBIAN:%=./test/system/%)

# Six minutes on two cores. The programs of Gardener are built once, which takes ten more.
GARDEN = etcd kube-apiserver kubectl gardener-apiserver gardener-controller-manager gardener-resource-manager gardenlet
test-gardener: build ## Install, upgrade, move and uninstall Graft in a real Gardener, built from its module, in separate namespaces.
	@$(TOOLS) $(GARDEN)
	@echo '==> Graft in a real Gardener: installed, upgraded, moved to another registration, uninstalled'
	go test -tags 'system gardener' -timeout 45m $(TESTFLAGS) ./test/system/gardener

# Ten minutes on two cores; four with LABELS='!slow', which omits the tests that all clouds pass.
test-neutron: build ## Run the cloud for OpenStack against Debian's Neutron and Keystone, and install them if they are missing, as root.
	@hack/system/packages.sh keystone neutron-server
	@echo '==> the cloud for OpenStack against a real Neutron (LABELS=!slow omits six minutes)'
	go test -tags 'system neutron' -timeout 60m $(TESTFLAGS) ./test/system/neutron $(if $(LABELS),-ginkgo.label-filter '$(LABELS)')

bench: bench-admissions bench-memory bench-interpretations bench-allocations bench-docker bench-containers bench-neutron ## Measure admissions, memory, interpretations, allocations, endpoints, containers and binds, compared with floors and peers.

bench-admissions: ## Measure admissions, compared with floors and Gardener's library (BENCH=<regexp> selects rows).
	@echo '==> admissions over TLS, about two minutes; docs/benchmarks.md explains the rows'
	@go build -o .cache/bin/benchmark ./test/benchmark
	@.cache/bin/benchmark -rows '$(BENCH)'

bench-memory: ## Measure memory and start of the extension by number of shoots, compared with an informer (SHOOTS=10,1000,10000).
	@$(TOOLS) etcd kube-apiserver kubectl
	@$(BUILD) gardener-extension-provider-graft '2 minutes' ./cmd/gardener-extension-provider-graft
	@go build -o .cache/bin/memory ./test/benchmark/memory
	@echo '==> memory, about ten minutes, most of them for ten thousand Clusters with an informer; docs/benchmarks.md explains the rows'
	@.cache/bin/memory -shoots '$(SHOOTS)'

bench-interpretations: ## Measure answers for Karmada, compared with their floor and with Lua (BENCH=<regexp> selects rows).
	@echo '==> interpretations over TLS and in Lua, about two minutes; docs/benchmarks.md explains the rows'
	@go build -o .cache/bin/interpretation ./test/benchmark/interpretation
	@.cache/bin/interpretation -rows '$(BENCH)'

bench-neutron: ## Measure binds of OpenStack, compared with the same calls of Debian's Neutron, and install it if it is missing, as root.
	@hack/system/packages.sh keystone neutron-server
	@echo '==> binds in a real Neutron, about fifteen minutes; docs/benchmarks.md explains the rows'
	go test -v -count=1 -tags 'system neutron bench' -timeout 60m $(TESTFLAGS) ./test/system/neutron -ginkgo.focus 'the speed of binds'

bench-allocations: ## Measure allocations, compared with the stores alone (STORES=<regexp> HELD=100,1000000 select).
	@$(TOOLS) etcd
	@echo '==> allocations, about ten minutes; docs/benchmarks.md explains the rows'
	@go build -o .cache/bin/allocation ./test/benchmark/allocation
	@.cache/bin/allocation -stores '$(STORES)' -held '$(HELD)'

bench-docker: ## Measure endpoints of Docker's controller on Graft, compared with Docker's own bridges, in separate namespaces.
	@mkdir -p $(LIBNETWORK)
	@$(BUILD) graft-network-provider '1 minute' ./cmd/graft-network-provider
	@cd test/libnetwork && go build -o ../../$(LIBNETWORK)/ ./engine/docker28 && go build -o ../../.cache/bin/endpoints ./benchmark
	@echo '==> endpoints, six minutes or more, most of them to create a thousand endpoints; docs/benchmarks.md explains the rows'
	@.cache/bin/endpoints

bench-containers: ## Measure the time of a network at the start of a container, compared with Docker's bridges (needs Debian's docker.io).
	@$(BUILD) graft-network-provider '1 minute' ./cmd/graft-network-provider
	@go build -o .cache/bin/containers ./test/benchmark/containers
	@echo '==> starts of containers, about three minutes; docs/benchmarks.md explains the rows'
	@.cache/bin/containers -rows '$(BENCH)'

bench-units: ## Run the Go benchmarks of the packages (BENCH=<regexp> to choose).
	go test -run '^$$' -bench '$(BENCH)' -benchmem $(UNIT)

check: check-format ## Check format, vet, linters with the import rules, generated files and charts.
	@echo '==> go vet'
	go vet ./...
	go vet -tags 'system gardener neutron bench' ./test/mutants ./test/system/...
	cd hack/tools/monitoring && go vet ./...
	cd hack/images && go vet ./... && go vet -tags system ./...
	cd test/libnetwork && go vet -tags system ./...
	cd test/interpreter/types && go vet ./...
	@echo '==> golangci-lint (the first time, about three minutes)'
	$(LINT) run
	cd test/libnetwork && ../../$(LINT) run
	cd test/interpreter/types && ../../../$(LINT) run
	cd hack/images && ../../$(LINT) run
	@echo '==> programs share no code but pkg/serving'
	go test ./cmd
	@$(MAKE) --no-print-directory check-generated check-charts

check-format: ## Check that every file is formatted.
	@$(TOOLS) golangci-lint
	@echo '==> format'
	$(LINT) fmt --diff
	@! git grep -nE '^.{121,}$$' -- 'test/*.go' || { echo 'lines of tests have at most 120 columns' >&2; false; }

check-generated: ## Check that generated files are current.
	@echo '==> generated files'
	hack/check-generated.sh

check-charts: ## Render the charts and decode their manifests.
	@echo '==> charts'
	go test ./hack/charts

format: ## Format the code.
	@$(TOOLS) golangci-lint
	$(LINT) fmt

generate: ## Write the generated files.
	go generate ./...
	cd test/libnetwork && go generate ./...
	go run ./hack/registration

# Not part of generate, and not checked by check-generated: the table changes when a release of Kubernetes is added in
# hack/kubeflags/main.go, and each release is compiled once.
kubeflags: ## Write the table of Kubernetes' flags and feature gates (compiles each new release, several minutes each).
	go run ./hack/kubeflags

# Without -trimpath, so that dependencies are compiled once for programs and tests together.
build: ## Build the programs, static, into bin/.
	@echo '==> programs (the first time, a few minutes pass while dependencies are compiled)'
	hack/build.sh
	@case ":$$PATH:" in *":$(CURDIR)/bin:"*) ;; *) echo 'The programs are in bin/. To call them by name: export PATH="$(CURDIR)/bin:$$PATH"' ;; esac

tools: ## Build the servers, kubectl and the linters into .cache/tools/bin.
	@$(TOOLS)

docs: ## Build the documentation as a searchable site into bin/docs (it needs Debian's mkdocs).
	@hack/system/packages.sh mkdocs
	@PYTHONDONTWRITEBYTECODE=1 mkdocs build --quiet --strict --config-file hack/docs/mkdocs.yaml
	@echo 'open bin/docs/index.html; search needs a server: python3 -m http.server -d bin/docs'

vendor: ## Copy all dependencies into vendor folders, for builds without a network.
	go mod vendor
	for module in kubernetes gardener etcd cni lint monitoring registry; do (cd hack/tools/$$module && go mod vendor) || exit 1; done
	cd test/libnetwork && go mod vendor
	cd test/interpreter/types && go mod vendor
	cd hack/images && go mod vendor

images: ## Build images and charts as OCI archives, and archives of the command line for Linux and macOS, into bin/images (PLATFORMS=linux/amd64,linux/arm64).
	@rm -rf .cache/charts
	@for chart in charts/*/; do go run ./hack/registration -chart $$chart -archive .cache/charts/$$(basename $$chart).tgz || exit 1; done
	@cd hack/images && go build -o ../../.cache/bin/images .
	@.cache/bin/images -charts .cache/charts -platforms '$(PLATFORMS)' $(ARGS)

clean: ## Remove everything that was built, including servers and linters.
	rm -rf bin .cache vendor hack/tools/*/vendor test/libnetwork/vendor test/interpreter/types/vendor hack/images/vendor
