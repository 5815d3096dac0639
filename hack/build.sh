#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Builds the programs into bin/. make sets GRAFT_LDFLAGS. go build updates the time of a program even if it does not
# build it again, and go test would then repeat every suite that runs the program. A program with the same content
# therefore gets its previous time back, unless a source file is newer, which test/env refuses. So does bin/ itself, whose
# time is an input of the tests that list the folders of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p bin .cache/times
touch -r bin .cache/times/bin
before=$(ls bin)
go build -buildvcs=false -ldflags "$GRAFT_LDFLAGS" -o bin/ ./cmd/...
for folder in cmd/*/; do
  name=$(basename "$folder")
  sum=$(cksum <"bin/$name")
  previous=.cache/times/$name.${sum// /-} # an empty file with the time of the program
  if [ -e "$previous" ] && [ -z "$(find cmd pkg -type f ! -name '*_test.go' -newer "$previous" -print -quit)" ]; then
    touch -r "$previous" "bin/$name"
  else
    rm -f ".cache/times/$name".*
    touch -r "bin/$name" "$previous"
  fi
done
if [ "$before" = "$(ls bin)" ]; then touch -r .cache/times/bin bin; fi
