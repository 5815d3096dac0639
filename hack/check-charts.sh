#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Renders every chart in charts/ with all values that there are for it in hack/charts/values, and decodes the manifests. No chart, or a chart without values, is
# a failure: a check that has nothing to look at must not look like one that found nothing wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

shopt -s nullglob
charts=(charts/*/Chart.yaml)
if ((${#charts[@]} == 0)); then
  echo "there is NO CHART in charts/: nothing could be checked" >&2
  exit 1
fi
for chart in "${charts[@]%/Chart.yaml}"; do
  cases=(hack/charts/values/"${chart##*/}"/*.yaml)
  if ((${#cases[@]} == 0)); then
    echo "there are NO VALUES for $chart in hack/charts/values: it could not be checked" >&2
    exit 1
  fi
  for values in "${cases[@]}"; do
    .cache/tools/bin/chart -values "$values" "$chart"
  done
done
