// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && gardener

package gardener

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/namespace"
)

// networks is how many Pods can run at a time.
const networks = 10

// plainLabel is on Pods that run no program.
const plainLabel = "played"

// machine plays the kubelet and the controllers of workloads: it runs the Pods of Deployments with a known program, and
// reports all other workloads as ready.
type machine struct {
	*garden
	// programs are paths of programs by the names of images without registry and tag.
	programs map[string]string
	// free are networks without a Pod; pods are the running ones, by Deployment.
	free []network
	pods map[types.NamespacedName][]*pod
	// started counts Pods, for their names.
	started int
}

// network is the network of a Pod.
type network struct {
	*namespace.Machine
	address string
}

// pod is a Pod with its program.
type pod struct {
	network
	name, hash string
	template   corev1.PodTemplateSpec
	process    *env.Process
	folder     string
	ready      bool
}

// connect makes a bridge that has the address of the host, and networks of Pods that are connected to it.
func connect() []network {
	GinkgoHelper()
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "pods"}}
	Expect(netlink.LinkAdd(bridge)).To(Succeed())
	Expect(setUp(bridge, host)).To(Succeed())
	var all []network
	for i := range networks {
		one := network{namespace.NewMachine(GinkgoTB()), fmt.Sprintf("10.1.1.%d", i+1)}
		outside, inside := fmt.Sprintf("pod%d", i), fmt.Sprintf("eth%d", i)
		Expect(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: outside, MasterIndex: bridge.Index},
			PeerName: inside})).To(Succeed())
		link, err := netlink.LinkByName(outside)
		Expect(err).NotTo(HaveOccurred())
		Expect(netlink.LinkSetUp(link)).To(Succeed())
		link, err = netlink.LinkByName(inside)
		Expect(err).NotTo(HaveOccurred())
		Expect(netlink.LinkSetNsFd(link, int(one.File.Fd()))).To(Succeed())
		one.Do(GinkgoTB(), func() error {
			link, err := netlink.LinkByName(inside)
			if err != nil {
				return err
			}
			return setUp(link, one.address)
		})
		all = append(all, one)
	}
	return all
}

// setUp gives an address of the network of Pods to a link.
func setUp(link netlink.Link, address string) error {
	parsed, err := netlink.ParseAddr(address + "/16")
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, parsed); err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// work goes over all workloads once.
func (m *machine) work(ctx context.Context) error {
	deployments := &appsv1.DeploymentList{}
	if err := m.client.List(ctx, deployments); err != nil {
		return err
	}
	wanted, plain := map[types.NamespacedName]bool{}, map[types.NamespacedName]*appsv1.Deployment{}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		key := client.ObjectKeyFromObject(d)
		if d.DeletionTimestamp != nil {
			if err := m.finish(ctx, d); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("Deployment %s: %w", key, err)
			}
			continue
		}
		replicas := ptr.Deref(d.Spec.Replicas, 1)
		if m.program(d) != "" {
			wanted[key] = true
			if err := m.runDeployment(ctx, d); err != nil {
				return fmt.Errorf("Deployment %s: %w", key, err)
			}
			replicas = 0
			for _, p := range m.pods[key] {
				if p.ready {
					replicas++
				}
			}
		} else {
			for i := range replicas {
				plain[types.NamespacedName{Namespace: d.Namespace, Name: fmt.Sprintf("%s-%d", d.Name, i)}] = d
			}
		}
		if err := m.reportDeployment(ctx, d, replicas); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("Deployment %s: %w", key, err)
		}
	}
	for key := range m.pods {
		if !wanted[key] {
			pods := m.pods[key]
			delete(m.pods, key)
			if err := m.stopPods(ctx, key.Namespace, pods); err != nil {
				return err
			}
		}
	}
	if err := m.keepPlain(ctx, plain); err != nil {
		return err
	}
	if err := m.reportOthers(ctx); err != nil {
		return err
	}
	return m.reportServices(ctx)
}

// keepPlain creates the Pods of Deployments without a program, and deletes surplus ones, because Gardener counts them.
func (m *machine) keepPlain(ctx context.Context, wanted map[types.NamespacedName]*appsv1.Deployment) error {
	pods := &corev1.PodList{}
	if err := m.client.List(ctx, pods, client.HasLabels{plainLabel}); err != nil {
		return err
	}
	missing := maps.Clone(wanted)
	for i := range pods.Items {
		p := &pods.Items[i]
		if key := client.ObjectKeyFromObject(p); wanted[key] == nil {
			if err := m.client.Delete(ctx, p, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting the Pod %s: %w", key, err)
			}
		} else {
			delete(missing, key)
		}
	}
	for key, d := range missing {
		err := m.createPod(ctx, d, key.Name, "", map[string]string{plainLabel: "true"})
		if client.IgnoreNotFound(err) != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return err
		}
	}
	return nil
}

