// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

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
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
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
func (o *Installation) compiler(mgr manager.Manager) (webhook.Compiler, *cluster.Source, error) {
	watcher, err := client.NewWithWatch(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, nil, fmt.Errorf("creating the client for lookups: %w", err)
	}
	requests, err := apiutil.RESTClientForGVK(extensionsv1alpha1.SchemeGroupVersion.WithKind("Cluster"), true, false, mgr.GetConfig(),
		serializer.NewCodecFactory(mgr.GetScheme()), mgr.GetHTTPClient())
	if err != nil {
		return nil, nil, fmt.Errorf("creating the client for Clusters: %w", err)
	}
	facts := cluster.New(mgr.GetCache(), mgr.GetAPIReader(), cluster.Options{Watcher: watcher, Requests: requests})
	if err := mgr.Add(facts); err != nil {
		return nil, nil, fmt.Errorf("adding the lookups: %w", err)
	}
	counted := webhook.NewCountedSource(metrics.Registry, facts)
	options := mutation.Options{Generation: o.Generation, Kubernetes: o.Kubernetes, Mark: true}
	return func(documents []*profile.Document) (webhook.Program, error) {
		options := options
		var err error
		if options.ImageOverwrite, err = readOverwrite(os.Getenv(imagevector.OverrideEnv)); err != nil {
			// Only profiles with images need it.
			if findings := withImages(documents, err); len(findings) > 0 {
				return nil, findings.Err()
			}
		}
		compiled, err := mutation.Compile(documents, options)
		if err != nil {
			return nil, err
		}
		for _, warning := range compiled.Warnings() {
			mgr.GetLogger().Info("A profile says what is deprecated", "warning", warning.Error())
		}
		return program{compiled, facts, counted.With(facts.Naming(compiled.Parts()))}, nil
	}, facts, nil
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
func readOverwrite(path string) (*image.Vector, error) {
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

// overwriteFile is what stands in the file that readOverwrite reads; nothing where it cannot be read.
func overwriteFile() []byte {
	raw, _ := disk.ReadFile(os.Getenv(imagevector.OverrideEnv), disk.DocumentSize)
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
