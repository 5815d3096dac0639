// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real etcd of one or more members as processes, with certificates on all connections, for tests
// that kill and pause members. Start reading at Start.
package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// startup limits the time until all members serve.
const startup = time.Minute

// Cluster is a running etcd.
type Cluster struct {
	// Endpoints are the URLs of the members.
	Endpoints []string
	// TLS is the configuration of a client.
	TLS *tls.Config
	// CAFile, CertFile and KeyFile are files with the certificates of TLS.
	CAFile, CertFile, KeyFile string

	t       testing.TB
	members []*member
}

type member struct {
	binary  string
	flags   []string
	log     *os.File
	process *exec.Cmd
	// exited is closed when the process has ended.
	exited chan struct{}
}

// Start starts the given number of members with additional flags, and returns when they serve. The cleanup of the test
// stops them.
func Start(t testing.TB, size int, flags ...string) *Cluster {
	t.Helper()
	folder := t.TempDir()
	c := &Cluster{t: t}
	c.certify(folder)
	binary := findEtcd(t)
	addresses, err := env.FreeAddresses(t.Context(), 2*size)
	if err != nil {
		t.Fatal(err)
	}
	var peers []string
	for i := range size {
		peers = append(peers, fmt.Sprintf("m%d=https://%s", i, addresses[2*i+1]))
	}
	for i := range size {
		client, peer := "https://"+addresses[2*i], "https://"+addresses[2*i+1]
		name := fmt.Sprintf("m%d", i)
		log, err := os.Create(filepath.Join(folder, name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		all := append([]string{
			"--name=" + name, "--data-dir=" + filepath.Join(folder, name), "--log-level=warn",
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=" + strings.Join(peers, ","), "--initial-cluster-state=new",
			"--client-cert-auth", "--peer-client-cert-auth",
		}, flags...)
		for _, kind := range []string{"", "peer-"} {
			for flag, file := range map[string]string{"cert-file": c.CertFile, "key-file": c.KeyFile,
				"trusted-ca-file": c.CAFile} {
				all = append(all, "--"+kind+flag+"="+file)
			}
		}
		c.Endpoints = append(c.Endpoints, client)
		c.members = append(c.members, &member{binary: binary, flags: all, log: log})
	}
	t.Cleanup(c.stop)
	for i := range c.members {
		c.Restart(i)
	}
	c.wait()
	return c
}

// certify creates the certificate that members and clients use.
func (c *Cluster) certify(folder string) {
	c.t.Helper()
	ca := env.NewAuthority(c.t)
	certificate, key := ca.Issue("graft")
	for file, content := range map[*string]struct {
		name string
		data []byte
	}{&c.CAFile: {"ca.pem", ca.PEM}, &c.CertFile: {"pair.pem", certificate}, &c.KeyFile: {"pair.key", key}} {
		*file = filepath.Join(folder, content.name)
		if err := os.WriteFile(*file, content.data, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		c.t.Fatal(err)
	}
	c.TLS = &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
}

// Restart starts a killed member. It does not wait until the member serves.
func (c *Cluster) Restart(i int) {
	c.t.Helper()
	m := c.members[i]
	m.process = exec.CommandContext(context.WithoutCancel(c.t.Context()), m.binary, m.flags...)
	m.process.Stdout, m.process.Stderr = m.log, m.log
	exited := make(chan struct{})
	if err := env.StartCommand(m.process, func(error) { close(exited) }); err != nil {
		c.t.Fatalf("starting etcd: %v", err)
	}
	m.exited = exited
}

// Kill kills a member and waits until it has exited.
func (c *Cluster) Kill(i int) {
	c.t.Helper()
	c.signal(i, syscall.SIGKILL)
	<-c.members[i].exited
}

// Pause stops a member with SIGSTOP; its connections stay open.
func (c *Cluster) Pause(i int) { c.signal(i, syscall.SIGSTOP) }

// Resume continues a paused member.
func (c *Cluster) Resume(i int) { c.signal(i, syscall.SIGCONT) }

func (c *Cluster) signal(i int, signal syscall.Signal) {
	c.t.Helper()
	if err := c.members[i].process.Process.Signal(signal); err != nil {
		c.t.Errorf("signalling the member %d: %v", i, err)
	}
}

func (c *Cluster) stop() {
	for _, m := range c.members {
		if m.exited == nil {
			continue
		}
		_ = m.process.Process.Kill()
		<-m.exited
	}
}

// Client returns a client of etcd itself, which is closed at the end of the test.
func (c *Cluster) Client() *clientv3.Client {
	c.t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints, TLS: c.TLS, Logger: zap.NewNop()})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = client.Close() })
	return client
}

// Leader returns the number of the leader. It waits while the members elect one.
func (c *Cluster) Leader() int {
	c.t.Helper()
	client := c.Client()
	for deadline := time.Now().Add(startup); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for i, endpoint := range c.Endpoints {
			ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
			status, err := client.Status(ctx, endpoint)
			cancel()
			if err == nil && status.Leader == status.Header.MemberId {
				return i
			}
		}
	}
	c.t.Fatal("no member leads")
	return 0
}

// wait waits until each member answers reads that need a leader.
func (c *Cluster) wait() {
	c.t.Helper()
	deadline := time.Now().Add(startup)
	for i, endpoint := range c.Endpoints {
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, TLS: c.TLS, Logger: zap.NewNop()})
		if err != nil {
			c.t.Fatal(err)
		}
		for {
			ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
			_, err = client.Get(ctx, "serves")
			cancel()
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				c.t.Fatalf("the member %d does not serve: %v%s", i, err, c.lastLines(i))
			}
			time.Sleep(50 * time.Millisecond)
		}
		_ = client.Close()
	}
}

func (c *Cluster) lastLines(i int) string {
	content, err := os.ReadFile(c.members[i].log.Name())
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return "\nits log ends with:\n" + string(bytes.Join(lines[max(0, len(lines)-8):], []byte("\n")))
}

// findEtcd returns the path of the binary below the folder of the module.
func findEtcd(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
	}
	path := filepath.Join(folder, ".cache", "tools", "bin", "etcd")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("etcd has not been built: run `make servers` in the root of the repository (%v)", err)
	}
	return path
}
