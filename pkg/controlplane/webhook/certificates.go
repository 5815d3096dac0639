// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
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
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
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
// them; every replica serves the newest server certificate.
type Certificates struct {
	// Component is the extension's name without Gardener's prefix, such as provider-graft.
	Component string
	// Namespace is the namespace of the Secrets.
	Namespace string
	// Mode and URL determine the host of the server certificate, as in Endpoint.
	Mode, URL string
}

// FullName returns the component's name with Gardener's prefix, which is the name of the Service.
func (c Certificates) FullName() string { return extensionswebhook.PrefixedName(c.Component, false) }

// ClusterName returns the name of an installation's cluster-scoped objects, such as the registration: FullName and the
// namespace. gardenlet gives each ControllerInstallation a permanent namespace of its own (gardener:
// pkg/utils/gardener/controllerinstallation.go), so that two installations in one cluster share no object. The chart's
// template graft.cluster returns the same name.
func (c Certificates) ClusterName() string { return c.FullName() + "." + c.Namespace }

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

// AddCertificates makes the leader maintain the certificates and every replica use the newest ones. It generates
// missing certificates with the uncached client before it returns, so that the webhook server has one. Deleted
// Secrets are generated again at once; the reconcilers of Gardener's library
// (extensions/pkg/webhook/certificates) only check every five minutes. It fails if a Secret cannot be read or written.
func AddCertificates(ctx context.Context, mgr manager.Manager, direct client.Client, c Certificates) (*Trust, error) {
	if err := c.dropFuture(ctx, direct, time.Now()); err != nil {
		return nil, fmt.Errorf("removing certificates that are not valid yet: %w", err)
	}
	trust := &Trust{certificates: c, changed: make(chan event.GenericEvent, 1)}
	err := trust.load(ctx, direct)
	if errors.Is(err, errIncomplete) {
		if err := c.generate(ctx, direct); err != nil {
			return nil, fmt.Errorf("generating certificates: %w", err)
		}
		err = trust.load(ctx, direct)
	}
	if err != nil {
		return nil, err
	}
	// The leader ignores its own writes.
	deletions := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
	if err := addController(mgr, "webhook-certificate", leader, func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: certificatePeriod}, c.generate(ctx, mgr.GetClient())
	}, onChange(mgr, &corev1.Secret{}, deletions)); err != nil {
		return nil, err
	}
	return trust, addController(mgr, "webhook-certificate-reloader", everyReplica, func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		err := trust.load(ctx, mgr.GetClient())
		if errors.Is(err, errIncomplete) {
			err = nil // the leader generates the missing Secrets, which causes an event
		}
		return reconcile.Result{RequeueAfter: certificatePeriod}, err
	}, onChange(mgr, &corev1.Secret{}))
}

// generate generates missing or expiring certificates, and removes old ones. Names, lifetimes and rotation are the same
// as in Gardener's library, so that its Secrets stay in use.
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

// skew is the tolerated difference of clocks, as for Kerberos (RFC 4120, 8.2).
const skew = 5 * time.Minute

// dropFuture deletes CAs and certificates with an issue time in the future, which remain after a wrong clock was
// corrected: clients reject them until then, and Gardener's library does not replace them. The time must also be in the
// future for the API server; if only this machine's clock is slow, nothing is deleted. It deletes only the objects that
// it has read, not new ones of the same name.
func (c Certificates) dropFuture(ctx context.Context, direct client.Client, now time.Time) error {
	list := &corev1.SecretList{}
	if err := direct.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabelsSelector{Selector: c.SecretSelector()}); err != nil {
		return err
	}
	future := slices.DeleteFunc(list.Items, func(s corev1.Secret) bool { return !issuedAfter(&s, now.Add(skew)) })
	if len(future) == 0 {
		return nil
	}
	there, err := c.serverTime(ctx, direct)
	if err != nil {
		return err
	}
	for i := range future {
		secret := &future[i]
		if !issuedAfter(secret, there.Add(skew)) {
			continue
		}
		logf.FromContext(ctx).Info("Removing a certificate that is not valid yet; check the clocks of the machines", "secret", secret.Name,
			"issuedAt", secret.Labels[secretsmanager.LabelKeyIssuedAtTime])
		read := client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion}
		if err := direct.Delete(ctx, secret, read); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
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
