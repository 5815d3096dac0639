{{- /*
SPDX-FileCopyrightText: The Graft authors

SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- /* The name of all objects. It must be the name that the program uses for its Service and its registration. */ -}}
{{- define "graft.name" -}}
gardener-extension-provider-graft{{ include "graft.runtime" . }}
{{- end }}

{{- /* The suffix of the name in the runtime cluster of a virtual garden; empty in a seed. */ -}}
{{- define "graft.runtime" -}}
{{ if eq (toString .Values.gardener.runtimeCluster.enabled) "true" }}-runtime{{ end }}
{{- end }}

{{- /* The name of cluster-scoped objects: two installations in one cluster share nothing. It must be the name that the program uses for its registration. */ -}}
{{- define "graft.cluster" -}}
{{ include "graft.name" . }}.{{ .Release.Namespace }}
{{- end }}

{{- /* The ManagedResource of the chart, derived from its namespace. */ -}}
{{- define "graft.managed" -}}
{{ if hasPrefix "runtime-extension-" .Release.Namespace }}extension-{{ trimPrefix "runtime-extension-" .Release.Namespace }}-garden{{ else }}{{ trimPrefix "extension-" .Release.Namespace }}{{ end }}
{{- end }}

{{- define "graft.selector" -}}
app.kubernetes.io/name: {{ include "graft.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The images of profiles as a list; the value may be a text. */ -}}
{{- define "graft.profileImages" -}}
{{- if kindIs "string" .Values.profileImages }}
{{- regexSplit "[\\s,]+" .Values.profileImages -1 | compact | toJson }}
{{- else }}
{{- .Values.profileImages | toJson }}
{{- end }}
{{- end }}

{{- /* The component configuration; ports and profiles are decided by the chart. */ -}}
{{- define "graft.config" -}}
apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: ControllerConfiguration
server:
  webhookPort: {{ .Values.ports.webhook }}
  metricsBindAddress: ":{{ .Values.ports.metrics }}"
  healthBindAddress: ":{{ .Values.ports.health }}"
profiles:
  configMaps:
    enabled: true
  {{- with include "graft.profileImages" . | fromJsonArray }}
  paths:
  {{- range $i, $_ := . }}
  - /etc/graft-profiles/{{ $i }}
  {{- end }}
  {{- end }}
{{ toYaml (omit .Values.config "server" "profiles") }}
{{- end }}

{{- /* Four fifths of the container's memory limit, in bytes: the rest is for memory that Go does not count. Empty without a limit. */}}
{{- define "graft.goMemoryLimit" -}}
{{- $limit := dig "limits" "memory" "" (.Values.resources | default dict) }}
{{- if kindIs "float64" $limit }}{{ $limit = printf "%.0f" $limit }}{{ end }}
{{- with toString $limit }}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 }}
{{- $unit := regexFind "[A-Za-z]+$" . }}
{{- mulf (float64 (trimSuffix $unit .)) (get $units $unit | default 1.0) 0.8 | printf "%.0f" }}
{{- end }}
{{- end }}

{{- /* Go's runtime stays within the limit of the container instead of being killed. */}}
{{- define "graft.memoryEnvironment" -}}
{{- with include "graft.goMemoryLimit" . }}
- name: GOMEMLIMIT
  value: {{ . | quote }}
{{- end }}
{{- end }}
