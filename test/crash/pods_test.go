// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
)

// pod is a Pod of Spiderpool, with the interfaces that it has requested in one request.
type pod struct {
	UID  string `json:"podUID"`
	Name string `json:"podName"`
	// Namespace and Node are the Pod's namespace and node.
	Namespace string `json:"podNamespace"`
	Node      string `json:"nodeName"`
	Items     []item `json:"iaasIPsAllocationRequest"`

	nics []*nic
	// sure means that the request was answered: all nics have their addresses, except for preempted ones.
	sure bool
}

// item is one address of a request.
type item struct {
	Address string `json:"ipAddress"`
	Subnet  string `json:"subnet"`
	Parent  string `json:"parentNicMac"`
}

// nic is an interface of a Pod at a place: one address, or one of each family.
type nic struct {
	pod    *pod
	items  []item
	answer link
	// lost reports that another Pod has requested one of its addresses, or that it was released.
	lost bool
}

// link is the answer for an interface.
type link struct {
	MAC  string `json:"macAddress"`
	VLAN int    `json:"vlanId"`
}

// owner is its owner in the cloud.
func (n *nic) owner() string {
	return "spiderpool/uid/" + n.pod.UID + "/" + n.pod.Node + "/" + n.items[0].Parent + "/" + n.items[0].Address
}

// whole reports whether nothing of a Pod was preempted, so that Spiderpool would repeat its request.
func (p *pod) whole() bool {
	return !slices.ContainsFunc(p.nics, func(n *nic) bool { return n.lost })
}

// ask sends a Pod's request. It returns the answer for each item; status 0 means that there was no answer.
func (s *story) ask(p *pod) (status int, items []link, text string) {
	status, text = s.call(http.MethodPost, "ipam/allocate-ips", p)
	if status != http.StatusOK {
		return status, nil, text
	}
	var answer struct {
		Items []struct {
			item
			link
		} `json:"iaasIPsAllocationResponse"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Items) != len(p.Items) {
		s.errorf("%s asked for %d items and is answered %s", p.UID, len(p.Items), text)
		return 0, nil, text
	}
	for i, got := range answer.Items {
		if got.item != p.Items[i] || got.MAC == "" || got.VLAN == 0 {
			s.errorf("%s asked for %v and is answered %s", p.UID, p.Items, text)
		}
		items = append(items, got.link)
	}
	return status, items, text
}

// giveBack sends the release of an interface, by the UID of its Pod and any of its addresses, as garbage collection
// does. It reports whether the release was answered.
func (s *story) giveBack(n *nic, of int) bool {
	i := n.items[of%len(n.items)]
	status, text := s.call(http.MethodPost, "ipam/release-ip", map[string]string{
		"podUID": n.pod.UID, "nodeName": "", "subnet": i.Subnet, "ipAddress": i.Address,
	})
	if status != 0 && status != http.StatusNoContent && !s.Killed.Load() {
		s.errorf("the release of %s of %s is answered %d %s", i.Address, n.pod.UID, status, text)
	}
	return status == http.StatusNoContent
}

// call makes a call of Spiderpool's contract.
func (s *story) call(method, path string, body any) (status int, answer string) {
	raw, err := json.Marshal(body)
	if err != nil {
		s.errorf("%v", err)
		return 0, ""
	}
	url := "http://localhost/v1/apis/network.iaas.io/" + path
	request, err := http.NewRequestWithContext(s.ctx, method, url, bytes.NewReader(raw))
	if err != nil {
		s.errorf("%v", err)
		return 0, ""
	}
	response, err := s.pods.Do(request)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	if raw, err = io.ReadAll(response.Body); err != nil {
		return 0, ""
	}
	return response.StatusCode, string(raw)
}
