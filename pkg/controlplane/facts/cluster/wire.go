// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// clusters is the resource that is asked for.
const clusters = "clusters"

// wire reads Clusters directly from kube-apiserver, without a client that would copy each cloud profile several times:
// it reuses one buffer for single Clusters, and reads a list one item at a time. It is safe for concurrent use.
type wire struct {
	client  rest.Interface // for their group and version; nil: Clusters are read by readers
	buffers sync.Pool      // of *bytes.Buffer
	usual   atomic.Int64   // how many bytes the last Cluster had
}

// get reads the Cluster with a name, and gives its resources to met.
func (w *wire) get(ctx context.Context, name string, met *met) (stored, error) {
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
	return decodeCluster(buffer.Bytes(), met)
}

// decodeCluster reads which version a Cluster is, and gives its resources to met. Errors hold nothing of it.
func decodeCluster(raw []byte, met *met) (stored, error) {
	var cluster struct {
		Metadata objectIdentity `json:"metadata"`
		Spec     struct {
			CloudProfile taker `json:"cloudProfile"`
			Seed         taker `json:"seed"`
			Shoot        taker `json:"shoot"`
		} `json:"spec"`
	}
	cluster.Spec.CloudProfile, cluster.Spec.Seed, cluster.Spec.Shoot = met.cloudProfile, met.seed, met.shoot
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &cluster)
	if err != nil && !errors.Is(err, facts.ErrUndecodable) {
		err = fmt.Errorf("it is not JSON, or none of a Cluster: %w", facts.ErrUndecodable)
	}
	return stored{cluster.Metadata.UID, cluster.Metadata.ResourceVersion}, err
}

// objectIdentity holds the metadata that is read of an object.
type objectIdentity struct {
	Name            string    `json:"name"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// taker is given a member while the whole is decoded, and keeps nothing of it but copies.
type taker func(raw []byte) error

// UnmarshalJSON implements json.Unmarshaler.
func (t taker) UnmarshalJSON(raw []byte) error { return t(raw) }

// metadataList asks for a list without specs and status.
const metadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// list returns of each Cluster its name, UID and resource version.
func (w *wire) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	body, err := w.client.Get().Resource(clusters).SetHeader("Accept", metadataList).VersionedParams(&o, metav1.ParameterCodec).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return decodeList(body)
}

// decodeList reads a list of objects and skips all fields that it does not return.
func decodeList(from io.Reader) (*metav1.PartialObjectMetadataList, error) {
	list, decoder := &metav1.PartialObjectMetadataList{}, json.NewDecoder(from)
	items := false
	err := each(decoder, '{', func() error {
		key, err := decoder.Token()
		switch {
		case err != nil:
			return err
		case key == "metadata":
			return decoder.Decode(&list.ListMeta)
		case key == "items":
			items = true
			return each(decoder, '[', func() error { return decodeItem(decoder, list) })
		default:
			return decoder.Decode(&json.RawMessage{})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading a list of Clusters: %w", err)
	}
	if !items {
		return nil, errors.New("reading a list of Clusters: it has no items")
	}
	return list, nil
}

func decodeItem(decoder *json.Decoder, list *metav1.PartialObjectMetadataList) error {
	var item struct {
		Metadata objectIdentity `json:"metadata"`
	}
	if err := decoder.Decode(&item); err != nil {
		return err
	}
	m := item.Metadata
	list.Items = append(list.Items, metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion},
	})
	return nil
}

// each calls read for each member of an object, or of a list; null has none.
func each(decoder *json.Decoder, opening json.Delim, read func() error) error {
	token, err := decoder.Token()
	if err != nil || token == nil {
		return err
	}
	if token != opening {
		return fmt.Errorf("it has no %s where one is expected", opening)
	}
	for decoder.More() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}
