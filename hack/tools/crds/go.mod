// The definitions of cert-manager's kinds, against which test/charts holds manifests. They are read as files; nothing is compiled.
module github.com/graft-provider/gardener-extension-provider-graft/hack/tools/crds

go 1.26

require github.com/cert-manager/cert-manager v1.19.1
