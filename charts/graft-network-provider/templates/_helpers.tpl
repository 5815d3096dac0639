{{- /*
SPDX-FileCopyrightText: The Graft authors

SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- define "graft.name" -}}
{{ if contains "graft-network-provider" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-graft-network-provider" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "graft.selector" -}}
app.kubernetes.io/name: graft-network-provider
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "graft.labels" -}}
{{ include "graft.selector" . }}
app.kubernetes.io/component: {{ .Values.mode }}
app.kubernetes.io/part-of: graft
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* Not empty if the ledger is in etcd. */ -}}
{{- define "graft.etcd" -}}
{{ if .Values.ledger.etcd.endpoints }}true{{ end }}
{{- end }}

{{- /* Not empty if the ledger is on a volume of the service. */ -}}
{{- define "graft.volume" -}}
{{ if and (eq .Values.mode "service") (not .Values.ledger.etcd.endpoints) }}true{{ end }}
{{- end }}

{{- /* The ConfigMaps with profiles: the named ones, or by default that of the chart graft-profiles. */ -}}
{{- define "graft.configMaps" -}}
{{- if or .Values.profiles.configMaps .Values.profiles.images .Values.profiles.inline }}
{{- .Values.profiles.configMaps | toJson }}
{{- else }}
{{- list "graft-network-profiles" | toJson }}
{{- end }}
{{- end }}

{{- /* Checks of combined values, in addition to the schema. */ -}}
{{- define "graft.check" -}}
{{- if and (include "graft.volume" .) (or .Values.service.hpa.enabled (gt (int .Values.service.replicas) 1)) }}
{{- fail "several replicas need a shared ledger: set ledger.etcd.endpoints, or set service.replicas to 1 and service.hpa.enabled to false" }}
{{- end }}
{{- if and (eq .Values.mode "node") (not (or .Values.node.sockets.dranet.enabled .Values.node.sockets.spiderpool.enabled .Values.node.docker.enabled)) }}
{{- fail "no listener: enable one of node.sockets.dranet, node.sockets.spiderpool and node.docker" }}
{{- end }}
{{- end }}

{{- /* The component configuration. */ -}}
{{- define "graft.config" -}}
apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
profiles:
  paths:
  {{- range include "graft.configMaps" . | fromJsonArray }}
  - /etc/graft/profiles/{{ . }}
  {{- end }}
  {{- range $i, $_ := .Values.profiles.images }}
  - /etc/graft/profile-images/{{ $i }}
  {{- end }}
  {{- if .Values.profiles.inline }}
  - /etc/graft/profiles/{{ include "graft.name" . }}-profiles
  {{- end }}
ledger:
  {{- if include "graft.etcd" . }}
  etcd:
    endpoints: {{- toYaml .Values.ledger.etcd.endpoints | nindent 4 }}
    prefix: {{ .Values.ledger.etcd.prefix | quote }}
    {{- if .Values.ledger.etcd.tlsSecretName }}
    caFile: /etc/graft/etcd/ca.crt
    certFile: /etc/graft/etcd/tls.crt
    keyFile: /etc/graft/etcd/tls.key
    {{- end }}
  {{- else }}
  path: /var/lib/graft/ledger
  {{- end }}
listeners:
{{- if eq .Values.mode "service" }}
- address: tcp://0.0.0.0:{{ .Values.service.containerPort }}
  contracts: {{- toYaml .Values.service.contracts | nindent 2 }}
  {{- if eq .Values.service.tls.source "none" }}
  insecure: true
  {{- else }}
  tls:
    certFile: /etc/graft/tls/tls.crt
    keyFile: /etc/graft/tls/tls.key
    {{- if .Values.service.clientCASecretName }}
    clientCAFile: /etc/graft/clients/ca.crt
    {{- end }}
  {{- end }}
{{- else }}
{{- range $name, $socket := .Values.node.sockets }}
{{- if $socket.enabled }}
- address: unix:///run/graft/{{ $name }}.sock
  contracts: [{{ $name }}]
  mode: {{ $socket.mode | quote }}
  {{- if $socket.group }}
  owner: "{{ $.Values.node.user }}:{{ $socket.group }}"
  {{- end }}
{{- end }}
{{- end }}
{{- if .Values.node.docker.enabled }}
- address: unix:///run/docker/plugins/{{ .Values.node.docker.driver }}.sock
  contracts: [docker]
{{- end }}
{{- end }}
metrics:
  address: ":{{ .Values.metrics.port }}"
{{- if .Values.leaks.lookForHolders }}
kubernetes: {}
{{- end }}
{{- with .Values.config }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Groups of sockets: without a capability, the program can only set its own groups on a file. */ -}}
{{- define "graft.groups" -}}
{{- $groups := list }}
{{- range $name, $socket := .Values.node.sockets }}
{{- if and $socket.enabled $socket.group }}
{{- $groups = append $groups (int $socket.group) }}
{{- end }}
{{- end }}
{{- $groups | uniq | toJson }}
{{- end }}

