// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package installation makes the parts of the extension from its configuration and adds them to a manager: profiles,
// certificates, the webhook server, the registration, the gate and the health checks. Start reading at
// Installation.AddTo.
package installation

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gardener/gardener/extensions/pkg/controller/heartbeat"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/imagevector"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts/cluster"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/gate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// RuntimeNamespacePrefix is the prefix of the namespace into which gardener-operator installs an extension for the
// virtual garden (gardener: pkg/utils/gardener/operator/extension.go). A seed may run in the same cluster, and the two
// must have different names.
const RuntimeNamespacePrefix = "runtime-extension-"

// Installation is an extension as its flags and its configuration describe it.
type Installation struct {
	// Name is the name of the program.
	Name string
	// Config is the component configuration, overridden by the flags that are set.
	Config *configv1alpha1.ControllerConfiguration
	// Kubeconfig and Master locate the cluster; both are empty in a Pod of the cluster.
	Kubeconfig, Master string
	// GardenerVersion is the Gardener version of the installation; empty for the current one.
	GardenerVersion string
	// Generation follows from GardenerVersion.
	Generation contract.Generation
	// Kubernetes are the versions of Kubernetes that are served; nil for all.
	Kubernetes *semver.Constraints
	// Certificates and Endpoint define how the API server reaches and trusts the program.
	Certificates webhook.Certificates
	Endpoint     webhook.Endpoint
	// WebhookHost is the address of the webhook server.
	WebhookHost string
	// ClientCA holds CA certificates as PEM. A caller must present a client certificate that one of them has signed; empty
	// requires none.
	ClientCA []byte
	// ManagedResource is deleted first when the installation is removed; it may be empty.
	ManagedResource client.ObjectKey
	// HeartbeatNamespace and HeartbeatSeconds configure the heartbeat Lease. There is none without a namespace.
	HeartbeatNamespace string
	HeartbeatSeconds   int32
}

// AddTo loads the profiles and adds all parts of the extension to the manager. It fails if a part cannot be created, or
// the API server does not answer.
func (o *Installation) AddTo(ctx context.Context, mgr manager.Manager, draining *atomic.Bool) (*webhook.Registrar, error) {
	direct, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("creating the uncached client: %w", err)
	}
	store, measures, err := o.addProfiles(ctx, mgr)
	if err != nil {
		return nil, err
	}
	optOuts, err := webhook.AddOptOuts(ctx, mgr, metrics.Registry)
	if err != nil {
		return nil, err
	}
	trust, err := webhook.AddCertificates(ctx, mgr, direct, o.Certificates)
	if err != nil {
		return nil, err
	}
	if err := metrics.Registry.Register(trust); err != nil {
		return nil, fmt.Errorf("registering the metrics of certificates: %w", err)
	}
	registrar := &webhook.Registrar{
		Client: mgr.GetClient(), Direct: direct, Endpoint: o.Endpoint, Trust: trust, Registrations: store.Registrations,
		ManagedResource: o.ManagedResource, SyncPeriod: o.Config.Webhook.SyncPeriod.Duration,
		ValidateProfiles: o.Config.Profiles.ConfigMaps.Enabled,
		Installations:    &webhook.Installations{Reader: mgr.GetClient(), Endpoint: o.Endpoint, Clock: clock.RealClock{}},
		Clock:            clock.RealClock{},
	}
	store.Uninstalling = registrar.Uninstalling
	callers := &webhook.Callers{Segments: trust.Segments, Certificates: len(o.ClientCA) > 0, Metrics: measures}
	handler := &webhook.Handler{
		Engine: store, Installations: registrar.Installations, OptOuts: optOuts, Metrics: measures,
		Log:            mgr.GetLogger().WithName("admission"),
		MaxReviewBytes: int64(o.Config.Webhook.MaxReviewBytes),
		Timeout:        time.Duration(o.Config.Webhook.TimeoutSeconds) * time.Second,
	}
	validations := webhook.NewValidationHandler(webhook.Validator{Store: store}, webhook.Removal{Registrar: registrar})
	if err := o.addServer(ctx, mgr, trust, callers, handler, validations, draining); err != nil {
		return nil, err
	}
	for _, add := range []func() error{
		func() error { return webhook.AddRegistrar(mgr, registrar, store) },
		func() error { return webhook.AddInstallations(mgr, registrar.Installations) },
		func() error { return o.addHeartbeat(mgr) },
		func() error { return o.addGate(mgr, store, registrar) },
		func() error { return o.addChecks(ctx, mgr, store, registrar, draining) },
	} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	return registrar, nil
}