// finish ends the Pods of a Deployment that is being deleted, and lets it go: gardener-resource-manager deletes in the
// foreground.
func (m *machine) finish(ctx context.Context, d *appsv1.Deployment) error {
	key := client.ObjectKeyFromObject(d)
	pods := m.pods[key]
	delete(m.pods, key)
	if err := m.stopPods(ctx, key.Namespace, pods); err != nil {
		return err
	}
	return m.client.Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`)))
}

// program returns the path of the program of a Deployment that is run, or nothing.
func (m *machine) program(d *appsv1.Deployment) string {
	if len(d.Spec.Template.Spec.Containers) == 0 {
		return ""
	}
	image := d.Spec.Template.Spec.Containers[0].Image
	image, _, _ = strings.Cut(image[strings.LastIndex(image, "/")+1:], "@")
	image, _, _ = strings.Cut(image, ":")
	if strings.HasPrefix(d.Namespace, "shoot--") {
		return "" // gardener-resource-manager of a shoot has nothing to do: the shoot has no cluster
	}
	return m.programs[image]
}

// runDeployment starts new Pods before it stops old ones.
func (m *machine) runDeployment(ctx context.Context, d *appsv1.Deployment) error {
	key := client.ObjectKeyFromObject(d)
	hash := fmt.Sprintf("%x", sum(d.Spec.Template))
	replicas := int(ptr.Deref(d.Spec.Replicas, 1))
	var current, old []*pod
	for _, p := range m.pods[key] {
		if p.process.HasExited() {
			m.stopPod(ctx, key.Namespace, p)
			continue
		}
		m.probe(ctx, p)
		if p.hash == hash && len(current) < replicas {
			current = append(current, p)
		} else {
			old = append(old, p)
		}
	}
	m.pods[key] = append(slices.Clone(current), old...)
	for len(current) < replicas && len(m.free) > 0 {
		p, err := m.startPod(ctx, d, hash)
		if err != nil {
			return err
		}
		current = append(current, p)
		m.pods[key] = append(m.pods[key], p)
	}
	if slices.ContainsFunc(current, func(p *pod) bool { return !p.ready }) {
		return nil
	}
	m.pods[key] = current
	return m.stopPods(ctx, key.Namespace, old)
}

// startPod starts the program of a Deployment once, with its volumes, as its ServiceAccount.
func (m *machine) startPod(ctx context.Context, d *appsv1.Deployment, hash string) (*pod, error) {
	m.started++
	p := &pod{network: m.free[0], name: fmt.Sprintf("%s-%d", d.Name, m.started), hash: hash, template: d.Spec.Template}
	p.folder = filepath.Join(m.folder, "pods", d.Namespace, p.name)
	spec, container := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
	inside := []string{}
	for _, mount := range container.VolumeMounts {
		inside = append(inside, mount.MountPath, p.folder+mount.MountPath)
	}
	// The programs run in the file system of the tests: their mounts have other paths there.
	moved := strings.NewReplacer(inside...)
	for _, mount := range container.VolumeMounts {
		files, err := m.volume(ctx, d.Namespace, spec, mount.Name)
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(p.folder+mount.MountPath, 0o700); err != nil {
			return nil, err
		}
		for name, content := range files {
			path := filepath.Join(p.folder+mount.MountPath, name)
			if err := os.WriteFile(path, []byte(moved.Replace(string(content))), 0o600); err != nil {
				return nil, err
			}
		}
	}
	kubeconfig, err := m.kubeconfigOf(ctx, d.Namespace, spec.ServiceAccountName, p.folder)
	if err != nil {
		return nil, err
	}
	environment := []string{"KUBECONFIG=" + kubeconfig, "TARGET_KUBECONFIG=" + kubeconfig, "HOSTNAME=" + p.name,
		"POD_NAME=" + p.name}
	for _, variable := range container.Env {
		value := moved.Replace(variable.Value)
		if from := variable.ValueFrom; from != nil && from.FieldRef != nil {
			value = map[string]string{"metadata.namespace": d.Namespace, "metadata.name": p.name,
				"status.podIP": p.address}[from.FieldRef.FieldPath]
		}
		environment = append(environment, variable.Name+"="+value)
	}
	arguments := []string{"--net=" + p.Path(), m.program(d)}
	for _, argument := range container.Args {
		arguments = append(arguments, moved.Replace(argument))
	}
	if p.process, err = env.Start(&env.Log{Limit: 32 << 20}, environment, "/usr/bin/nsenter", arguments...); err != nil {
		return nil, err
	}
	m.free = m.free[1:]
	return p, m.createPod(ctx, d, p.name, p.address, nil)
}

// createPod creates a Pod object, which some of Gardener's checks count, with labels in addition to those of the
// Deployment.
func (m *machine) createPod(ctx context.Context, d *appsv1.Deployment, name, address string,
	more map[string]string) error {
	all := maps.Clone(d.Spec.Template.Labels)
	maps.Copy(all, more)
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: d.Namespace, Labels: all},
		Spec: corev1.PodSpec{
			NodeName: "node", TerminationGracePeriodSeconds: ptr.To(int64(0)),
			Containers: []corev1.Container{{Name: "program", Image: d.Spec.Template.Spec.Containers[0].Image}},
		},
	}
	if err := m.client.Create(ctx, object); err != nil {
		return fmt.Errorf("creating the Pod %s: %w", name, err)
	}
	object.Status.Phase = corev1.PodRunning
	if address != "" {
		object.Status.PodIP, object.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	}
	return m.client.Status().Update(ctx, object)
}

// volume returns the files of a volume.
func (m *machine) volume(ctx context.Context, namespace string, spec corev1.PodSpec, name string) (map[string][]byte,
	error) {
	i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no volume %s", name)
	}
	volume, files := spec.Volumes[i], map[string][]byte{}
	switch {
	case volume.ConfigMap != nil:
		object := &corev1.ConfigMap{}
		if err := m.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: volume.ConfigMap.Name}, object); err != nil {
			return nil, err
		}
		for key, value := range object.Data {
			files[key] = []byte(value)
		}
	case volume.Secret != nil:
		object := &corev1.Secret{}
		if err := m.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: volume.Secret.SecretName},
			object); err != nil {
			return nil, err
		}
		files = object.Data
	}
	return files, nil
}

// kubeconfigOf writes a kubeconfig with a token of a ServiceAccount.
func (m *machine) kubeconfigOf(ctx context.Context, namespace, name, folder string) (string, error) {
	day := int64(24 * 60 * 60)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := m.client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("asking for a token of %s/%s: %w", namespace, name, err)
	}
	path := filepath.Join(folder, "kubeconfig")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"clusters": [{"name": "x", "cluster": {"server": %q, "certificate-authority-data": %q}}],
		"users": [{"name": "x", "user": {"token": %q}}],
		"contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}]}`,
		m.Config().Host, base64.StdEncoding.EncodeToString(m.Config().CAData), request.Status.Token), 0o600)
}

