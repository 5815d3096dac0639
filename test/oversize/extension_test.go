// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package oversize_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/oversize"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

const (
	root = "../.."
	name = "gardener-extension-provider-graft"
	// mostGrowth is by how much the program may grow in a case, in bytes.
	mostGrowth = 256 << 20
	// parallel is how many requests a case sends at a time.
	parallel = 10
	// patience bounds waits for the program. It is long, since refusing a profile takes a second of CPU time, and several
	// attempts.
	patience = 5 * time.Minute
	// casesVariable is the environment variable with the number of cases; without it there are fewCases. firstVariable
	// names the seed of the first.
	casesVariable = "GRAFT_OVERSIZE_CASES"
	firstVariable = "GRAFT_OVERSIZE_FIRST"
	fewCases      = 12
)

var (
	land   *landscape.Landscape
	binary string
)

func TestOversize(t *testing.T) { suite.Run(t, "oversize", "admission", "slow") }

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	binary, err = env.Program(root, name)
	Expect(err).NotTo(HaveOccurred())
	// The servers outlive the context of this node.
	land, err = landscape.Start(context.Background(), landscape.Options{})
	Expect(err).NotTo(HaveOccurred(), "starting etcd and kube-apiserver")
	DeferCleanup(land.Stop)
})

// extension is the program with one ConfigMap for its profile.
type extension struct {
	*env.Process
	env.Extension
	profile *corev1.ConfigMap
	client  *http.Client
	url     string
}

// start runs the program without GOMEMLIMIT, which would hide how much memory the limits of the program itself leave to
// it.
func start(ctx SpecContext) *extension {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "oversize-"}}
	Expect(land.Client().Create(ctx, namespace)).To(Succeed())
	listens, err := env.NewExtension(ctx)
	Expect(err).NotTo(HaveOccurred())
	e := &extension{Extension: listens, profile: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace.Name, Name: "oversize",
		Labels: map[string]string{"graft.provider.extensions.gardener.cloud/profile": "true"},
	}}}
	e.profile.Data = map[string]string{"profile.yaml": `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfile
metadata: {name: oversize}
providers: [` + oversize.Provider + `]
controlplane:
  kube-controller-manager:
  - annotations: {set: {oversize/start: "1"}}
`}
	Expect(land.Client().Create(ctx, e.profile)).To(Succeed())
	config := filepath.Join(GinkgoT().TempDir(), "config.yaml")
	Expect(os.WriteFile(config, []byte("apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: "+
		"ControllerConfiguration\n"+
		"profiles: {configMaps: {enabled: true}}\nshutdown: {delay: 0s}\nwebhook: {timeoutSeconds: 30}\n"), 0o600)).
		To(Succeed())
	Expect(os.Unsetenv("GOMEMLIMIT")).To(Succeed())
	arguments := append(e.Arguments(config, land.Kubeconfig()), e.ByURL(namespace.Name)...)
	e.Process, err = env.Start(&env.Log{Limit: 1 << 20}, nil, binary,
		append(arguments, "--leader-election-namespace="+namespace.Name)...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(e.Kill)
	Expect(e.Await(ctx, e.Ready)).To(Succeed())
	e.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: parallel,
	}}
	DeferCleanup(e.client.CloseIdleConnections)
	Eventually(ctx, func(give Gomega) {
		list := &admissionregistrationv1.MutatingWebhookConfigurationList{}
		give.Expect(land.Client().List(ctx, list, client.MatchingLabels{"app.kubernetes.io/name": name})).To(Succeed())
		give.Expect(list.Items).To(HaveLen(1))
		give.Expect(list.Items[0].Webhooks).To(HaveLen(1))
		e.url = *list.Items[0].Webhooks[0].ClientConfig.URL
		parsed, err := url.Parse(e.url)
		give.Expect(err).NotTo(HaveOccurred())
		give.Expect(parsed.Path).To(HaveSuffix("/controlplane/" + oversize.Provider))
	}).WithTimeout(patience).Should(Succeed())
	return e
}

// attempts returns how often the program has tried to load profiles.
func (e *extension) attempts(ctx context.Context) int {
	GinkgoHelper()
	text, err := env.Get(ctx, "http://"+e.Metrics+"/metrics")
	Expect(err).NotTo(HaveOccurred())
	sum := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "graft_profile_reloads_total{") {
			fields := strings.Fields(line)
			count, err := strconv.Atoi(fields[len(fields)-1])
			Expect(err).NotTo(HaveOccurred())
			sum += count
		}
	}
	return sum
}