// addProfiles loads the profiles now and after every change. Invalid profiles do not prevent the program from serving
// the valid ones. For the first load, the cache is not running yet.
func (o *Installation) addProfiles(ctx context.Context, mgr manager.Manager) (*webhook.Store, *webhook.Metrics, error) {
	measures := webhook.NewMetrics(metrics.Registry)
	profileCompiler, err := o.compiler(ctx, mgr)
	if err != nil {
		return nil, nil, err
	}
	store := webhook.NewStore(profileCompiler, profile.Parameters(o.Config.Parameters), measures, mgr.GetLogger().WithName("profiles"))
	store.Authorizer = webhook.AccessReviews{Client: mgr.GetClient()}
	readers := []webhook.ProfileReader{webhook.Paths(o.Config.Profiles.Paths)}
	if o.Config.Profiles.ConfigMaps.Enabled {
		readers = append(readers, webhook.ConfigMaps{Reader: mgr.GetClient(), Direct: mgr.GetAPIReader(), Namespace: o.Certificates.Namespace})
	}
	if err := o.keepLastGood(ctx, mgr, store); err != nil {
		return nil, nil, err
	}
	if err := store.Load(ctx, readers...); err != nil && !store.Loaded() {
		return nil, nil, fmt.Errorf("loading the profiles: %w", err)
	}
	return store, measures, mgr.Add(store)
}

// keepLastGood restores the last valid versions of profiles, and makes the leader store and report later ones.
func (o *Installation) keepLastGood(ctx context.Context, mgr manager.Manager, store *webhook.Store) error {
	namespace := o.Certificates.Namespace
	log := mgr.GetLogger().WithName("profiles")
	lastGood := &webhook.LastGood{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Namespace: namespace, Name: o.Certificates.FullName(), Store: store, Log: log,
	}
	if err := lastGood.Restore(ctx); apierrors.IsForbidden(err) {
		log.Error(err, "The last valid versions of profiles are not stored: permit the extension to read and write ConfigMaps in its namespace")
	} else if err != nil {
		return err
	}
	reports := &webhook.Reports{
		Client: mgr.GetClient(), Events: mgr.GetEventRecorderFor(o.Name), Namespace: namespace, Name: o.Certificates.FullName(), Store: store,
	}
	return webhook.AddRecords(mgr, store, lastGood, reports)
}

func (o *Installation) addHeartbeat(mgr manager.Manager) error {
	if o.HeartbeatNamespace == "" {
		return nil
	}
	return heartbeat.Add(mgr, heartbeat.AddArgs{
		ExtensionName: o.Certificates.FullName(), Namespace: o.HeartbeatNamespace,
		RenewIntervalSeconds: o.HeartbeatSeconds, Clock: clock.RealClock{},
	})
}

// clusterProgram is a mutation.Program with the source of its facts.
type clusterProgram struct {
	*mutation.Program
	source *cluster.Source
}

// Admit reads facts from the source of the program.
func (p clusterProgram) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	return p.Program.Admit(ctx, r, p.source)
}

// compiler returns a compiler of programs for the cluster. All programs share one source with its decoded facts.
func (o *Installation) compiler(ctx context.Context, mgr manager.Manager) (webhook.CompileFunc, error) {
	// Fill the cache before the first admission needs it. A seed without the kind gets it later.
	if _, err := mgr.GetCache().GetInformer(ctx, cluster.ClusterMetadata()); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("watching Clusters: %w", err)
	}
	facts := cluster.New(mgr.GetCache(), mgr.GetAPIReader(), cluster.Options{MetadataOnly: true})
	options := compiler.Options{Generation: o.Generation, Kubernetes: o.Kubernetes, Mark: true}
	var unreadable error
	options.ImageOverwrite, unreadable = readOverwrite()
	return func(documents []*profile.Document) (webhook.Mutator, error) {
		if unreadable != nil {
			// Only profiles with images need it.
			if findings := withImages(documents, unreadable); len(findings) > 0 {
				return nil, findings.Err()
			}
		}
		compiled, err := compiler.Compile(documents, options)
		if err != nil {
			return nil, err
		}
		for _, warning := range compiled.Warnings() {
			serving.Warn(mgr.GetLogger().WithName("profiles"), "A profile has a warning", "warning", warning.Error())
		}
		return clusterProgram{compiled, facts}, nil
	}, nil
}

// withImages returns a finding at the image vector of each profile that has one.
func withImages(documents []*profile.Document, err error) source.Findings {
	var findings source.Findings
	for _, d := range documents {
		if at := d.ImageVector.At; !at.Absent() && at.Node != nil {
			findings = append(findings, at.Finding("imageVector", "its images cannot be overwritten: %v", err))
		}
	}
	return findings
}