// probe asks for the readiness of a Pod as its container says.
func (m *machine) probe(ctx context.Context, p *pod) {
	container := p.template.Spec.Containers[0]
	if container.ReadinessProbe == nil || container.ReadinessProbe.HTTPGet == nil {
		p.ready = true
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	get := container.ReadinessProbe.HTTPGet
	url := fmt.Sprintf("http://%s:%d%s", p.address, portOf(container, get.Port), get.Path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return
	}
	response, err := http.DefaultClient.Do(request)
	if p.ready = err == nil && response.StatusCode == http.StatusOK; err == nil {
		_ = response.Body.Close()
	}
}

// portOf returns the number of a container's port.
func portOf(c corev1.Container, port intstr.IntOrString) int32 {
	for _, one := range c.Ports {
		if port.Type == intstr.String && one.Name == port.StrVal {
			return one.ContainerPort
		}
	}
	return port.IntVal
}

// stopPods asks programs to end, takes their addresses out of the endpoints, and returns when they have ended.
func (m *machine) stopPods(ctx context.Context, namespace string, pods []*pod) error {
	if len(pods) == 0 {
		return nil
	}
	for _, p := range pods {
		_ = p.process.Signal(syscall.SIGTERM)
	}
	err := m.reportServices(ctx, client.InNamespace(namespace))
	for _, p := range pods {
		m.stopPod(ctx, namespace, p)
	}
	return err
}

// stopPod stops a program, deletes its Pod and keeps its output.
func (m *machine) stopPod(ctx context.Context, namespace string, p *pod) {
	_ = m.client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.name, Namespace: namespace}},
		client.GracePeriodSeconds(0))
	_ = p.process.Stop()
	m.keep(p.name, p.process.Log.String())
	m.free = append(m.free, p.network)
}

