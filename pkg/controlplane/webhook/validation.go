// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// validationPath is the path for validating ConfigMaps of profiles, without a segment.
const validationPath = PathPrefix + "validate/profiles"

// validationTimeoutSeconds is the API server's timeout for the validation. Compiling a profile takes some
// tenths of a second.
const validationTimeoutSeconds = 10

// Check returns the errors in files of profiles, and as warnings their conflicts with the active profiles and
// missing permissions, because users that apply several objects cannot choose the order. One check runs at a
// time.
func (s *Store) Check(ctx context.Context, files []source.File) (warnings []string, err error) {
	select {
	case s.checking <- struct{}{}:
		defer func() { <-s.checking }()
	case <-ctx.Done():
		return nil, fmt.Errorf("another ConfigMap is being checked: %w", ctx.Err())
	}
	var wrong []Status
	var versions []*version
	for _, file := range files {
		v := &version{file: file, parameters: s.parametersOf(file)}
		_, v.err = s.join([]*version{v})
		wrong = append(wrong, Status{Source: file.Name, Err: v.err})
		versions = append(versions, v)
	}
	if err := problems(wrong); err != nil {
		return nil, err
	}
	for _, status := range s.Statuses() {
		replaced := slices.ContainsFunc(files, func(f source.File) bool { return f.Name == status.Source })
		if status.served != nil && !replaced {
			versions = append(versions, status.served)
		}
	}
	together, err := s.join(versions)
	if err != nil {
		return append(findingLines(err), "the active profiles stay active, and this one is not used while it conflicts with them"), nil
	}
	refused, _ := permit(ctx, s.Authorizer, s.log, together.program)
	for _, file := range files {
		warnings = append(warnings, findingLines(findingsIn(refused, file.Name))...)
	}
	return warnings, nil
}

// Validator answers the API server's requests to validate a ConfigMap of profiles.
type Validator struct{ Store *Store }

// Handle denies a ConfigMap with an invalid profile. Its message has each finding with key, line and column.
func (v Validator) Handle(ctx context.Context, request admission.Request) admission.Response {
	configMap := &corev1.ConfigMap{}
	if err := json.Unmarshal(request.Object.Raw, configMap); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decoding the ConfigMap: %w", err))
	}
	if configMap.Labels[ProfileLabel] != "true" {
		return admission.Allowed("")
	}
	configMap.Namespace, configMap.Name = request.Namespace, request.Name
	files := folder.FromConfigMap(configMap.Namespace, configMap.Name, configMap.Data)
	if len(files) == 0 {
		return admission.Allowed("").WithWarnings("the ConfigMap has no profile: no key ends in .yaml or .yml")
	}
	warnings, err := v.Store.Check(ctx, files)
	if err != nil {
		return admission.Denied(err.Error())
	}
	return admission.Allowed("").WithWarnings(warnings...)
}

// ValidationHandler returns the HTTP handler of a path of validations, with or without a segment, or nil.
type ValidationHandler func(path string) http.Handler

// NewValidationHandler returns the handlers of Validator and Removal.
func NewValidationHandler(profiles Validator, removal Removal) ValidationHandler {
	handlers := map[string]http.Handler{
		validationPath: &admission.Webhook{Handler: profiles}, removalPath: &admission.Webhook{Handler: removal},
	}
	return func(path string) http.Handler {
		_, rest := splitPath(path)
		return handlers[rest]
	}
}

// reconcileValidation maintains the registrations of Removal, and of the Validator for the labelled ConfigMaps
// in the program's namespace.
func (r *Registrar) reconcileValidation(ctx context.Context, bundle []byte, segment string, owners []metav1.OwnerReference) error {
	webhooks := []admissionregistrationv1.ValidatingWebhook{r.Endpoint.removal(bundle, segment)}
	if r.ValidateProfiles {
		webhooks = append(webhooks, r.Endpoint.validation(bundle, segment))
	}
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: r.Endpoint.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, configuration, func() error {
		metav1.SetMetaDataLabel(&configuration.ObjectMeta, v1beta1constants.LabelExcludeWebhookFromRemediation, "true")
		configuration.OwnerReferences = owners
		configuration.Webhooks = webhooks
		return nil
	})
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil // the cache is outdated, and the next event triggers another comparison
	}
	if err != nil {
		return fmt.Errorf("writing the registration of the validation: %w", err)
	}
	return nil
}

// validation returns the webhook for ConfigMaps of profiles. Loading finds those that are invalid.
func (e Endpoint) validation(bundle []byte, segment string) admissionregistrationv1.ValidatingWebhook {
	webhook := e.validatingWebhook("profiles", e.clientConfig(withSegment(validationPath, segment), bundle))
	webhook.Rules = rules([]target.Form{{Version: "v1", Resource: "configmaps"}})
	webhook.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{ProfileLabel: "true"}}
	webhook.SideEffects = ptr.To(admissionregistrationv1.SideEffectClassNone)
	webhook.TimeoutSeconds = ptr.To[int32](validationTimeoutSeconds)
	webhook.MatchConditions = []admissionregistrationv1.MatchCondition{{
		// The metadata of an invalid ConfigMap may change, such as its condition and finalizers.
		Name: "profile-changes",
		Expression: strings.Join([]string{
			"oldObject == null", "!has(oldObject.metadata.labels)", fmt.Sprintf("!(%q in oldObject.metadata.labels)", ProfileLabel),
			fmt.Sprintf("oldObject.metadata.labels[%q] != %q", ProfileLabel, "true"),
			"(has(object.data) ? object.data : {}) != (has(oldObject.data) ? oldObject.data : {})",
		}, " || "),
	}}
	return webhook
}
