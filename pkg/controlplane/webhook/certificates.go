// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"github.com/gardener/gardener/pkg/controllerutils"
	secretsutils "github.com/gardener/gardener/pkg/utils/secrets"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
)

// The times of Gardener's extension library (extensions/pkg/webhook/certificates).
const (
	authorityValidity = 30 * 24 * time.Hour
	authorityOverlap  = 24 * time.Hour
	certificatePeriod = 5 * time.Minute
)

// Certificates are the CA and the server certificate of the webhooks, stored in Secrets by Gardener's secrets
// manager. The CA is valid for 30 days, and trusted for another day after its rotation. The leader generates
// them; every replica writes the newest server certificate to its disk for the webhook server.
type Certificates struct {
	// Component is the extension's name without Gardener's prefix, such as provider-graft.
	Component string
	// Namespace is the namespace of the Secrets. If it is empty, certificates are generated at start and never
	// rotated.
	Namespace string
	// Mode and URL determine the host of the server certificate, as in Endpoint.
	Mode, URL string
}

// FullName returns the component's name with Gardener's prefix, which is the name of the Service.
func (c Certificates) FullName() string { return extensionswebhook.PrefixedName(c.Component, false) }

// ClusterName returns the name of an installation's cluster-scoped objects, such as the registration: FullName
// and the namespace, or FullName without a namespace. gardenlet gives each ControllerInstallation a permanent
// namespace of its own (gardener: pkg/utils/gardener/controllerinstallation.go), so that two installations in
// one cluster share no object. The chart's template graft.cluster returns the same name.
func (c Certificates) ClusterName() string {
	if c.Namespace == "" {
		return c.FullName()
	}
	return c.FullName() + "." + c.Namespace
}

// identity and caName return the names that Gardener's library uses for its secrets manager and the CA
// (gardener: extensions/pkg/webhook/certificates/add.go).
func (c Certificates) identity() string { return c.FullName() + "-webhook" }
func (c Certificates) caName() string   { return "ca-" + c.Component + "-webhook" }

func (c Certificates) serverName() string { return c.Component + "-webhook-server" }

// SecretSelector returns a selector for the Secrets of the library. Other Secrets of the namespace need not be
// cached.
func (c Certificates) SecretSelector() labels.Selector {
	return labels.SelectorFromSet(labels.Set{
		secretsmanager.LabelKeyManagedBy:       secretsmanager.LabelValueSecretsManager,
		secretsmanager.LabelKeyManagerIdentity: c.identity(),
	})
}

// AddCertificates makes the leader maintain the certificates and every replica serve the newest one. It
// generates missing certificates before it returns, so that the webhook server finds one at start. Deleted
// Secrets are generated again at once; the reconcilers of Gardener's library
// (extensions/pkg/webhook/certificates) only check every five minutes.
func AddCertificates(ctx context.Context, mgr manager.Manager, c Certificates, certDir string) (Trust, error) {
	if c.Namespace == "" {
		bundle, err := writeStatic(certDir, Endpoint{Mode: c.Mode, URL: c.URL, Service: c.FullName()}.ServerName(), time.Now())
		if err != nil {
			return nil, fmt.Errorf("generating certificates: %w", err)
		}
		return staticTrust{bundle, newStaticSegment()}, nil
	}
	if err := c.dropFuture(ctx, mgr.GetAPIReader(), mgr.GetClient(), time.Now()); err != nil {
		return nil, fmt.Errorf("removing certificates of a time to come: %w", err)
	}
	uncached, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("creating the client for certificates: %w", err)
	}
	serve := &servingCertificate{certificates: c, folder: certDir}
	if err := serve.write(ctx, uncached); errors.Is(err, errNoCertificate) {
		if err = c.generate(ctx, uncached); err == nil {
			err = serve.write(ctx, uncached)
		}
		if err != nil {
			return nil, fmt.Errorf("generating certificates: %w", err)
		}
	} else if err != nil {
		return nil, err
	}
	if err := c.watch(mgr, serve); err != nil {
		return nil, fmt.Errorf("adding the management of certificates: %w", err)
	}
	return secretBundle{reader: mgr.GetClient(), certificates: c}, nil
}

// watch generates certificates in the leader, and writes the file in each replica, when a Secret changes and
// periodically.
func (c Certificates) watch(mgr manager.Manager, serve *servingCertificate) error {
	for name, keep := range map[string]struct {
		everywhere bool
		when       predicate.Predicate
		do         func(context.Context) error
	}{
		"webhook-certificate": {
			// The leader ignores its own writes.
			when: predicate.Funcs{
				CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
			},
			do: func(ctx context.Context) error { return c.generate(ctx, mgr.GetClient()) },
		},
		"webhook-certificate-reloader": {
			everywhere: true, when: predicate.Funcs{},
			do: func(ctx context.Context) error {
				if err := serve.write(ctx, mgr.GetClient()); !errors.Is(err, errNoCertificate) {
					return err
				}
				return nil // the leader generates another, which causes an event
			},
		},
	} {
		added, err := controller.New(name, mgr, controller.Options{
			NeedLeaderElection: ptr.To(!keep.everywhere),
			Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{RequeueAfter: certificatePeriod}, keep.do(ctx)
			}),
		})
		if err != nil {
			return err
		}
		once := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
		if err := added.Watch(controllerutils.EnqueueOnce); err != nil {
			return err
		}
		if err := added.Watch(source.Kind[client.Object](mgr.GetCache(), &corev1.Secret{}, once, keep.when)); err != nil {
			return err
		}
	}
	return nil
}

