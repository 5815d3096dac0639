// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && neutron

package neutron

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopherstack "github.com/gophercloud/gophercloud/v2/openstack"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// bootTime limits the start of a server, which takes 3 s on an idle machine.
const bootTime = 4 * time.Minute

// password is that of all users.
const password = "secret"

// stack is a Keystone, a Neutron, and the proxy through which the cloud under test reaches Neutron.
type stack struct {
	folder            string
	keystone, neutron string // addresses
	proxy             *proxy
	secure            *secureProxies
	server            *env.Process // Neutron
}

// startStack starts all servers. They end with the suite.
func startStack(ctx context.Context) *stack {
	s := &stack{folder: GinkgoT().TempDir()}
	addresses, err := env.FreeAddresses(ctx, 2)
	Expect(err).NotTo(HaveOccurred())
	s.keystone, s.neutron = addresses[0], addresses[1]
	s.proxy = newProxy(s.neutron)
	s.secure = newSecureProxies(s)
	s.write("keystone.conf", keystoneConfiguration)
	s.write("neutron.conf", neutronConfiguration)
	s.write("ml2.ini", ml2Configuration)
	var group sync.WaitGroup
	for _, prepare := range []func(context.Context){s.prepareKeystone, s.prepareNeutron} {
		group.Go(func() {
			defer GinkgoRecover()
			prepare(ctx)
		})
	}
	group.Wait()
	keystone := s.start(ctx, "http://"+s.keystone+"/v3", []string{"OS_KEYSTONE_CONFIG_FILES=" + s.path("keystone.conf")},
		"/usr/bin/keystone-wsgi-public", "--host", "127.0.0.1", "--port", port(s.keystone))
	DeferCleanup(keystone.Kill)
	s.startNeutron(ctx)
	DeferCleanup(func() { s.server.Kill() })
	return s
}

func port(address string) string { return address[strings.LastIndex(address, ":")+1:] }

func (s *stack) path(name string) string { return filepath.Join(s.folder, name) }

// write writes a file, with the addresses and the folder filled in.
func (s *stack) write(name, text string) {
	text = strings.NewReplacer("$FOLDER", s.folder, "$KEYSTONE", s.keystone, "$PORT", port(s.neutron), "$PASSWORD",
		password).Replace(text)
	Expect(os.WriteFile(s.path(name), []byte(text), 0o600)).To(Succeed())
}

