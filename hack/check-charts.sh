#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Graft authors
#
# SPDX-License-Identifier: Apache-2.0

# Renders every chart in charts/ with its default values, and with those of hack/charts, and decodes the manifests. No chart at all is a failure: a check
# that has nothing to look at must not look like one that found nothing wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

shopt -s nullglob
charts=(charts/*/Chart.yaml)
if ((${#charts[@]} == 0)); then
  echo "there is NO CHART in charts/: nothing could be checked" >&2
  exit 1
fi
.cache/tools/bin/chart "${charts[@]%/Chart.yaml}"
for values in hack/charts/*.yaml; do
  name=${values##*/}
  .cache/tools/bin/chart -values "$values" "charts/${name%.yaml}"
done
