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

{{- /* What the pods of relays and of commands have in common: everything but the container's arguments and probes. */ -}}
{{- define "walrelay.pod" -}}
serviceAccountName: {{ include "walrelay.serviceAccount" . }}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  # Makes the files of Secrets readable for this group.
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: pipelines
    configMap: {name: {{ .Release.Name }}}
  {{- range .Values.secrets }}
  - name: {{ printf "secret-%s" . }}
    # walrelay refuses secrets that other users can read.
    secret: {secretName: {{ . }}, defaultMode: 0440}
  {{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "walrelay.container" -}}
name: walrelay
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
env:
  # The kubelet's probes and Prometheus connect to the address of the pod.
  - {name: WALRELAY_HTTP__LISTEN, value: "0.0.0.0:9464"}
  # Every pod of the cluster can connect, too, unless a NetworkPolicy says otherwise.
  - {name: WALRELAY_HTTP__ROW_DATA, value: {{ .Values.http.rowData | quote }}}
  - {name: WALRELAY_LOG__LEVEL, value: {{ .Values.log.level | quote }}}
  - {name: WALRELAY_LOG__FORMAT, value: json}
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources: {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  - {name: pipelines, mountPath: /etc/walrelay/pipelines, readOnly: true}
  {{- range .Values.secrets }}
  - {name: {{ printf "secret-%s" . }}, mountPath: {{ printf "/etc/walrelay/secrets/%s" . }}, readOnly: true}
  {{- end }}
{{- end }}