// readOverwrite reads the image vector with which the operators of a landscape overwrite images; nil without a path.
// The chart restarts the program when it changes.
func readOverwrite() (*image.Vector, error) {
	path := os.Getenv(imagevector.OverrideEnv)
	if path == "" {
		return nil, nil
	}
	raw, err := disk.ReadFile(path, disk.DocumentSize)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", imagevector.OverrideEnv, err)
	}
	overwrite, err := image.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", imagevector.OverrideEnv, err)
	}
	return overwrite, nil
}

// addGate adds the gate to the leader if it is enabled. An installation for a virtual garden has none: the installation
// of a seed in the same cluster handles the shoots of that seed.
func (o *Installation) addGate(mgr manager.Manager, store *webhook.Store, registrar *webhook.Registrar) error {
	if !o.Config.Gate.Enabled || strings.HasPrefix(o.Certificates.Namespace, RuntimeNamespacePrefix) {
		return nil
	}
	serving := o.serving(registrar)
	return gate.Add(mgr, &gate.Gate{
		Type: o.Config.Gate.Type, Namespaces: mgr.GetAPIReader(), Writer: mgr.GetClient(), Clock: clock.RealClock{},
		Serve: func(ctx context.Context, namespace metav1.Object) error {
			if namespace.GetAnnotations()[webhook.OptOutAnnotation] != "" {
				return nil
			}
			if err := store.Denied(namespace.GetLabels()); err != nil {
				return err
			}
			served, err := registrar.Covers(ctx, namespace.GetLabels())
			if err != nil || !served {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, checkTimeout)
			defer cancel()
			return serving.Check(ctx)
		},
	})
}

// newScheme returns a scheme with the kinds that the program itself reads and writes; mutated objects stay JSON.
func newScheme() (*runtime.Scheme, error) {
	builder := runtime.NewSchemeBuilder(
		appsv1.AddToScheme, corev1.AddToScheme, authorizationv1.AddToScheme, coordinationv1.AddToScheme, admissionregistrationv1.AddToScheme,
		extensionsv1alpha1.AddToScheme,
	)
	scheme := runtime.NewScheme()
	return scheme, builder.AddToScheme(scheme)
}

// RESTConfig returns the configuration of clients of the seed. It fails if the kubeconfig is unreadable.
func (o *Installation) RESTConfig(version string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags(o.Master, o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = float32(o.Config.ClientConnection.QPS), int(o.Config.ClientConnection.Burst)
	config.UserAgent = o.Name + "/" + strings.Fields(version)[0]
	return config, nil
}

// NewManager returns a manager without servers and election. It fails if controller-runtime rejects the configuration.
func (o *Installation) NewManager(config *rest.Config, log logr.Logger) (manager.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	mgr, err := manager.New(config, manager.Options{
		Scheme: scheme,
		Logger: log,
		Cache:  o.cacheOptions(),
		// Leases are read once in a while and by name.
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor: []client.Object{&coordinationv1.Lease{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}},
		}},
		// The program has servers of its own, which are bounded.
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		// Package leader elects the leader.
		LeaderElection:          false,
		GracefulShutdownTimeout: &o.Config.Shutdown.Timeout.Duration,
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	return mgr, nil
}

// cacheOptions restricts the cache, and with it the permissions: Secrets to the certificates in its own namespace,
// ConfigMaps to the profiles there, webhook registrations to its own; Namespaces are not restricted.
func (o *Installation) cacheOptions() cache.Options {
	own := map[string]cache.Config{o.Certificates.Namespace: {}}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		// No kind of a CustomResourceDefinition: each must exist when the manager is made.
		ByObject: map[client.Object]cache.ByObject{
			&admissionregistrationv1.MutatingWebhookConfiguration{}: {Label: labels.SelectorFromSet(labels.Set{"app.kubernetes.io/name": o.Endpoint.Service})},
			&corev1.Secret{}:    {Namespaces: own, Label: o.Certificates.SecretSelector()},
			&corev1.ConfigMap{}: {Namespaces: own, Label: labels.SelectorFromSet(labels.Set{webhook.ProfileLabel: "true"})},
		},
	}
}

// callsOnConnection is the average number of admissions on a connection: low enough to distribute connections to a new
// replica within a minute at a few admissions per second, and high enough to make the cost of connecting negligible.
const callsOnConnection = 256

