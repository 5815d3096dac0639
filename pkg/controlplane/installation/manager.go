// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
)

// newScheme returns a scheme with the kinds that the program itself reads and writes; mutated objects stay JSON.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, authorizationv1.AddToScheme, coordinationv1.AddToScheme, admissionregistrationv1.AddToScheme,
		extensionsv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// RESTConfig returns the configuration of clients of the seed.
func (o *Installation) RESTConfig(version string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags(o.Master, o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = float32(o.Config.ClientConnection.QPS), int(o.Config.ClientConnection.Burst)
	config.UserAgent = o.Name + "/" + strings.Fields(version)[0]
	return config, nil
}

// NewManager returns a manager without servers and election.
func (o *Installation) NewManager(config *rest.Config, log logr.Logger) (manager.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	mgr, err := manager.New(config, manager.Options{
		Scheme: scheme,
		Logger: log,
		Cache:  o.cacheOptions(),
		// Leases are read once in a while and by name; and without a namespace there is nothing to restrict a cache to.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: o.uncached()}},
		// The program has servers of its own, which are bounded.
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		// The election is leadership's.
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
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		// No kind of a CustomResourceDefinition: each must exist when the manager is made.
		ByObject: map[client.Object]cache.ByObject{
			&admissionregistrationv1.MutatingWebhookConfiguration{}: {Label: labels.SelectorFromSet(labels.Set{"app.kubernetes.io/name": o.Endpoint.Service})},
		},
	}
	if o.Certificates.Namespace != "" {
		options.ByObject[&corev1.Secret{}] = cache.ByObject{Namespaces: own, Label: o.Certificates.SecretSelector()}
		options.ByObject[&corev1.ConfigMap{}] = cache.ByObject{
			Namespaces: own, Label: labels.SelectorFromSet(labels.Set{webhook.ProfileLabel: "true"}),
		}
	}
	return options
}

func (o *Installation) uncached() []client.Object {
	objects := []client.Object{&coordinationv1.Lease{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}}
	if o.Certificates.Namespace == "" {
		objects = append(objects, &corev1.Secret{}, &corev1.ConfigMap{})
	}
	return objects
}
