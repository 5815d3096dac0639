{{- /*
SPDX-FileCopyrightText: The Graft authors

SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- /* The name of everything. It must be what the program calls its Service and its registration. */ -}}
{{- define "graft.name" -}}
gardener-extension-provider-graft{{ include "graft.runtime" . }}
{{- end }}

{{- /* What the name ends in beside a virtual garden; empty in a seed. */ -}}
{{- define "graft.runtime" -}}
{{ if eq (toString .Values.gardener.runtimeCluster.enabled) "true" }}-runtime{{ end }}
{{- end }}

{{- define "graft.selector" -}}
app.kubernetes.io/name: {{ include "graft.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* What values cannot be together, beyond what the schema says. */ -}}
{{- define "graft.check" -}}
{{- if and .Values.config.drift.enabled (not .Values.drift.objects) }}
{{- fail "nothing may be read in search of drift: name what profiles have rules for in drift.objects, which `graft drift --rbac` writes, or set config.drift.enabled to false" }}
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
  {{- with .Values.profileImages }}
  paths:
  {{- range $i, $_ := . }}
  - /etc/graft-profiles/{{ $i }}
  {{- end }}
  {{- end }}
{{ toYaml (omit .Values.config "server" "profiles") }}
{{- end }}
