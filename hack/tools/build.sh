#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Builds the tools named on the command line (all of them without arguments) from the modules beside this script into
# .cache/tools/bin. A tool whose version and dependencies are unchanged is left as it is, which takes milliseconds.
# Tools are built one after the other: two cores and 4 GB of memory are enough.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$(cd "$here/../.." && pwd)/.cache/tools
mkdir -p "$cache/bin" "$cache/stamps"

# Raised when this script builds a tool differently from the same sources.
recipe=1

# describe sets module (folder beside this script), package, versioned (module path whose version is the tool's; empty
# for our own programs) and estimate (for two cores, with nothing downloaded or compiled yet).
describe() {
  case $1 in
    etcd)           module=etcd       package=go.etcd.io/etcd/server/v3                          versioned=go.etcd.io/etcd/server/v3                estimate="1 minute" ;;
    kube-apiserver) module=kubernetes package=k8s.io/kubernetes/cmd/kube-apiserver               versioned=k8s.io/kubernetes                        estimate="4 minutes" ;;
    kubectl)        module=kubernetes package=k8s.io/kubernetes/cmd/kubectl                      versioned=k8s.io/kubernetes                        estimate="1 minute" ;;
    golangci-lint)  module=lint       package=github.com/golangci/golangci-lint/v2/cmd/golangci-lint versioned=github.com/golangci/golangci-lint/v2 estimate="4 minutes" ;;
    host-local)     module=cni        package=github.com/containernetworking/plugins/plugins/ipam/host-local versioned=github.com/containernetworking/plugins estimate="10 seconds" ;;
    registry)       module=registry   package=github.com/distribution/distribution/v3/cmd/registry versioned=github.com/distribution/distribution/v3   estimate="1 minute" ;;
    oras)           module=registry   package=oras.land/oras/cmd/oras                            versioned=oras.land/oras                           estimate="30 seconds" ;;
    crane)          module=registry   package=github.com/google/go-containerregistry/cmd/crane   versioned=github.com/google/go-containerregistry   estimate="30 seconds" ;;
    gardener-apiserver|gardener-controller-manager|gardener-resource-manager|gardenlet)
                    module=gardener   package=github.com/gardener/gardener/cmd/$1                versioned=github.com/gardener/gardener             estimate="10 minutes" ;;
    *) echo "unknown tool $1; known are: ${all[*]} $system" >&2; exit 2 ;;
  esac
}
# Without arguments, and what is for test-system alone.
all=(etcd kube-apiserver kubectl host-local golangci-lint)
system="registry oras crane gardener-apiserver gardener-controller-manager gardener-resource-manager gardenlet"

# version_of prints the version that go.mod in the current folder requires of a module.
version_of() {
  local first second third
  while read -r first second third _; do
    [[ $first != require ]] || first=$second second=$third # a requirement on a line of its own
    if [[ $first == "$1" && $second == v* ]]; then
      echo "$second"
      return
    fi
  done <go.mod
  echo "hack/tools: no version of $1 in $PWD/go.mod" >&2
  return 1
}

# link_flags prints the linker flags. Without them kube-apiserver calls itself v0.0.0-master and takes itself for Kubernetes 1.0.
link_flags() {
  local flags="-s -w" version=$2 pkg minor
  if [[ $1 == k8s.io/kubernetes ]]; then
    minor=${version#v*.}
    for pkg in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
      flags+=" -X $pkg.gitVersion=$version -X $pkg.gitMajor=1 -X $pkg.gitMinor=${minor%%.*} -X $pkg.gitTreeState=clean"
    done
  elif [[ $1 == github.com/gardener/gardener ]]; then
    flags+=" -X k8s.io/component-base/version.gitVersion=$version -X k8s.io/component-base/version.gitTreeState=clean"
  fi
  echo "$flags"
}

# build makes one tool, with a line every 15 seconds so that nobody takes it for stuck.
build() {
  local tool=$1 module package versioned estimate version sum stamp started=$SECONDS
  describe "$tool"
  cd "$here/$module"
  version=own
  [[ -z $versioned ]] || version=$(version_of "$versioned")
  sum=$(shopt -s nullglob && cat go.mod go.sum *.go | cksum)
  stamp="$tool $version recipe=$recipe sum=${sum// /-}"
  if [[ -x $cache/bin/$tool && -f $cache/stamps/$tool && $(<"$cache/stamps/$tool") == "$stamp" ]]; then
    return
  fi

  # Gardener's packages are those of the product: without -trimpath, and as the product is built, they are compiled once for both.
  local settings=(env CGO_ENABLED=0 go build -trimpath)
  [[ $module != gardener ]] || settings=(go build)
  echo "==> building $tool $version, once (about $estimate on two cores if nothing is cached yet)"
  "${settings[@]}" -ldflags "$(link_flags "$versioned" "$version")" -o "$cache/bin/.$tool.$$" "$package" &
  local pid=$! ticks=0
  trap 'kill "$pid" 2>/dev/null; rm -f "$cache/bin/.$tool.$$"' EXIT
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.5
    ticks=$((ticks + 1))
    ((ticks % 30)) || echo "    still building $tool ($((SECONDS - started)) s)"
  done
  wait "$pid"
  trap - EXIT
  mv "$cache/bin/.$tool.$$" "$cache/bin/$tool"
  echo "$stamp" >"$cache/stamps/$tool"
  echo "    built .cache/tools/bin/$tool in $((SECONDS - started)) s"
}

if (($# == 0)); then set -- "${all[@]}"; fi
for tool in "$@"; do
  build "$tool"
done
