// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"github.com/gardener/gardener/extensions/pkg/webhook/certificates"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
)

// Certificates are the CA and the server certificate of the webhooks, kept as Secrets by Gardener's extension library: the CA
// lives for 30 days and is rotated with the old one trusted for another day, the leader generates, every replica writes the
// newest server certificate to its disk, where the webhook server finds it.
type Certificates struct {
	// Component is the extension's name without Gardener's prefix, such as provider-graft.
	Component string
	// Namespace is that of the Secrets; empty for certificates that are made at the start and never rotated.
	Namespace string
	// Mode and URL say what the server certificate is for, as in Endpoint.
	Mode, URL string
}

// FullName is the component's name with Gardener's prefix: the name of the Service and of the registration.
func (c Certificates) FullName() string { return extensionswebhook.PrefixedName(c.Component, false) }

// identity and caName are how the library calls its secrets manager and the CA
// (gardener: extensions/pkg/webhook/certificates/add.go).
func (c Certificates) identity() string { return c.FullName() + "-webhook" }
func (c Certificates) caName() string   { return "ca-" + c.Component + "-webhook" }

// SecretSelector selects the Secrets that the library writes; nothing else of a namespace's Secrets need be cached.
func (c Certificates) SecretSelector() labels.Selector {
	return labels.SelectorFromSet(labels.Set{
		secretsmanager.LabelKeyManagedBy:       secretsmanager.LabelValueSecretsManager,
		secretsmanager.LabelKeyManagerIdentity: c.identity(),
	})
}

// AddCertificates lets the library keep the certificates, and returns where the bundle of CAs is read. The library is given no
// webhooks: it cannot register match conditions, which is the Registrar's work. It generates what is missing before it returns,
// so that the webhook server finds a certificate when it starts.
func AddCertificates(ctx context.Context, mgr manager.Manager, c Certificates, certDir string) (BundleReader, error) {
	if c.Namespace == "" {
		bundle, err := writeStatic(certDir, Endpoint{Mode: c.Mode, URL: c.URL, Name: c.FullName()}.ServerName(), time.Now())
		if err != nil {
			return nil, fmt.Errorf("generating certificates: %w", err)
		}
		return staticBundle(bundle), nil
	}
	if err := c.dropFuture(ctx, mgr.GetAPIReader(), mgr.GetClient(), time.Now()); err != nil {
		return nil, fmt.Errorf("removing certificates of a time to come: %w", err)
	}
	err := certificates.AddCertificateManagementToManager(ctx, mgr, nil, clock.RealClock{}, extensionswebhook.Configs{},
		nil, nil, nil, "", c.Component, false, c.Namespace, c.Mode, c.URL)
	if err != nil {
		return nil, fmt.Errorf("adding the management of certificates: %w", err)
	}
	return secretBundle{reader: mgr.GetClient(), certificates: c}, nil
}
