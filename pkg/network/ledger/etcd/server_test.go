// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/etcd"
)

// server implements the part of etcd that commits and single reads need; it loses and delays requests on command.
type server struct {
	etcdserverpb.UnimplementedKVServer
	address string

	mutex    sync.Mutex
	revision int64
	rows     map[string]*mvccpb.KeyValue
	// before and after are called with each transaction, outside of the mutex, and may wait; its answer comes after both.
	before, after func()
	// refuse is the error of each Put, when it is set.
	refuse error
}

func newServer(t *testing.T) *server {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: "http://" + listener.Addr().String(), revision: 1, rows: map[string]*mvccpb.KeyValue{}}
	g := grpc.NewServer()
	etcdserverpb.RegisterKVServer(g, s)
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(g.Stop)
	return s
}

func (s *server) open(t *testing.T) *etcd.Store {
	t.Helper()
	store, err := etcd.Open(t.Context(), etcd.Options{Endpoints: []string{s.address}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// patience is a context with a deadline that passes on command, independent of the machine's speed.
type patience struct {
	context.Context
	over chan struct{}
}

func newPatience(t *testing.T) patience { return patience{t.Context(), make(chan struct{})} }

// Deadline implements context.Context: there is a deadline at an unknown time.
func (patience) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (p patience) Done() <-chan struct{} { return p.over }

// Err implements context.Context.
func (p patience) Err() error {
	select {
	case <-p.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// set changes the behaviour of the server.
func (s *server) set(change func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change()
}

// fences are how many fences were raised, and not removed.
func (s *server) fences() (count int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for key := range s.rows {
		if strings.HasPrefix(key, "/graft/fence/") {
			count++
		}
	}
	return count
}

func (s *server) header() *etcdserverpb.ResponseHeader {
	return &etcdserverpb.ResponseHeader{Revision: s.revision}
}

func (s *server) Range(_ context.Context, r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.read(r), nil
}

func (s *server) read(r *etcdserverpb.RangeRequest) *etcdserverpb.RangeResponse {
	answer := &etcdserverpb.RangeResponse{Header: s.header()}
	if row := s.rows[string(r.Key)]; row != nil {
		answer.Kvs, answer.Count = []*mvccpb.KeyValue{row}, 1
	}
	return answer
}

func (s *server) Put(_ context.Context, r *etcdserverpb.PutRequest) (*etcdserverpb.PutResponse, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.refuse != nil {
		return nil, s.refuse
	}
	s.revision++
	s.put(r)
	return &etcdserverpb.PutResponse{Header: s.header()}, nil
}

func (s *server) put(r *etcdserverpb.PutRequest) {
	created := s.revision
	if row := s.rows[string(r.Key)]; row != nil {
		created = row.CreateRevision
	}
	s.rows[string(r.Key)] = &mvccpb.KeyValue{Key: r.Key, Value: r.Value, CreateRevision: created, ModRevision: s.revision}
}

func (s *server) DeleteRange(_ context.Context, r *etcdserverpb.DeleteRangeRequest) (*etcdserverpb.DeleteRangeResponse, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.revision++
	delete(s.rows, string(r.Key))
	return &etcdserverpb.DeleteRangeResponse{Header: s.header()}, nil
}

// Txn continues without its caller, like a proposed transaction.
func (s *server) Txn(_ context.Context, r *etcdserverpb.TxnRequest) (*etcdserverpb.TxnResponse, error) {
	s.mutex.Lock()
	before, after := s.before, s.after
	s.mutex.Unlock()
	if before != nil {
		before()
	}
	answer := s.apply(r)
	if after != nil {
		after()
	}
	return answer, nil
}

func (s *server) apply(r *etcdserverpb.TxnRequest) *etcdserverpb.TxnResponse {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, compare := range r.Compare {
		if !s.holds(compare) {
			found := &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: s.read(r.Failure[0].GetRequestRange())}
			return &etcdserverpb.TxnResponse{Header: s.header(), Responses: []*etcdserverpb.ResponseOp{{Response: found}}}
		}
	}
	s.revision++
	for _, write := range r.Success {
		if put := write.GetRequestPut(); put != nil {
			s.put(put)
		} else {
			delete(s.rows, string(write.GetRequestDeleteRange().Key))
		}
	}
	return &etcdserverpb.TxnResponse{Header: s.header(), Succeeded: true}
}

func (s *server) holds(c *etcdserverpb.Compare) bool {
	row, exists := s.rows[string(c.Key)]
	if !exists {
		row = &mvccpb.KeyValue{}
	}
	switch c.Target {
	case etcdserverpb.Compare_VALUE:
		return exists && bytes.Equal(row.Value, c.GetValue())
	case etcdserverpb.Compare_CREATE:
		return row.CreateRevision == c.GetCreateRevision()
	default:
		return row.ModRevision == c.GetModRevision()
	}
}

func putRequest(key string) *etcdserverpb.PutRequest {
	return &etcdserverpb.PutRequest{Key: []byte(key)}
}