// generate generates missing or expiring certificates, and removes old ones. Names, lifetimes and rotation are
// those of Gardener's library, so that its Secrets stay in use.
func (c Certificates) generate(ctx context.Context, to client.Client) error {
	sm, err := secretsmanager.New(ctx, logf.FromContext(ctx).WithName("secretsmanager"), clock.RealClock{}, to, c.identity(),
		secretsmanager.Config{CASecretAutoRotation: true}, c.Namespace)
	if err != nil {
		return fmt.Errorf("creating the secrets manager: %w", err)
	}
	authority := &secretsutils.CertificateSecretConfig{
		Name: c.caName(), CommonName: c.caName(), CertType: secretsutils.CACert, Validity: ptr.To(authorityValidity),
	}
	if _, err := sm.Generate(ctx, authority, secretsmanager.Rotate(secretsmanager.KeepOld), secretsmanager.IgnoreOldSecretsAfter(authorityOverlap)); err != nil {
		return fmt.Errorf("generating the CA: %w", err)
	}
	server := &secretsutils.CertificateSecretConfig{
		Name: c.serverName(), CommonName: c.Component, CertType: secretsutils.ServerCert, SkipPublishingCACertificate: true,
	}
	host := Endpoint{Mode: c.Mode, URL: c.URL, Service: c.FullName(), Namespace: c.Namespace}.ServerName()
	switch address := net.ParseIP(host); {
	case c.Mode == ModeService:
		server.DNSNames = []string{c.FullName(), c.FullName() + "." + c.Namespace, host}
	case address != nil:
		server.IPAddresses = []net.IP{address}
	default:
		server.DNSNames = []string{host}
	}
	// The current CA signs the server certificate, so that it stays valid when the old CA is dropped.
	if _, err := sm.Generate(ctx, server, secretsmanager.SignedByCA(c.caName(), secretsmanager.UseCurrentCA)); err != nil {
		return fmt.Errorf("generating the server certificate: %w", err)
	}
	return sm.Cleanup(ctx)
}

// servingCertificate is the certificate in the webhook server's folder.
type servingCertificate struct {
	certificates Certificates
	folder       string
	written      []byte
}

var errNoCertificate = errors.New("there is no certificate for the webhook server yet")

// write writes the newest server certificate if it changed.
func (s *servingCertificate) write(ctx context.Context, from client.Reader) error {
	list := &corev1.SecretList{}
	if err := from.List(ctx, list, client.InNamespace(s.certificates.Namespace), client.MatchingLabelsSelector{Selector: s.certificates.SecretSelector()},
		client.MatchingLabels{secretsmanager.LabelKeyName: s.certificates.serverName()}); err != nil {
		return fmt.Errorf("reading the server certificate: %w", err)
	}
	if len(list.Items) == 0 {
		return errNoCertificate
	}
	newest := slices.MaxFunc(list.Items, func(a, b corev1.Secret) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	certificate := newest.Data[secretsutils.DataKeyCertificate]
	if bytes.Equal(certificate, s.written) {
		return nil
	}
	if err := writePair(s.folder, newest.Data[secretsutils.DataKeyPrivateKey], certificate); err != nil {
		return err
	}
	s.written = certificate
	return nil
}

// skew is the tolerated difference of clocks.
const skew = 5 * time.Minute

// dropFuture deletes CAs and certificates with an issue time in the future, which remain after a clock was
// ahead and was corrected: clients reject them until then, and Gardener's library does not replace them. The
// time must also be in the future for the API server; if only this machine's clock is behind, nothing is
// deleted. It deletes only the objects that it has read, not new ones of the same name.
func (c Certificates) dropFuture(ctx context.Context, from client.Reader, to client.Writer, now time.Time) error {
	list := &corev1.SecretList{}
	if err := from.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabelsSelector{Selector: c.SecretSelector()}); err != nil {
		return err
	}
	future := slices.DeleteFunc(list.Items, func(s corev1.Secret) bool { return !issuedAfter(&s, now.Add(skew)) })
	if len(future) == 0 {
		return nil
	}
	there, err := c.serverTime(ctx, to)
	if err != nil {
		return err
	}
	for i := range future {
		secret := &future[i]
		if !issuedAfter(secret, there.Add(skew)) {
			continue
		}
		logf.FromContext(ctx).Info("Removing a certificate of a time to come", "secret", secret.Name,
			"issuedAt", secret.Labels[secretsmanager.LabelKeyIssuedAtTime])
		read := client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion}
		if err := to.Delete(ctx, secret, read); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// issuedAfter reports whether a Secret's label has an issue time after at.
func issuedAfter(s *corev1.Secret, at time.Time) bool {
	issued, err := strconv.ParseInt(s.Labels[secretsmanager.LabelKeyIssuedAtTime], 10, 64)
	return err == nil && time.Unix(issued, 0).After(at)
}

// serverTime returns the API server's time, from the creationTimestamp of a dry run.
func (c Certificates) serverTime(ctx context.Context, to client.Writer) (time.Time, error) {
	asked := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, GenerateName: c.identity() + "-time-"}}
	if err := to.Create(ctx, asked, client.DryRunAll); err != nil {
		return time.Time{}, fmt.Errorf("asking the API server for the time: %w", err)
	}
	return asked.CreationTimestamp.Time, nil
}
