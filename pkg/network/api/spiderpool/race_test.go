// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package spiderpool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api/spiderpool"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// body is a request of a Pod for an address of the pool with a cloud, or the release of it.
func body(pod int, address string, release bool) string {
	who := fmt.Sprintf(`"podName":"pod-%[1]d","podNamespace":"default","podUID":"uid-%[1]d","nodeName":"worker-%[1]d"`, pod)
	item := fmt.Sprintf(`"parentNicMac":"fa:16:3e:00:00:%02x","subnet":"10.1.0.0/24","ipAddress":%q`, pod, address)
	if release {
		return "{" + who + "," + item + "}"
	}
	return "{" + who + `,"iaasIPsAllocationRequest":[{` + item + "}]}"
}

// result reads the part of an answer for an address.
func result(t *testing.T, recorder *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var answer struct {
		Items []map[string]any `json:"iaasIPsAllocationResponse"`
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || len(answer.Items) != 1 {
		t.Fatalf("the answer %d %s has no item: %v", recorder.Code, recorder.Body, err)
	}
	return answer.Items[0]
}

// hold makes the cloud wait in a call until it is let go, and says when it is there.
func (f *fabric) hold(call string) (there <-chan struct{}, letGo func()) {
	arrived, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.hook = func(made string) {
		if strings.HasPrefix(made, call) {
			once.Do(func() { close(arrived) })
			<-free
		}
	}
	return arrived, func() {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		f.hook = nil
		close(free)
	}
}

// TestManyPodsRequestOneAddress lets many Pods request one address: one of them holds it in the end and has the cloud's answer, and
// releases of the other Pods do not affect it.
func TestManyPodsRequestOneAddress(t *testing.T) {
	w := newWorld(t)
	const pods = 12
	told := make([]map[string]any, pods)
	var group sync.WaitGroup
	for pod := range pods {
		group.Go(func() {
			for attempt, end := 0, time.Now().Add(time.Minute); time.Now().Before(end); attempt++ {
				time.Sleep(time.Duration(min(attempt, 3*pods)*(pod+1)) * time.Millisecond / 4) // kubelet pauses, too
				recorder := w.send(http.MethodPost, allocatePath, nil, body(pod, "10.1.0.7", false))
				if recorder.Code == http.StatusOK {
					told[pod] = result(t, recorder)
					return
				}
				if recorder.Code != http.StatusServiceUnavailable && recorder.Code != http.StatusConflict {
					t.Errorf("status %d: %s", recorder.Code, recorder.Body)
				}
			}
			t.Errorf("the pod %d gives up", pod)
		})
	}
	group.Wait()
	var status struct{ Entry map[string]any }
	look := func() int {
		recorder := w.send(http.MethodGet, "/v1/apis/network.iaas.io/status/ips-cache/10.1.0.7", nil, "")
		if recorder.Code == http.StatusOK {
			if err := json.Unmarshal(recorder.Body.Bytes(), &status); err != nil {
				t.Fatal(err)
			}
		}
		return recorder.Code
	}
	if look() != http.StatusOK || len(w.held()) != 1 {
		t.Fatalf("want one owner of the address, got %v", w.held())
	}
	var winner int
	if _, err := fmt.Sscanf(status.Entry["nodeName"].(string), "worker-%d", &winner); err != nil {
		t.Fatal(err)
	}
	if got := told[winner]; got["macAddress"] != status.Entry["mac"] || got["vlanId"] != status.Entry["vlanID"] {
		t.Errorf("the winner's answer is %v, and the ledger has %v", got, status.Entry)
	}
	for pod := range pods {
		if pod != winner {
			w.send(http.MethodPost, releasePath, nil, body(pod, "10.1.0.7", true))
		}
	}
	if look() != http.StatusOK {
		t.Error("a late release of another Pod released the address")
	}
	if w.send(http.MethodPost, releasePath, nil, body(winner, "10.1.0.7", true)); look() != http.StatusNotFound {
		t.Error("the owner's release did not release the address")
	}
}

// TestConcurrentRepetitionsGetOneAnswer checks that concurrent repetitions of a request get the same answer, with one call of the cloud.
func TestConcurrentRepetitionsGetOneAnswer(t *testing.T) {
	w := newWorld(t)
	const times = 20
	answers := make([]map[string]any, times)
	var group sync.WaitGroup
	for i := range times {
		group.Go(func() { answers[i] = result(t, w.send(http.MethodPost, allocatePath, nil, body(1, "10.1.0.7", false))) })
	}
	group.Wait()
	for _, answer := range answers {
		if diff := cmp.Diff(answers[0], answer); diff != "" {
			t.Errorf("an answer differs:\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"bind 10.1.0.7 on worker-1/fa:16:3e:00:00:01"}, w.fabric.asked()); diff != "" {
		t.Errorf("what the cloud was asked (-want +got):\n%s", diff)
	}
}

// TestNextAttemptFindsFinishedWork checks that work for a caller that has left or timed out is finished, and that its next attempt finds it.
func TestNextAttemptFindsFinishedWork(t *testing.T) {
	tests := map[string]struct {
		header http.Header
		leave  bool
		status int
	}{
		"the caller has timed out": {header: http.Header{"X-Request-Timeout-Ms": {"40"}}, status: http.StatusGatewayTimeout},
		"the caller has left":      {leave: true, status: http.StatusGatewayTimeout},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			there, letGo := w.fabric.hold("bind")
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, allocatePath, strings.NewReader(body(1, "10.1.0.7", false)))
			if test.header != nil {
				r.Header = test.header
			}
			if test.leave {
				go func() { <-there; leave() }()
			}
			recorder := httptest.NewRecorder()
			if w.ServeHTTP(recorder, r); recorder.Code != test.status {
				t.Errorf("status %d: %s", recorder.Code, recorder.Body)
			}
			letGo()
			if recorder := w.send(http.MethodPost, allocatePath, nil, body(1, "10.1.0.7", false)); result(t, recorder)["vlanId"] != 2101.0 {
				t.Errorf("the next attempt is answered %s", recorder.Body)
			}
			if calls := w.fabric.asked(); len(calls) != 1 {
				t.Errorf("want one call of the cloud, got %v", calls)
			}
		})
	}
}

