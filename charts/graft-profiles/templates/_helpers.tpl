{{- /*
SPDX-FileCopyrightText: The Graft authors

SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- /* The metadata of all ConfigMaps, from the root and the kind of profile in the label. */ -}}
{{- define "graft.metadata" -}}
namespace: {{ .root.Release.Namespace }}
labels:
  app.kubernetes.io/name: graft-profiles
  app.kubernetes.io/instance: {{ .root.Release.Name }}
  app.kubernetes.io/part-of: graft
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
  {{ .label }}: "true"
  {{- with .root.Values.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .root.Values.annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* One profile as a text, from its name, kind and value. A wrong kind is rejected, as the program would do later. */ -}}
{{- define "graft.text" -}}
{{- if kindIs "string" .written }}
{{- if not (regexMatch (printf "(?m)^[\"']?kind[\"']?:\\s*[\"']?%s[\"']?\\s*(#.*)?$" .kind) .written) }}
{{- fail (printf "%s: the text has no line kind: %s" .name .kind) }}
{{- end }}
{{- .written }}
{{- else }}
{{- toYaml .written }}
{{- end }}
{{- end }}

{{- /* The data of a ConfigMap with all profiles of a kind, from the values and from a folder. */ -}}
{{- define "graft.all" -}}
{{- $root := .root }}
{{- $kind := .kind }}
{{- $data := dict }}
{{- range $name, $written := .values }}
{{- $_ := set $data (printf "%s.yaml" $name) (include "graft.text" (dict "name" $name "kind" $kind "written" $written)) }}
{{- end }}
{{- range $path, $_ := .root.Files.Glob (printf "profiles/%s/*.yaml" .folder) }}
{{- if hasKey $data (base $path) }}
{{- fail (printf "%s: the values have a profile with this name, too" $path) }}
{{- end }}
{{- $_ := set $data (base $path) (include "graft.text" (dict "name" $path "kind" $kind "written" ($root.Files.Get $path))) }}
{{- end }}
{{- range $key, $text := $data }}
{{ $key | quote }}: {{ $text | quote }}
{{- end }}
{{- end }}
