// Package deploy_test checks the manifests for Kubernetes of this folder: they are decoded strictly, their
// commands have the flags that they name, no secret is in them, and the configuration of the hubs makes a
// cluster that stores a run three times.
package deploy_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// kinds returns an empty object of a kind.
var kinds = map[string]func() any{
	"apps/v1 Deployment":                 func() any { return &appsv1.Deployment{} },
	"apps/v1 StatefulSet":                func() any { return &appsv1.StatefulSet{} },
	"batch/v1 CronJob":                   func() any { return &batchv1.CronJob{} },
	"networking.k8s.io/v1 NetworkPolicy": func() any { return &networkingv1.NetworkPolicy{} },
	"policy/v1 PodDisruptionBudget":      func() any { return &policyv1.PodDisruptionBudget{} },
	"v1 ConfigMap":                       func() any { return &corev1.ConfigMap{} },
	"v1 PersistentVolumeClaim":           func() any { return &corev1.PersistentVolumeClaim{} },
	"v1 Service":                         func() any { return &corev1.Service{} },
}

// objects returns the objects of all manifests, by file.
func objects(t *testing.T) map[string][]any {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 4)
	all := map[string][]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var meta metav1.TypeMeta
			require.NoError(t, yaml.Unmarshal([]byte(document), &meta), file)
			empty := kinds[meta.APIVersion+" "+meta.Kind]
			require.NotNil(t, empty, "%s: %s %s", file, meta.APIVersion, meta.Kind)
			object := empty()
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), object), file)
			all[file] = append(all[file], object)
		}
	}
	return all
}

// pods returns the templates of the pods of an object, and checks that its selector selects them.
func pods(t *testing.T, object any) (templates []corev1.PodTemplateSpec) {
	t.Helper()
	var selector *metav1.LabelSelector
	switch o := object.(type) {
	case *appsv1.Deployment:
		templates, selector = append(templates, o.Spec.Template), o.Spec.Selector
	case *appsv1.StatefulSet:
		templates, selector = append(templates, o.Spec.Template), o.Spec.Selector
	case *batchv1.CronJob:
		templates = append(templates, o.Spec.JobTemplate.Spec.Template)
	}
	if selector != nil {
		require.True(t, selects(t, selector, templates[0].Labels))
	}
	return templates
}

func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	require.NoError(t, err)
	return s.Matches(labels.Set(of))
}

// containers returns all containers of the manifests.
func containers(t *testing.T, visit func(file string, pod *corev1.PodSpec, c *corev1.Container)) {
	t.Helper()
	n := 0
	for file, list := range objects(t) {
		for _, object := range list {
			for _, template := range pods(t, object) {
				pod := template.Spec
				all := slices.Concat(pod.InitContainers, pod.Containers)
				for i := range all {
					visit(file, &pod, &all[i])
					n++
				}
			}
		}
	}
	require.Equal(t, 6, n)
}

// build builds the command.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stopwhen")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./engine/cmd/stopwhen")
	cmd.Dir = "../.."
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
	return path
}

func TestCommandsHaveTheFlagsThatTheManifestsName(t *testing.T) {
	binary := build(t)
	containers(t, func(file string, _ *corev1.PodSpec, c *corev1.Container) {
		help, err := exec.CommandContext(t.Context(), binary, c.Args[0], "--help").Output()
		require.NoError(t, err, c.Args)
		require.Contains(t, string(help), "stopwhen "+c.Args[0])
		for _, arg := range c.Args[1:] {
			if strings.HasPrefix(arg, "--") {
				require.Regexp(t, `(?m)^ +(-\w, )? *`+regexp.QuoteMeta(arg)+`\b`, string(help), "%s: %s", file, c.Args[0])
			}
		}
	})
}

// A value that is a secret comes from a Secret, and what a pod mounts and reads is declared.
func TestNoManifestHasASecret(t *testing.T) {
	secret := regexp.MustCompile(`(?i)token|password|secret|key`)
	containers(t, func(file string, pod *corev1.PodSpec, c *corev1.Container) {
		names := map[string]bool{}
		for _, e := range c.Env {
			names[e.Name] = true
			if secret.MatchString(e.Name) {
				require.Empty(t, e.Value, "%s: %s", file, e.Name)
				require.NotNil(t, e.ValueFrom.SecretKeyRef, "%s: %s", file, e.Name)
			}
		}
		for _, m := range regexp.MustCompile(`\$\((\w+)\)`).FindAllStringSubmatch(strings.Join(c.Args, " "), -1) {
			require.True(t, names[m[1]], "%s: $(%s) is not in the environment", file, m[1])
		}
		if i := slices.Index(c.Args, "--env"); i >= 0 {
			require.True(t, names[c.Args[i+1]], "%s: %s is not in the environment", file, c.Args[i+1])
		}
		for _, mount := range c.VolumeMounts {
			named := func(v corev1.Volume) bool { return v.Name == mount.Name }
			require.True(t, mount.Name == "data" || slices.ContainsFunc(pod.Volumes, named), "%s: %s", file, mount.Name)
		}
	})
}