// TestRequestWithTooLittleTimeIsRefused checks that a request with too little time is refused with a time to retry before the cloud is called.
func TestRequestWithTooLittleTimeIsRefused(t *testing.T) {
	w := newWorld(t, service.Limit{Rate: 0.02, Burst: 1})
	ask := func(pod int, milliseconds string) *httptest.ResponseRecorder {
		return w.send(http.MethodPost, allocatePath, http.Header{"X-Request-Timeout-Ms": {milliseconds}}, body(pod, fmt.Sprintf("10.1.0.%d", pod), false))
	}
	if recorder := ask(1, "60000"); recorder.Code != http.StatusOK {
		t.Fatalf("the first: status %d: %s", recorder.Code, recorder.Body)
	}
	recorder := ask(2, "5000")
	if after := recorder.Header().Get("Retry-After"); recorder.Code != http.StatusTooManyRequests || after == "" || after == "0" {
		t.Errorf("status %d, Retry-After %q: %s", recorder.Code, after, recorder.Body)
	}
	if held, calls := w.held(), w.fabric.asked(); len(held) != 1 || len(calls) != 1 {
		t.Errorf("want one allocation and one call of the cloud, got %v and %v", held, calls)
	}
	w.pass(55 * time.Second)
	if recorder := ask(2, "120000"); recorder.Code != http.StatusOK {
		t.Errorf("later: status %d: %s", recorder.Code, recorder.Body)
	}
}

// TestNewDenyRuleKeepsAllocation checks that a new deny rule does not affect an existing allocation.
func TestNewDenyRuleKeepsAllocation(t *testing.T) {
	w := newWorld(t)
	first := w.send(http.MethodPost, allocatePath, nil, body(1, "10.1.0.7", false))
	w.policy = load(t, "testdata/denying.yaml")
	again := w.send(http.MethodPost, allocatePath, nil, body(1, "10.1.0.7", false))
	if again.Code != http.StatusOK || again.Body.String() != first.Body.String() {
		t.Errorf("status %d: %s", again.Code, again.Body)
	}
	for pod, address := range map[int]string{1: "10.1.0.8", 2: "10.1.0.7"} {
		if recorder := w.send(http.MethodPost, allocatePath, nil, body(pod, address, false)); recorder.Code != http.StatusForbidden || recorder.Body.String() != "denied: no more" {
			t.Errorf("%s requested by another Pod: status %d: %s", address, recorder.Code, recorder.Body)
		}
	}
}

// TestReleaseFromRemovedPool checks that a Pod can release its addresses of a removed pool, and no address of another Pod.
func TestReleaseFromRemovedPool(t *testing.T) {
	w := newWorld(t)
	for pod := range 2 {
		in := strings.ReplaceAll(body(pod, fmt.Sprintf("10.2.0.%d", 7+pod), false), "10.1.0.0/24", "10.2.0.0/24")
		w.send(http.MethodPost, allocatePath, nil, in)
	}
	w.policy = load(t, "testdata/denying.yaml")
	release := func(uid, address string) {
		text := fmt.Sprintf(`{"podUID":%q,"nodeName":"","subnet":"10.2.0.0/24","ipAddress":%q}`, uid, address)
		if recorder := w.send(http.MethodPost, releasePath, nil, text); recorder.Code != http.StatusNoContent {
			t.Errorf("status %d: %s", recorder.Code, recorder.Body)
		}
	}
	release("uid-1", "10.2.0.7")
	if held := w.held(); len(held) != 2 {
		t.Errorf("want two allocations after the release of another Pod, got %v", held)
	}
	release("uid-0", "10.2.0.7")
	if diff := cmp.Diff([]string{"[10.2.0.8] uid-1 bound"}, w.held()); diff != "" {
		t.Errorf("what is held (-want +got):\n%s", diff)
	}
}