{{- /* Labels and annotations of the Pods, in both modes. */ -}}
{{- define "graft.podMetadata" -}}
annotations:
  checksum/config: {{ include "graft.config" . | sha256sum }}
  {{- if .Values.metrics.enableScraping }}
  prometheus.io/scrape: "true"
  prometheus.io/name: {{ include "graft.name" . }}
  prometheus.io/port: {{ .Values.metrics.port | quote }}
  {{- end }}
  {{- with .Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
labels:
  {{- include "graft.selector" . | nindent 2 }}
  app.kubernetes.io/component: {{ .Values.mode }}
  {{- if .Values.gardener.networkPolicyLabels }}
  networking.gardener.cloud/to-dns: allowed
  {{- if .Values.leaks.lookForHolders }}
  networking.gardener.cloud/to-runtime-apiserver: allowed
  {{- end }}
  {{- end }}
  {{- with .Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* The common parts of the containers of both modes. */ -}}
{{- define "graft.container" -}}
name: graft-network-provider
image: {{ .Values.image }}
imagePullPolicy: {{ .Values.imagePullPolicy }}
args:
- --config=/etc/graft/config/config.yaml
ports:
- name: metrics
  containerPort: {{ .Values.metrics.port }}
  protocol: TCP
{{- if eq .Values.mode "service" }}
- name: service
  containerPort: {{ .Values.service.containerPort }}
  protocol: TCP
{{- end }}
# Opening a large ledger takes a while; /healthz answers during that time.
startupProbe:
  httpGet:
    path: /healthz
    port: metrics
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /healthz
    port: metrics
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet:
    path: /readyz
    port: metrics
  periodSeconds: 5
  timeoutSeconds: 2
  # The program continues to serve for its shutdown delay after the first failure.
  failureThreshold: 1
{{- with .Values.resources }}
resources: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "graft.commonMounts" -}}
- name: config
  mountPath: /etc/graft/config
  readOnly: true
{{- range $i, $name := include "graft.configMaps" . | fromJsonArray }}
- name: profiles-{{ $i }}
  mountPath: /etc/graft/profiles/{{ $name }}
  readOnly: true
{{- end }}
{{- range $i, $_ := .Values.profiles.images }}
- name: profiles-image-{{ $i }}
  mountPath: /etc/graft/profile-images/{{ $i }}
  readOnly: true
{{- end }}
{{- if .Values.profiles.inline }}
- name: profiles
  mountPath: /etc/graft/profiles/{{ include "graft.name" . }}-profiles
  readOnly: true
{{- end }}
{{- if and (include "graft.etcd" .) .Values.ledger.etcd.tlsSecretName }}
- name: etcd
  mountPath: /etc/graft/etcd
  readOnly: true
{{- end }}
{{- end }}

{{- define "graft.commonVolumes" -}}
- name: config
  configMap:
    name: {{ include "graft.name" . }}-config
{{- range $i, $name := include "graft.configMaps" . | fromJsonArray }}
- name: profiles-{{ $i }}
  configMap:
    name: {{ $name }}
{{- end }}
{{- range $i, $image := .Values.profiles.images }}
- name: profiles-image-{{ $i }}
  image:
    reference: {{ $image }}
{{- end }}
{{- if .Values.profiles.inline }}
- name: profiles
  configMap:
    name: {{ include "graft.name" . }}-profiles
{{- end }}
{{- if and (include "graft.etcd" .) .Values.ledger.etcd.tlsSecretName }}
- name: etcd
  secret:
    secretName: {{ .Values.ledger.etcd.tlsSecretName }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{- define "graft.etcdUser" -}}
{{- if and (include "graft.etcd" .) .Values.ledger.etcd.userSecretName }}
- name: GRAFT_ETCD_USERNAME
  valueFrom:
    secretKeyRef:
      name: {{ .Values.ledger.etcd.userSecretName }}
      key: username
- name: GRAFT_ETCD_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .Values.ledger.etcd.userSecretName }}
      key: password
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