// load writes the profile of a case, and returns when the program has loaded it; false when its admission webhook has
// refused it.
func (e *extension) load(ctx context.Context, seed uint64) bool {
	GinkgoHelper()
	before := e.attempts(ctx)
	patch := client.MergeFrom(e.profile.DeepCopy())
	changed := e.profile.DeepCopy()
	changed.Data["profile.yaml"] = oversize.Profile(seed)
	if err := land.Client().Patch(ctx, changed, patch); err != nil {
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "case %d: %v", seed, err)
		Expect(err.Error()).To(MatchRegexp(`profile\.yaml:\d+:\d+: `), "case %d is refused without a place", seed)
		return false
	}
	e.profile = changed
	Eventually(ctx, func() int { return e.attempts(ctx) }).WithTimeout(patience).WithPolling(20*time.Millisecond).
		Should(BeNumerically(">", before), "case %d is not loaded", seed)
	return true
}

// review returns an AdmissionReview of an object with the annotation of a case.
func review(seed uint64) []byte {
	GinkgoHelper()
	object, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"namespace": "shoot", "name": "kube-controller-manager",
			"annotations": map[string]any{oversize.Key: oversize.Annotation(seed)},
		},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "kube-controller-manager"}},
		}}},
	})
	Expect(err).NotTo(HaveOccurred())
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: types.UID(fmt.Sprint(seed)), Operation: admissionv1.Create, Namespace: "shoot", Name: "kube-controller-manager",
			Kind:     metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			Resource: metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
			Object:   runtime.RawExtension{Raw: object},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	return body
}

// ask sends a review and returns why it is denied; empty: it is allowed.
func (e *extension) ask(ctx context.Context, body []byte) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"?timeout=30s", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := e.client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var decoded admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &decoded); err != nil || decoded.Response == nil {
		return "", fmt.Errorf("%s: %.300s", response.Status, answer)
	}
	switch result := decoded.Response.Result; {
	case decoded.Response.Allowed:
		return "", nil
	case result == nil || result.Message == "":
		return "", errors.New("it is denied without a message")
	default:
		return result.Message, nil
	}
}

// number returns the number in an environment variable, or another one where it is not set.
func number(variable string, otherwise uint64) uint64 {
	GinkgoHelper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	count, err := strconv.ParseUint(text, 10, 32)
	Expect(err).NotTo(HaveOccurred(), variable)
	return count
}

var _ = Describe("the extension with profiles that compute values as large as they can", func() {
	It("never ends, and never grows by more than 256 MiB in a case", func(ctx SpecContext) {
		e := start(ctx)
		var refused, denied, limited, late, allowed int
		var most, mostSeed int64
		began, reported := time.Now(), time.Now()
		first, count := number(firstVariable, 0), number(casesVariable, fewCases)
		for seed := first; seed < first+count; seed++ {
			before, err := e.Resident()
			Expect(err).NotTo(HaveOccurred())
			Expect(e.ResetPeak()).To(Succeed())
			if e.load(ctx, seed) {
				body := review(seed)
				messages, problems := make([]string, parallel), make([]error, parallel)
				var group sync.WaitGroup
				for i := range parallel {
					group.Go(func() { messages[i], problems[i] = e.ask(ctx, body) })
				}
				group.Wait()
				Expect(errors.Join(problems...)).NotTo(HaveOccurred(), "case %d\n%s", seed, oversize.Profile(seed))
				for _, message := range messages {
					if message == "" {
						allowed++
						continue
					}
					denied++
					if strings.HasPrefix(message, "the deadline of the admission passed") {
						late++ // of ten requests, two at a time compute large values
						continue
					}
					Expect(message).To(MatchRegexp(`profile\.yaml:\d+`), "case %d is denied without a place", seed)
					if strings.Contains(message, "too large") || strings.Contains(message, "too costly") {
						limited++
					}
				}
			} else {
				refused++
			}
			Expect(e.HasExited()).To(BeFalse(), "case %d has ended the program: %s\n%s", seed, e.Log, oversize.Profile(seed))
			peak, err := e.Peak()
			Expect(err).NotTo(HaveOccurred())
			Expect(peak-before).To(BeNumerically("<=", mostGrowth), "case %d: the program has grown from %d to %d MiB\n%s",
				seed, before>>20, peak>>20, oversize.Profile(seed))
			if peak-before > most {
				most, mostSeed = peak-before, int64(seed)
			}
			if time.Since(reported) > time.Minute {
				reported = time.Now()
				GinkgoWriter.Printf("%d cases after %s\n", seed-first+1, time.Since(began).Round(time.Second))
			}
		}
		Expect(limited).To(BeNumerically(">", 0), "no request has exceeded a limit")
		AddReportEntry("cases", fmt.Sprintf("%d cases in %s: %d profiles refused; %d requests allowed and %d denied, %d of "+
			"them by a limit and %d "+
			"for want of time; grown by %d MiB at most, in case %d",
			count, time.Since(began).Round(time.Second), refused, allowed, denied, limited, late, most>>20, mostSeed))
	})
})
