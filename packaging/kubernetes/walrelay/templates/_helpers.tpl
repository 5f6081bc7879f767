{{- define "walrelay.labels" -}}
app.kubernetes.io/name: walrelay
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "walrelay.selector" -}}
app.kubernetes.io/name: walrelay
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "walrelay.serviceAccount" -}}
{{- .Values.serviceAccount.name | default .Release.Name }}
{{- end }}
