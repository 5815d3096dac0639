// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// clusters is the name of the requested resource.
const clusters = "clusters"

// wire reads Clusters directly from kube-apiserver, without a client that would copy each cloud profile several times:
// it reuses one buffer. It is safe for concurrent use.
type wire struct {
	client  rest.Interface // for their group and version; nil: Clusters are read by readers
	buffers sync.Pool      // of *bytes.Buffer
	usual   atomic.Int64   // how many bytes the last Cluster had
}

// get reads the Cluster with a name, and passes its resources to found.
func (w *wire) get(ctx context.Context, name string, found *foundResources) (stored, error) {
	body, err := w.client.Get().Resource(clusters).Name(name).Stream(ctx)
	switch {
	// Clusters are not defined, or their location is unknown
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return stored{}, fmt.Errorf("%w: %w", facts.ErrUnavailable, err)
	case err != nil:
		return stored{}, readError(err)
	}
	defer func() { _ = body.Close() }()
	buffer, ok := w.buffers.Get().(*bytes.Buffer)
	if !ok {
		buffer = &bytes.Buffer{}
	}
	defer w.buffers.Put(buffer)
	buffer.Reset()
	usual := int(w.usual.Load())
	buffer.Grow(usual + usual/8 + bytes.MinRead) // otherwise it grows in steps, up to twice the required size
	read, err := buffer.ReadFrom(body)
	if err != nil {
		return stored{}, readError(err)
	}
	w.usual.Store(read)
	return decodeCluster(buffer.Bytes(), found)
}

// decodeCluster reads the version of a Cluster, and passes its resources to found. Errors contain nothing of it.
func decodeCluster(raw []byte, found *foundResources) (stored, error) {
	var cluster struct {
		Metadata objectIdentity `json:"metadata"`
		Spec     struct {
			CloudProfile memberReader `json:"cloudProfile"`
			Seed         memberReader `json:"seed"`
			Shoot        memberReader `json:"shoot"`
		} `json:"spec"`
	}
	cluster.Spec.CloudProfile, cluster.Spec.Seed, cluster.Spec.Shoot = found.cloudProfile, found.seed, found.shoot
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &cluster)
	if err != nil && !errors.Is(err, facts.ErrUndecodable) {
		err = fmt.Errorf("it is not JSON, or none of a Cluster: %w", facts.ErrUndecodable)
	}
	return stored{cluster.Metadata.UID, cluster.Metadata.ResourceVersion}, err
}

// objectIdentity has the metadata that identifies a stored object.
type objectIdentity struct {
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// memberReader receives the JSON of a member while the object is decoded. It must copy the bytes that it stores.
type memberReader func(raw []byte) error

// UnmarshalJSON implements json.Unmarshaler.
func (t memberReader) UnmarshalJSON(raw []byte) error { return t(raw) }
