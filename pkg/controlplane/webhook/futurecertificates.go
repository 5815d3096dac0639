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

// skew is how far clocks of machines that are well may be apart.
const skew = 5 * time.Minute

// dropFuture deletes the CAs and certificates that were issued at a time that is still to come, as after a clock went ahead and was set right: they would be
// refused until then, and Gardener's library, which keeps what has not ended, makes no others while they are there. Its time must be to come by the clock of
// the API server, too, which is the one that refuses: where only this machine is behind, nothing is deleted that others serve. It deletes what it has read and
// nothing that another replica has made since under the same name.
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

// issuedAfter says whether a Secret of the library says that it was issued after a time.
func issuedAfter(s *corev1.Secret, at time.Time) bool {
	issued, err := strconv.ParseInt(s.Labels[secretsmanager.LabelKeyIssuedAtTime], 10, 64)
	return err == nil && time.Unix(issued, 0).After(at)
}

// serverTime is the time by the clock of the API server: it says when it would have made a Secret that it is asked not to make.
func (c Certificates) serverTime(ctx context.Context, to client.Writer) (time.Time, error) {
	asked := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, GenerateName: c.identity() + "-time-"}}
	if err := to.Create(ctx, asked, client.DryRunAll); err != nil {
		return time.Time{}, fmt.Errorf("asking the API server for the time: %w", err)
	}
	return asked.CreationTimestamp.Time, nil
}
