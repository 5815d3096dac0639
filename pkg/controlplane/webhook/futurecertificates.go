// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
)

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
