{{- /*
SPDX-FileCopyrightText: The Graft authors

SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- define "graft.name" -}}
{{ if contains "graft-resource-interpreter" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-graft-resource-interpreter" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "graft.selector" -}}
app.kubernetes.io/name: graft-resource-interpreter
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "graft.labels" -}}
{{ include "graft.selector" . }}
app.kubernetes.io/part-of: graft
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* Checks of combined values, in addition to the schema. */ -}}
{{- define "graft.check" -}}
{{- if not (or .Values.profiles.gardener .Values.profiles.configMaps .Values.profiles.images .Values.profiles.inline) }}
{{- fail "no profiles: set profiles.gardener, profiles.configMaps, profiles.images or profiles.inline" }}
{{- end }}
{{- end }}

{{- /* The names of the Service for callers. */ -}}
{{- define "graft.dnsNames" -}}
{{- $host := printf "%s.%s.svc" (include "graft.name" .) .Release.Namespace -}}
- {{ $host }}
- {{ $host }}.cluster.local
{{- with .Values.registration.url }}
{{- $name := (urlParse .).hostname }}
{{- if not (or (regexMatch "^[0-9.]+$" $name) (contains ":" $name)) }}
- {{ $name }}
{{- end }}
{{- end }}
{{- with .Values.certificate.dnsNames }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "graft.config" -}}
apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: ResourceInterpreterConfiguration
profiles:
  gardener: {{ .Values.profiles.gardener }}
  {{- if or .Values.profiles.configMaps .Values.profiles.images .Values.profiles.inline }}
  paths:
  {{- range .Values.profiles.configMaps }}
  - /etc/graft/profiles/{{ . }}
  {{- end }}
  {{- range $i, $_ := .Values.profiles.images }}
  - /etc/graft/profile-images/{{ $i }}
  {{- end }}
  {{- if .Values.profiles.inline }}
  - /etc/graft/profiles/{{ include "graft.name" . }}-profiles
  {{- end }}
  {{- end }}
server:
  address: ":{{ .Values.service.containerPort }}"
certificate:
  overlap: {{ .Values.certificate.overlap }}
  {{- if eq .Values.certificate.source "self" }}
  secret:
    namespace: {{ .Release.Namespace }}
    name: {{ .Values.certificate.secretName }}
  dnsNames: {{- include "graft.dnsNames" . | nindent 2 }}
  {{- with .Values.certificate.ipAddresses }}
  ipAddresses: {{- toYaml . | nindent 2 }}
  {{- end }}
  validity: {{ .Values.certificate.validity }}
  authorityValidity: {{ .Values.certificate.authorityValidity }}
  {{- else }}
  files:
    certFile: /etc/graft/tls/tls.crt
    keyFile: /etc/graft/tls/tls.key
    {{- if .Values.certificate.useCA }}
    caFile: /etc/graft/tls/ca.crt
    {{- end }}
  {{- end }}
kubernetes:
  namespace: {{ .Release.Namespace }}
{{- if .Values.registration.enabled }}
registration:
  name: {{ .Values.registration.name }}
  {{- if .Values.registration.kubeconfigSecretName }}
  kubeconfig: /etc/graft/karmada/kubeconfig
  {{- end }}
  {{- if .Values.registration.url }}
  url: {{ .Values.registration.url | quote }}
  {{- else }}
  service:
    namespace: {{ .Release.Namespace }}
    name: {{ include "graft.name" . }}
    port: {{ .Values.service.port }}
  {{- end }}
  {{- with .Values.registration.dialects }}
  dialects: {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .Values.registration.without }}
  without: {{- toYaml . | nindent 2 }}
  {{- end }}
  timeoutSeconds: {{ .Values.registration.timeoutSeconds }}
  syncPeriod: {{ .Values.registration.syncPeriod }}
{{- end }}
leaderElection:
  enabled: {{ .Values.registration.enabled }}
  resourceName: {{ include "graft.name" . }}
  resourceNamespace: {{ .Release.Namespace }}
metrics:
  address: ":{{ .Values.metrics.port }}"
{{- with .Values.config }}
{{ toYaml . }}
{{- end }}
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
