module github.com/graft-provider/gardener-extension-provider-graft

go 1.26

// All direct requirements, each with its reason; those below are indirect. A test in cmd holds it.
require (
	github.com/Masterminds/semver/v3 v3.4.0 // constraints on versions of Kubernetes and Gardener
	github.com/RoaringBitmap/roaring/v2 v2.30.0 // the used addresses of a pool, compressed
	github.com/anishathalye/porcupine v1.3.1 // histories of the network provider
	github.com/blang/semver/v4 v4.0.0 // versions of Kubernetes' CEL library, and of DRANET's attributes
	github.com/cespare/xxhash/v2 v2.3.0 // checksums of pages of the ledger file
	github.com/containernetworking/cni v1.3.0 // calls of CNI plugins
	github.com/coreos/go-systemd/v22 v22.7.0 // socket activation, sd_notify, and units in Gardener's extension library
	github.com/creack/pty v1.1.24 // tests run sessions at a terminal
	github.com/evanphx/json-patch/v5 v5.9.11 // merge patches of shoots and of interpreted objects
	github.com/gardener/etcd-druid/api v0.35.0 // the types of Etcd
	github.com/gardener/gardener v1.136.2 // the types of Gardener, its webhook and certificate packages, and the control planes that it writes
	github.com/gardener/machine-controller-manager v0.61.2 // tests interpret its kinds
	github.com/go-logr/logr v1.4.3 // the interface of logs
	github.com/go-logr/zapr v1.3.0 // the level of warnings, which logr does not have
	github.com/google/cel-go v0.26.1 // expressions of profiles
	github.com/google/go-cmp v0.7.0 // differences in tests, and of answers that must be equal
	github.com/gophercloud/gophercloud/v2 v2.15.0 // calls of OpenStack
	github.com/onsi/ginkgo/v2 v2.28.1 // suites against real servers
	github.com/onsi/gomega v1.39.0 // suites against real servers
	github.com/opencontainers/go-digest v1.0.0 // digests in images of profiles
	github.com/opencontainers/image-spec v1.1.1 // the types of images of profiles
	github.com/prometheus/client_golang v1.23.2 // metrics
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.2 // tests validate documents against the JSON Schemas
	github.com/spf13/cobra v1.10.2 // commands
	github.com/spf13/pflag v1.0.10 // flags of commands
	github.com/vishvananda/netlink v1.3.1 // the kernel's links, for Docker's networks
	github.com/vishvananda/netns v0.0.5 // network namespaces of containers
	github.com/yuin/gopher-lua v1.1.1 // customizations in Lua are checked as Karmada runs them
	go.etcd.io/bbolt v1.4.3 // the ledger in a file
	go.etcd.io/etcd/api/v3 v3.6.6 // the ledger in etcd
	go.etcd.io/etcd/client/v3 v3.6.6 // the ledger in etcd
	go.uber.org/zap v1.27.0 // the level of stack traces in Gardener's logger
	go.yaml.in/yaml/v3 v3.0.4 // YAML with positions and comments
	go4.org/netipx v0.0.0-20260823151212-3075585bcbeb // ranges and sets of addresses
	golang.org/x/net v0.58.0 // tests speak HTTP/2 by frames
	golang.org/x/sync v0.22.0 // errgroup, semaphore and singleflight
	golang.org/x/sys v0.47.0 // system calls of the kernel's links
	golang.org/x/term v0.45.0 // the width of terminals
	golang.org/x/time v0.14.0 // the rate of calls of a cloud
	gomodules.xyz/jsonpatch/v2 v2.5.0 // tests compare patches with it
	google.golang.org/grpc v1.83.2 // errors of the etcd client
	google.golang.org/protobuf v1.36.11 // values of expressions as JSON
	helm.sh/helm/v3 v3.19.5 // tests render the charts
	k8s.io/api v0.34.3 // the types of Kubernetes
	k8s.io/apiextensions-apiserver v0.34.3 // tests read the schemas of CustomResourceDefinitions
	k8s.io/apimachinery v0.34.3 // kinds, labels and errors of Kubernetes
	k8s.io/apiserver v0.34.3 // Kubernetes' CEL library and the rules by which webhooks are chosen
	k8s.io/autoscaler/vertical-pod-autoscaler v1.5.1 // the types of VerticalPodAutoscaler
	k8s.io/client-go v0.34.3 // clients of Kubernetes and the election of leaders
	k8s.io/component-base v0.34.3 // feature gates of Kubernetes
	k8s.io/klog/v2 v2.130.1 // the log of client-go
	k8s.io/kubelet v0.34.3 // the kubelet's configuration
	k8s.io/pod-security-admission v0.34.3 // labels of namespaces in the test landscape
	k8s.io/utils v0.0.0-20260108192941-914a6e750570 // clocks, pointers and caches
	layeh.com/gopher-json v0.0.0-20201124131017-552bb3c4c3bf // JSON in Lua, as Karmada has it
	sigs.k8s.io/controller-runtime v0.22.5 // the manager and the client of the extension
	sigs.k8s.io/json v0.0.0-20250730193827-2d320260d730 // JSON decoded as Kubernetes decodes it
	sigs.k8s.io/yaml v1.6.0 // YAML of Kubernetes objects
	znkr.io/diff v1.0.0 // differences in the output of graft
)