// run runs a program to its end.
func (s *stack) run(ctx context.Context, path string, arguments ...string) {
	GinkgoHelper()
	output, err := exec.CommandContext(ctx, path, arguments...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s %s:\n%s", path, arguments, output)
}

// prepareKeystone creates the database, the keys of tokens, the administrator and the catalog.
func (s *stack) prepareKeystone(ctx context.Context) {
	const keys = 2
	for _, folder := range []string{"fernet", "credential"} {
		Expect(os.Mkdir(s.path(folder), 0o700)).To(Succeed())
		for i := range keys {
			key := base64.URLEncoding.EncodeToString([]byte(fmt.Sprintf("%032d", i)))
			Expect(os.WriteFile(filepath.Join(s.path(folder), fmt.Sprint(i)), []byte(key), 0o600)).To(Succeed())
		}
	}
	manage := func(arguments ...string) {
		GinkgoHelper()
		s.run(ctx, "/usr/bin/keystone-manage", append([]string{"--config-file", s.path("keystone.conf")}, arguments...)...)
	}
	manage("db_sync")
	s.run(ctx, "/usr/bin/python3", "-c", writeAheadLog, s.path("keystone.sqlite"))
	manage("bootstrap", "--bootstrap-password", password, "--bootstrap-region-id", region,
		"--bootstrap-public-url", "http://"+s.keystone+"/v3")
}

// createDatabase creates Neutron's tables. Its migrations need a database that can alter constraints, unlike SQLite.
const createDatabase = `
import sqlalchemy, sys
from neutron.db.migration.models import head
head.get_metadata().create_all(sqlalchemy.create_engine("sqlite:///" + sys.argv[1]))
`

// writeAheadLog changes the mode of a database permanently. Both servers use several connections in one request, and
// without it a reader would block a writer.
const writeAheadLog = `
import sqlite3, sys
sqlite3.connect(sys.argv[1]).execute("PRAGMA journal_mode=WAL")
`

func (s *stack) prepareNeutron(ctx context.Context) {
	s.run(ctx, "/usr/bin/python3", "-c", createDatabase, s.path("neutron.sqlite"))
	s.run(ctx, "/usr/bin/python3", "-c", writeAheadLog, s.path("neutron.sqlite"))
}

func (s *stack) startNeutron(ctx context.Context) {
	GinkgoHelper()
	s.server = s.start(ctx, "http://"+s.neutron+"/", nil, "/usr/bin/neutron-server",
		"--config-file", s.path("neutron.conf"), "--config-file", s.path("ml2.ini"))
}

// start starts a server and waits until it answers at a URL.
func (s *stack) start(ctx context.Context, url string, environment []string, path string,
	arguments ...string) *env.Process {
	GinkgoHelper()
	began := time.Now()
	p, err := env.Start(&env.Log{}, environment, path, arguments...)
	Expect(err).NotTo(HaveOccurred())
	logs = append(logs, p.Log)
	Eventually(func(g Gomega) {
		if p.HasExited() {
			StopTrying(path + " exited:\n" + p.Log.Tail(40)).Now()
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := separate.RoundTrip(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(response.StatusCode).To(Equal(http.StatusOK))
	}).WithContext(ctx).WithTimeout(bootTime).WithPolling(50*time.Millisecond).Should(Succeed(), func() string {
		return p.Log.Tail(40)
	})
	AddReportEntry(filepath.Base(path)+" started", ReportEntryVisibilityFailureOrVerbose,
		time.Since(began).Round(time.Millisecond).String())
	return p
}

// logs are those of all servers.
var logs []*env.Log

var _ = ReportAfterSuite("logs", func(r Report) {
	for _, log := range logs {
		if !r.SuiteSucceeded {
			GinkgoWriter.Println(log.Tail(200))
		}
	}
})

// client returns an authenticated client of a user.
func (s *stack) client(ctx context.Context, user, project string) *gophercloud.ProviderClient {
	GinkgoHelper()
	provider, err := gopherstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: "http://" + s.keystone + "/v3", Username: user, Password: password, DomainID: "default",
		Scope: &gophercloud.AuthScope{ProjectName: project, DomainID: "default"}, AllowReauth: true,
	})
	Expect(err).NotTo(HaveOccurred())
	provider.HTTPClient.Transport = separate
	return provider
}

// direct returns a client of Neutron that does not use the proxy.
func (s *stack) direct(provider *gophercloud.ProviderClient) *gophercloud.ServiceClient {
	return &gophercloud.ServiceClient{
		ProviderClient: provider, Endpoint: "http://" + s.neutron + "/", ResourceBase: "http://" + s.neutron + "/v2.0/",
		Type: "network",
	}
}

const keystoneConfiguration = `[database]
connection = sqlite:///$FOLDER/keystone.sqlite
[fernet_tokens]
key_repository = $FOLDER/fernet
[fernet_receipts]
key_repository = $FOLDER/fernet
[credential]
key_repository = $FOLDER/credential
[identity]
password_hash_rounds = 4
[cache]
enabled = False
`

// A pool with one thread avoids that SQLite reports a locked database.
const neutronConfiguration = `[DEFAULT]
auth_strategy = keystone
bind_host = 127.0.0.1
bind_port = $PORT
core_plugin = ml2
service_plugins = trunk
transport_url = fake:/
api_workers = 0
rpc_workers = 0
rpc_state_report_workers = 0
dhcp_agent_notification = False
notify_nova_on_port_status_changes = False
notify_nova_on_port_data_changes = False
api_paste_config = /etc/neutron/api-paste.ini
state_path = $FOLDER/state
wsgi_default_pool_size = 1
[database]
connection = sqlite:///$FOLDER/neutron.sqlite
sqlite_synchronous = False
[oslo_concurrency]
lock_path = $FOLDER/lock
[oslo_messaging_notifications]
driver = noop
[quotas]
quota_network = -1
quota_subnet = -1
quota_port = -1
quota_trunk = -1
[keystone_authtoken]
auth_type = password
auth_url = http://$KEYSTONE/v3
username = admin
password = $PASSWORD
project_name = admin
user_domain_id = default
project_domain_id = default
interface = public
`

const ml2Configuration = `[ml2]
type_drivers = flat,vlan,local
tenant_network_types = vlan
mechanism_drivers = openvswitch
extension_drivers = port_security
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:4000
[securitygroup]
enable_security_group = True
`