// Nothing runs as root, can become it, or writes outside of its volumes, and memory is limited.
func TestPodsAreRestricted(t *testing.T) {
	containers(t, func(file string, pod *corev1.PodSpec, c *corev1.Container) {
		require.True(t, *pod.SecurityContext.RunAsNonRoot, file)
		require.EqualValues(t, 65532, *pod.SecurityContext.RunAsUser, "the user of the image")
		require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type, file)
		require.False(t, *pod.AutomountServiceAccountToken, file)
		require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, file)
		require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, file)
		require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop, file)
		require.False(t, c.Resources.Limits.Memory().IsZero(), file)
	})
}

// The services, the budget and the policy are about the hubs, and the clients may reach them.
func TestTheHubsAreReached(t *testing.T) {
	all := objects(t)
	var hub *appsv1.StatefulSet
	for _, object := range all["hub.yaml"] {
		if o, ok := object.(*appsv1.StatefulSet); ok {
			hub = o
		}
	}
	ports := map[string]bool{}
	for _, port := range hub.Spec.Template.Spec.Containers[0].Ports {
		ports[port.Name] = true
	}
	services := map[string]*corev1.Service{}
	for _, object := range all["hub.yaml"] {
		switch o := object.(type) {
		case *corev1.Service:
			services[o.Name] = o
			require.True(t, labels.SelectorFromSet(o.Spec.Selector).Matches(labels.Set(hub.Spec.Template.Labels)))
			require.True(t, ports[o.Spec.Ports[0].TargetPort.String()])
		case *policyv1.PodDisruptionBudget:
			require.True(t, selects(t, o.Spec.Selector, hub.Spec.Template.Labels))
			require.Less(t, o.Spec.MinAvailable.IntValue(), int(*hub.Spec.Replicas))
		case *networkingv1.NetworkPolicy:
			require.True(t, selects(t, &o.Spec.PodSelector, hub.Spec.Template.Labels))
			for _, rule := range o.Spec.Ingress {
				require.True(t, ports[rule.Ports[0].Port.String()])
			}
			for _, file := range []string{"workers.yaml", "collect.yaml"} {
				for _, object := range all[file] {
					for _, template := range pods(t, object) {
						require.True(t, selects(t, o.Spec.Ingress[0].From[0].PodSelector, template.Labels), file)
					}
				}
			}
		}
	}
	require.Equal(t, corev1.ClusterIPNone, services[hub.Spec.ServiceName].Spec.ClusterIP)
	containers(t, func(file string, _ *corev1.PodSpec, c *corev1.Container) {
		for _, e := range c.Env {
			if e.Name == "NATS_URL" {
				require.Equal(t, fmt.Sprintf("nats://%s:%d", "stopwhen-hub", services["stopwhen-hub"].Spec.Ports[0].Port), e.Value, file)
			}
		}
	})
}

// freeAddress returns an address of this machine that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// The configuration of the hubs is run as it is, but for the addresses: they become ready, and store a run
// three times.
func TestTheHubsAreACluster(t *testing.T) {
	binary := build(t)
	conf := ""
	for _, object := range objects(t)["hub.yaml"] {
		if o, ok := object.(*corev1.ConfigMap); ok {
			conf = o.Data["hub.conf"]
		}
	}
	dir := t.TempDir()
	var clients, peers, metrics []string
	for i := range 3 {
		clients, peers, metrics = append(clients, freeAddress(t)), append(peers, freeAddress(t)), append(metrics, freeAddress(t))
		before := conf
		conf = strings.Replace(conf, fmt.Sprintf("stopwhen-hub-%d.stopwhen-hub-peers:6222", i), peers[i], 1)
		require.NotEqual(t, before, conf)
	}
	ctx, stop := context.WithCancel(t.Context())
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprintf("hub-%d.conf", i))
		own := strings.Replace(conf, "0.0.0.0:6222", peers[i], 1)
		require.NoError(t, os.WriteFile(path, []byte(own), 0o600))
		hub := exec.CommandContext(ctx, binary, "hub", "--config", path, "--listen", clients[i], "--dir", filepath.Join(dir, fmt.Sprint(i)),
			"--metrics", metrics[i])
		hub.Env = append(os.Environ(), "HUB_PASSWORD=s3cret", fmt.Sprintf("POD_NAME=stopwhen-hub-%d", i))
		hub.Cancel = func() error { return hub.Process.Signal(os.Interrupt) }
		hub.WaitDelay = 20 * time.Second
		require.NoError(t, hub.Start())
		t.Cleanup(func() { _ = hub.Wait() })
	}
	t.Cleanup(stop)
	for _, address := range metrics {
		require.Eventually(t, func() bool {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/healthz", http.NoBody)
			require.NoError(t, err)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return false
			}
			defer response.Body.Close()
			return response.StatusCode == http.StatusOK
		}, time.Minute, 200*time.Millisecond, address)
	}
	config := filepath.Join(dir, "orders.json")
	require.NoError(t, os.WriteFile(config, []byte(`{"api": {"baseUrl": "http://127.0.0.1:1/"}, "config": {"jobs": [{"endpoint": "orders"}]}}`), 0o600))
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Env = append(os.Environ(), "NATS_URL=nats://"+clients[0], "NATS_USER=stopwhen", "NATS_PASSWORD=s3cret")
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, string(output))
		return string(output)
	}
	run("submit", config, "--run", "orders-29381234", "--replicas", "3")
	require.Contains(t, run("status", "orders-29381234"), "no worker runs the tasks that wait")
	run("delete", "orders-29381234", "--force")
}