// TestReleaseIdentifiesPodByNameOrUID checks that garbage collection identifies a Pod by its name, or by its UID without one, and that the UID
// still protects its release.
func TestReleaseIdentifiesPodByNameOrUID(t *testing.T) {
	item := `"nodeName":"worker-1","iaasIPsAllocationRequest":[{"parentNicMac":"fa:16:3e:11:22:33","subnet":"10.2.0.0/24","ipAddress":"10.2.0.7"}]}`
	tests := map[string]struct {
		who  string
		want network.Holder
	}{
		"a request with name, namespace and UID": {`"podName":"web-0","podNamespace":"shop","podUID":"a.b_2F"`, network.Holder{Namespace: "shop", Name: "web-0"}},
		"a request with a UID only":              {`"podUID":"a.b_2F"`, network.Holder{UID: "a.b_2F"}},
		"only a part of the name":                {`"podName":"web-0","podUID":"a.b_2F"`, network.Holder{Name: "web-0", UID: "a.b_2F"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if recorder := w.send(http.MethodPost, allocatePath, nil, "{"+test.who+","+item); recorder.Code != http.StatusOK {
				t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
			}
			a, err := w.service.ByAddress(t.Context(), "plain", netip.MustParseAddr("10.2.0.7"))
			if err != nil {
				t.Fatal(err)
			}
			test.want.Kind, test.want.Node, test.want.Device = "Pod", "worker-1", "fa:16:3e:11:22:33"
			if diff := cmp.Diff(test.want, a.Holder); diff != "" {
				t.Errorf("the holder (-want +got):\n%s", diff)
			}
			for _, uid := range []string{"a", "a/b", "a%2Fb%20%252F", "a.b_2F"} {
				w.send(http.MethodPost, releasePath, nil, fmt.Sprintf(`{"podUID":%q,"nodeName":"","subnet":"10.2.0.0/24","ipAddress":"10.2.0.7"}`, uid))
				if held := len(w.held()); held == 1 != (uid != "a.b_2F") {
					t.Errorf("after the release of %q: %d allocations are held", uid, held)
				}
			}
		})
	}
}

// TestNode checks that the server of a node serves no other node.
func TestNode(t *testing.T) {
	w := newWorld(t)
	w.options.Node = "worker-1"
	w.Handler = spiderpool.New(w.options)
	for pod, want := range map[int]int{1: http.StatusOK, 2: http.StatusMisdirectedRequest} {
		if recorder := w.send(http.MethodPost, allocatePath, nil, body(pod, "10.1.0.7", false)); recorder.Code != want {
			t.Errorf("the Pod of worker-%d: status %d: %s", pod, recorder.Code, recorder.Body)
		}
	}
}

// TestReleaseDuringBind checks that a release during a bind, or while the bind waits, frees the address.
func TestReleaseDuringBind(t *testing.T) {
	tests := map[string]struct {
		// before is a Pod that has the address, which must go first.
		before bool
		held   string
	}{
		"while the address is being bound": {held: "bind"},
		"waiting for the older to go":      {before: true, held: "unbind"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if test.before {
				w.send(http.MethodPost, allocatePath, nil, body(2, "10.1.0.7", false))
			}
			there, letGo := w.fabric.hold(test.held)
			ctx, leave := context.WithCancel(t.Context())
			go func() { <-there; leave() }()
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, allocatePath, strings.NewReader(body(1, "10.1.0.7", false)))
			recorder := httptest.NewRecorder()
			if w.ServeHTTP(recorder, r); recorder.Code != http.StatusGatewayTimeout {
				t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
			}
			released := make(chan int)
			go func() { released <- w.send(http.MethodPost, releasePath, nil, body(1, "10.1.0.7", true)).Code }()
			select {
			case <-released:
				t.Error("the release did not wait for the open request")
			case <-time.After(20 * time.Millisecond):
			}
			letGo()
			if status := <-released; status != http.StatusNoContent {
				t.Errorf("status %d", status)
			}
			eventually(t, "nothing is held", func() bool { return len(w.held()) == 0 })
		})
	}
}