require (
	cel.dev/expr v0.25.2 // indirect
	dario.cat/mergo v1.0.2 // indirect
	github.com/BurntSushi/toml v1.5.0 // indirect
	github.com/Masterminds/goutils v1.1.1 // indirect
	github.com/Masterminds/sprig/v3 v3.3.0 // indirect
	github.com/PaesslerAG/gval v1.2.4 // indirect
	github.com/PaesslerAG/jsonpath v0.1.2-0.20240726212847-3a740cf7976f // indirect
	github.com/VictoriaMetrics/VictoriaLogs v1.36.2-0.20251008164716-21c0fb3de84d // indirect
	github.com/VictoriaMetrics/VictoriaMetrics v1.131.0 // indirect
	github.com/VictoriaMetrics/easyproto v0.1.4 // indirect
	github.com/VictoriaMetrics/metrics v1.40.2 // indirect
	github.com/VictoriaMetrics/metricsql v0.84.8 // indirect
	github.com/VictoriaMetrics/operator/api v0.66.1 // indirect
	github.com/andybalholm/brotli v1.2.0 // indirect
	github.com/antlr4-go/antlr/v4 v4.13.1 // indirect
	github.com/aws/aws-sdk-go-v2 v1.39.6 // indirect
	github.com/aws/aws-sdk-go-v2/config v1.31.17 // indirect
	github.com/aws/aws-sdk-go-v2/credentials v1.18.21 // indirect
	github.com/aws/aws-sdk-go-v2/feature/ec2/imds v1.18.13 // indirect
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.4.13 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.7.13 // indirect
	github.com/aws/aws-sdk-go-v2/internal/ini v1.8.4 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding v1.13.3 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/presigned-url v1.13.13 // indirect
	github.com/aws/aws-sdk-go-v2/service/sso v1.30.1 // indirect
	github.com/aws/aws-sdk-go-v2/service/ssooidc v1.35.5 // indirect
	github.com/aws/aws-sdk-go-v2/service/sts v1.39.1 // indirect
	github.com/aws/smithy-go v1.23.2 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/bmatcuk/doublestar/v4 v4.9.1 // indirect
	github.com/brunoga/deep v1.2.5 // indirect
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	github.com/coreos/go-semver v0.3.1 // indirect
	github.com/cyphar/filepath-securejoin v0.6.1 // indirect
	github.com/davecgh/go-spew v1.1.2-0.20180830191138-d8f796af33cc // indirect
	github.com/elliotchance/orderedmap/v3 v3.1.0 // indirect
	github.com/emicklei/go-restful/v3 v3.13.0 // indirect
	github.com/felixge/httpsnoop v1.0.4 // indirect
	github.com/fluent/fluent-operator/v3 v3.5.0 // indirect
	github.com/fsnotify/fsnotify v1.9.0 // indirect
	github.com/fxamacker/cbor/v2 v2.9.0 // indirect
	github.com/gardener/cert-management v0.19.0 // indirect
	github.com/gardener/dependency-watchdog v1.6.0 // indirect
	github.com/go-jose/go-jose/v4 v4.1.9 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/go-openapi/errors v0.22.3 // indirect
	github.com/go-openapi/jsonpointer v0.22.1 // indirect
	github.com/go-openapi/jsonreference v0.21.2 // indirect
	github.com/go-openapi/swag v0.25.1 // indirect
	github.com/go-openapi/swag/cmdutils v0.25.1 // indirect
	github.com/go-openapi/swag/conv v0.25.1 // indirect
	github.com/go-openapi/swag/fileutils v0.25.1 // indirect
	github.com/go-openapi/swag/jsonname v0.25.1 // indirect
	github.com/go-openapi/swag/jsonutils v0.25.1 // indirect
	github.com/go-openapi/swag/loading v0.25.1 // indirect
	github.com/go-openapi/swag/mangling v0.25.1 // indirect
	github.com/go-openapi/swag/netutils v0.25.1 // indirect
	github.com/go-openapi/swag/stringutils v0.25.1 // indirect
	github.com/go-openapi/swag/typeutils v0.25.1 // indirect
	github.com/go-openapi/swag/yamlutils v0.25.1 // indirect
	github.com/go-task/slim-sprig/v3 v3.0.0 // indirect
	github.com/go-test/deep v1.1.1 // indirect
	github.com/gobwas/glob v0.2.3 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang-jwt/jwt/v5 v5.3.0 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/google/btree v1.1.3 // indirect
	github.com/google/gnostic-models v0.7.0 // indirect
	github.com/google/pprof v0.0.0-20260115054156-294ebfa9ad83 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/gorilla/websocket v1.5.4-0.20250319132907-e064f32e3674 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.27.3 // indirect
	github.com/hashicorp/errwrap v1.1.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/hashicorp/go-version v1.7.0 // indirect
	github.com/huandu/xstrings v1.5.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jpillora/backoff v1.0.0 // indirect
	github.com/json-iterator/go v1.1.13-0.20220915233716-71ac16282d12 // indirect
	github.com/klauspost/compress v1.18.2 // indirect
	github.com/kubernetes-csi/external-snapshotter/client/v4 v4.2.0 // indirect
	github.com/kylelemons/godebug v1.1.0 // indirect
	github.com/labstack/echo/v4 v4.13.4 // indirect
	github.com/labstack/gommon v0.4.2 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/mitchellh/copystructure v1.2.0 // indirect
	github.com/mitchellh/hashstructure/v2 v2.0.2 // indirect
	github.com/mitchellh/mapstructure v1.5.0 // indirect
	github.com/mitchellh/reflectwalk v1.0.2 // indirect
	github.com/moby/spdystream v0.5.0 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.3-0.20250322232337-35a7c28c31ee // indirect
	github.com/mschoch/smat v0.2.0 // indirect
	github.com/muhlemmer/gu v0.3.1 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/mwitkow/go-conntrack v0.0.0-20190716064945-2f068394615f // indirect
	github.com/mxk/go-flowrate v0.0.0-20140419014527-cca7078d478f // indirect
	github.com/nexucis/lamenv v0.5.2 // indirect
	github.com/open-telemetry/opentelemetry-operator v0.143.0 // indirect
	github.com/perses/common v0.27.1-0.20250326140707-96e439b14e0e // indirect
	github.com/perses/perses v0.51.0 // indirect
	github.com/perses/perses-operator v0.2.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2 // indirect
	github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring v0.89.0 // indirect
	github.com/prometheus/alertmanager v0.29.0 // indirect
	github.com/prometheus/client_model v0.6.2 // indirect
	github.com/prometheus/common v0.67.5 // indirect
	github.com/prometheus/otlptranslator v1.0.0 // indirect
	github.com/prometheus/procfs v0.19.2 // indirect
	github.com/prometheus/sigv4 v0.3.0 // indirect
	github.com/robfig/cron v1.2.0 // indirect
	github.com/shopspring/decimal v1.4.0 // indirect
	github.com/sirupsen/logrus v1.9.3 // indirect
	github.com/spf13/cast v1.10.0 // indirect
	github.com/stoewer/go-strcase v1.3.1 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	github.com/valyala/fastjson v1.6.4 // indirect
	github.com/valyala/fastrand v1.1.0 // indirect
	github.com/valyala/fasttemplate v1.2.2 // indirect
	github.com/valyala/gozstd v1.24.0 // indirect
	github.com/valyala/histogram v1.2.0 // indirect
	github.com/valyala/quicktemplate v1.8.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	github.com/zitadel/oidc/v3 v3.38.1 // indirect
	github.com/zitadel/schema v1.3.1 // indirect
	go.etcd.io/etcd/client/pkg/v3 v3.6.6 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/collector/featuregate v1.45.0 // indirect
	go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp v0.63.0 // indirect
	go.opentelemetry.io/contrib/otelconf v0.18.0 // indirect
	go.opentelemetry.io/otel v1.44.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc v0.14.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp v0.14.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc v1.38.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp v1.39.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.38.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc v1.38.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp v1.38.0 // indirect
	go.opentelemetry.io/otel/exporters/prometheus v0.61.0 // indirect
	go.opentelemetry.io/otel/exporters/stdout/stdoutlog v0.14.0 // indirect
	go.opentelemetry.io/otel/exporters/stdout/stdoutmetric v1.38.0 // indirect
	go.opentelemetry.io/otel/exporters/stdout/stdouttrace v1.38.0 // indirect
	go.opentelemetry.io/otel/log v0.14.0 // indirect
	go.opentelemetry.io/otel/metric v1.44.0 // indirect
	go.opentelemetry.io/otel/sdk v1.44.0 // indirect
	go.opentelemetry.io/otel/sdk/log v0.14.0 // indirect
	go.opentelemetry.io/otel/sdk/metric v1.44.0 // indirect
	go.opentelemetry.io/otel/trace v1.44.0 // indirect
	go.opentelemetry.io/proto/otlp v1.9.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.yaml.in/yaml/v2 v2.4.3 // indirect
	go.yaml.in/yaml/v4 v4.0.0-rc.2 // indirect
	golang.org/x/crypto v0.55.0 // indirect
	golang.org/x/exp v0.0.0-20260112195511-716be5621a96 // indirect
	golang.org/x/mod v0.38.0 // indirect
	golang.org/x/oauth2 v0.36.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	golang.org/x/tools v0.48.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260526163538-3dc84a4a5aaa // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260526163538-3dc84a4a5aaa // indirect
	gopkg.in/evanphx/json-patch.v4 v4.13.0 // indirect
	gopkg.in/inf.v0 v0.9.1 // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
	istio.io/api v1.27.6 // indirect
	istio.io/client-go v1.27.2 // indirect
	k8s.io/cluster-bootstrap v0.34.3 // indirect
	k8s.io/component-helpers v0.34.3 // indirect
	k8s.io/kube-aggregator v0.34.3 // indirect
	k8s.io/kube-openapi v0.0.0-20250910181357-589584f1c912 // indirect
	k8s.io/metrics v0.34.3 // indirect
	sigs.k8s.io/apiserver-network-proxy/konnectivity-client v0.33.0 // indirect
	sigs.k8s.io/gateway-api v1.3.0 // indirect
	sigs.k8s.io/randfill v1.0.0 // indirect
	sigs.k8s.io/structured-merge-diff/v6 v6.3.0 // indirect
)
