// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
)

// skew is how far clocks of machines that are well may be apart.
const skew = 5 * time.Minute

// dropFuture deletes the CAs and certificates that were issued at a time that is still to come, as after a clock went ahead and was set right: they would be
// refused until then, and Gardener's library, which keeps what has not ended, makes no others while they are there.
func (c Certificates) dropFuture(ctx context.Context, from client.Reader, to client.Writer, now time.Time) error {
	list := &corev1.SecretList{}
	if err := from.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabelsSelector{Selector: c.SecretSelector()}); err != nil {
		return err
	}
	for i := range list.Items {
		secret := &list.Items[i]
		issued, err := strconv.ParseInt(secret.Labels[secretsmanager.LabelKeyIssuedAtTime], 10, 64)
		if err != nil || !time.Unix(issued, 0).After(now.Add(skew)) {
			continue
		}
		logf.FromContext(ctx).Info("Removing a certificate of a time to come", "secret", secret.Name, "issued", time.Unix(issued, 0).UTC().Format(time.RFC3339))
		if err := client.IgnoreNotFound(to.Delete(ctx, secret)); err != nil {
			return err
		}
	}
	return nil
}