// addServer adds the webhook server, for admissions and for the validation of profiles. It replaces
// controller-runtime's, which limits neither connections nor streams nor bodies.
func (o *Installation) addServer(ctx context.Context, mgr manager.Manager, trust *webhook.Trust, callers *webhook.Callers, handler *webhook.Handler,
	validations webhook.ValidationHandler, draining *atomic.Bool,
) error {
	l := o.Config.Limits
	guard := serving.NewGuard(serving.Limits{
		Connections: int(l.Connections), Streams: int(l.Streams), Requests: int(l.Requests), Waiting: 4 * int(l.Requests),
		BodyBytes: handler.MaxReviewBytes, BodiesBytes: int64(l.BodiesBytes), Patience: handler.Timeout, BodyTimeout: serving.BodyTimeout,
	}, serving.NewMetrics(metrics.Registry, "extension"))
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Reject unknown callers before their body is read.
		if !callers.Allow(w, r) {
			return
		}
		if err := guard.Serve(w, r, handler.MaxReviewBytes, func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
			if validation := validations(r.URL.Path); validation != nil {
				validation.ServeHTTP(w, r.WithContext(ctx))
			} else {
				handler.ServeHTTP(w, r.WithContext(ctx))
			}
		}); err != nil {
			w.Header().Set("Retry-After", "1")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	mux := http.NewServeMux()
	mux.Handle(webhook.PathPrefix, serving.Drain{Handler: serving.ConnectionSpread{Handler: guarded, Calls: callsOnConnection}, Draining: draining.Load})
	address := net.JoinHostPort(o.WebhookHost, strconv.Itoa(int(o.Config.Server.WebhookPort)))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("opening the port of the webhook server: %w", err)
	}
	server := guard.Server(mux, mgr.GetLogger().WithName("webhook-server"))
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: trust.GetCertificate}
	o.verifyCallers(server.TLSConfig)
	return mgr.Add(&manager.Server{
		Name: "webhook", Server: server, Listener: tls.NewListener(guard.Listen(listener), server.TLSConfig),
		ShutdownTimeout: &o.Config.Shutdown.Timeout.Duration,
	})
}

// verifyCallers makes the TLS server verify a client certificate if there is one; webhook.Callers requires it for
// requests.
func (o *Installation) verifyCallers(config *tls.Config) {
	if len(o.ClientCA) == 0 {
		return
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	config.ClientCAs.AppendCertsFromPEM(o.ClientCA)
}

// addHealth serves /healthz and /readyz at a separate address with separate connections, so that callers of the
// webhooks cannot exhaust them.
func (o *Installation) addHealth(ctx context.Context, mgr manager.Manager, alive, ready map[string]healthz.Checker) error {
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{"/healthz": alive, "/readyz": ready} {
		handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
		mux.Handle(path, handler)
		mux.Handle(path+"/", handler)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Config.Server.HealthBindAddress)
	if err != nil {
		return fmt.Errorf("opening the address of health checks: %w", err)
	}
	log, timeout := mgr.GetLogger().WithName("health"), time.Second
	return mgr.Add(&manager.Server{Name: "health", Server: serving.Watched(mux, log), Listener: serving.ListenWatched(listener), ShutdownTimeout: &timeout})
}

// checkTimeout bounds one check; a kubelet's probe waits a second by default.
const checkTimeout = 900 * time.Millisecond

// addChecks adds the checks of /healthz, which fails after the certificate has expired, and of /readyz, which fails
// unless admissions are answered: profiles are loaded, the caches are filled, the API server trusts the served
// certificate, and the registration is correct.
func (o *Installation) addChecks(
	ctx context.Context, mgr manager.Manager, store *webhook.Store, registrar *webhook.Registrar, draining *atomic.Bool,
) error {
	alive := map[string]healthz.Checker{
		"ping": healthz.Ping, "certificate": func(*http.Request) error { return registrar.Trust.Check(time.Now()) },
	}
	serving := o.serving(registrar)
	ready := map[string]healthz.Checker{}
	for name, check := range map[string]func(context.Context) error{
		"shutdown": func(context.Context) error { return unless(!draining.Load(), "the program is shutting down") },
		"profiles": func(context.Context) error { return unless(store.Loaded(), "no profiles are loaded") },
		"caches": func(ctx context.Context) error {
			return unless(mgr.GetCache().WaitForCacheSync(ctx), "the caches are not filled")
		},
		"webhook-server": serving.Check,
		"registration":   func(ctx context.Context) error { return registrar.Check(ctx, leads(mgr)) },
	} {
		ready[name] = bounded(check)
	}
	return o.addHealth(ctx, mgr, alive, ready)
}

// serving checks the webhook server of this process.
func (o *Installation) serving(registrar *webhook.Registrar) webhook.Serving {
	return webhook.Serving{
		Address: net.JoinHostPort(o.WebhookHost, strconv.Itoa(int(o.Config.Server.WebhookPort))),
		Name:    o.Endpoint.ServerName(), Bundle: registrar.RegisteredBundle,
	}
}

func bounded(check func(context.Context) error) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		return check(ctx)
	}
}

func unless(right bool, problem string) error {
	if right {
		return nil
	}
	return errors.New(problem)
}

func leads(mgr manager.Manager) bool {
	select {
	case <-mgr.Elected():
		return true
	default:
		return false
	}
}