// stop ends all Pods.
func (m *machine) stop() {
	for key, pods := range m.pods {
		for _, p := range pods {
			m.stopPod(context.Background(), key.Namespace, p)
		}
	}
}

// reportDeployment writes the status of a Deployment with some ready Pods.
func (m *machine) reportDeployment(ctx context.Context, d *appsv1.Deployment, ready int32) error {
	before := d.DeepCopy()
	wanted, s := ptr.Deref(d.Spec.Replicas, 1), &d.Status
	s.ObservedGeneration, s.Replicas, s.UpdatedReplicas = d.Generation, wanted, min(ready, wanted)
	s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas = ready, ready, max(0, wanted-ready)
	available, progress := corev1.ConditionTrue, "NewReplicaSetAvailable"
	if ready < wanted {
		available, progress = corev1.ConditionFalse, "ReplicaSetUpdated"
	}
	s.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: available, Reason: "Played"},
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: progress},
	}
	if same(before.Status, d.Status) {
		return nil
	}
	return m.client.Status().Update(ctx, d)
}

// reportOthers reports StatefulSets and DaemonSets as ready.
func (m *machine) reportOthers(ctx context.Context) error {
	sets := &appsv1.StatefulSetList{}
	if err := m.client.List(ctx, sets); err != nil {
		return err
	}
	for i := range sets.Items {
		s := &sets.Items[i]
		before, wanted := s.DeepCopy(), ptr.Deref(s.Spec.Replicas, 1)
		s.Status = appsv1.StatefulSetStatus{
			ObservedGeneration: s.Generation, Replicas: wanted, ReadyReplicas: wanted, CurrentReplicas: wanted,
			UpdatedReplicas:   wanted,
			AvailableReplicas: wanted, CurrentRevision: "1", UpdateRevision: "1",
		}
		if !same(before.Status, s.Status) {
			if err := m.client.Status().Update(ctx, s); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
				return err
			}
		}
	}
	daemons := &appsv1.DaemonSetList{}
	if err := m.client.List(ctx, daemons); err != nil {
		return err
	}
	for i := range daemons.Items {
		if d := &daemons.Items[i]; d.Status.ObservedGeneration != d.Generation {
			d.Status.ObservedGeneration = d.Generation
			if err := m.client.Status().Update(ctx, d); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
				return err
			}
		}
	}
	return nil
}

// reportServices writes the endpoints of Services with Pods that run, and addresses for load balancers.
func (m *machine) reportServices(ctx context.Context, of ...client.ListOption) error {
	services := &corev1.ServiceList{}
	if err := m.client.List(ctx, services, of...); err != nil {
		return err
	}
	for i := range services.Items {
		s := &services.Items[i]
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) == 0 {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
			if err := m.client.Status().Update(ctx, s); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
				return err
			}
		}
		if len(s.Spec.Selector) == 0 || s.DeletionTimestamp != nil {
			continue
		}
		if err := m.reportEndpoints(ctx, s); err != nil {
			return fmt.Errorf("endpoints of the Service %s/%s: %w", s.Namespace, s.Name, err)
		}
	}
	return nil
}

// reportEndpoints writes the endpoints of a Service, once it has had a Pod.
func (m *machine) reportEndpoints(ctx context.Context, s *corev1.Service) error {
	var addresses []string
	var ports []discoveryv1.EndpointPort
	for key, pods := range m.pods {
		for _, p := range pods {
			if key.Namespace != s.Namespace || !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(p.template.Labels)) {
				continue
			}
			ports = nil
			for _, port := range s.Spec.Ports {
				number := portOf(p.template.Spec.Containers[0], port.TargetPort)
				ports = append(ports,
					discoveryv1.EndpointPort{Name: ptr.To(port.Name), Port: &number, Protocol: ptr.To(corev1.ProtocolTCP)})
			}
			if p.ready {
				addresses = append(addresses, p.address)
			}
		}
	}
	slices.Sort(addresses)
	slice := endpoints(s.Namespace, s.Name, ports, addresses...)
	current := &discoveryv1.EndpointSlice{}
	err := m.client.Get(ctx, client.ObjectKeyFromObject(slice), current)
	switch {
	case apierrors.IsNotFound(err) && len(addresses) == 0:
		return nil
	case apierrors.IsNotFound(err):
		return m.client.Create(ctx, slice)
	case err != nil:
		return err
	case same(current.Endpoints, slice.Endpoints) && (len(ports) == 0 || same(current.Ports, slice.Ports)):
		return nil
	}
	current.Endpoints = slice.Endpoints
	if len(ports) > 0 {
		current.Ports = slice.Ports
	}
	return m.client.Update(ctx, current)
}
