// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/imagevector"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts/cluster"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
)

// program is a mutation.Program with the source of its facts.
type program struct {
	*mutation.Program
	source  *cluster.Source
	counted *webhook.CountedSource // the same, which keeps as much as the program names
}

// Admit reads facts from the source of the program.
func (p program) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	return p.Program.Admit(ctx, r, p.counted)
}

// Activate makes the source follow what this program looks up, and no longer what the one before did.
func (p program) Activate() { p.source.Serve(p.Lookups()) }

// compiler binds programs to the cluster. All programs share one source, and with it what is decoded.
func (o *Options) compiler(mgr manager.Manager) (webhook.Compiler, error) {
	watcher, err := client.NewWithWatch(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("creating the client for lookups: %w", err)
	}
	requests, err := apiutil.RESTClientForGVK(extensionsv1alpha1.SchemeGroupVersion.WithKind("Cluster"), true, false, mgr.GetConfig(),
		serializer.NewCodecFactory(mgr.GetScheme()), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating the client for Clusters: %w", err)
	}
	source := cluster.New(mgr.GetCache(), mgr.GetAPIReader(), cluster.Options{Watcher: watcher, Requests: requests})
	if err := mgr.Add(source); err != nil {
		return nil, fmt.Errorf("adding the lookups: %w", err)
	}
	counted := webhook.NewCountedSource(metrics.Registry, source)
	options := mutation.Options{Generation: o.Generation, Kubernetes: o.Kubernetes, Mark: true}
	return func(documents []*profile.Document) (webhook.Program, error) {
		var err error
		if options.ImageOverwrite, err = readOverwrite(os.Getenv(imagevector.OverrideEnv)); err != nil {
			return nil, err
		}
		compiled, err := mutation.Compile(documents, options)
		if err != nil {
			return nil, err
		}
		for _, warning := range compiled.Warnings() {
			mgr.GetLogger().Info("A profile says what is deprecated", "warning", warning.Error())
		}
		return program{compiled, source, counted.With(source.Naming(compiled.Parts()))}, nil
	}, nil
}

// readOverwrite reads the image vector with which the operators of a landscape overwrite images; nil without a path.
func readOverwrite(path string) (*image.Vector, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path) //nolint:gosec // whoever runs the program names the file
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", imagevector.OverrideEnv, err)
	}
	overwrite, err := image.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", imagevector.OverrideEnv, err)
	}
	return overwrite, nil
}

// overwriteFile is what stands in the file that readOverwrite reads; nothing where it cannot be read.
func overwriteFile() []byte {
	raw, _ := os.ReadFile(os.Getenv(imagevector.OverrideEnv)) //nolint:gosec // whoever runs the program names the file
	return raw
}

// warm has the cache of namespaces filled before the first admission needs it. Clusters are no matter of the cache: the source follows
// them by itself, and the program is ready without a list of them.
func warm(ctx context.Context, mgr manager.Manager) error {
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if _, err := mgr.GetCache().GetInformer(ctx, namespaces); err != nil {
		return fmt.Errorf("filling the cache of namespaces: %w", err)
	}
	return nil
}
