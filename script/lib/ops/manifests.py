"""The manifests of Kubernetes: by their schemas, and by what they say of one another and of the program."""

import re
import warnings

import yaml

with warnings.catch_warnings():
    # It asks setuptools for its files, which setuptools finds old-fashioned.
    warnings.simplefilter("ignore")
    import kubernetes_validate

# The oldest and the newest version whose schemas are at hand.
VERSIONS = ("1.25", "1.37")
# Kinds that Kubernetes itself does not know.
FOREIGN = {"Kustomization", "ServiceMonitor"}


def flaws(folder, settings):
    """Lines about manifests that Kubernetes would refuse, and about names that lead nowhere."""
    found = []
    for path in sorted(folder.rglob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            place = f"{path.relative_to(folder)}: {document['kind']}"
            found.append((place, document))
            if document["kind"] not in FOREIGN:
                yield from schema_flaws(place, document)
            if document["kind"] == "Kustomization":
                yield from (f"{place} names {name}, which is not there" for name in document["resources"]
                            if not (path.parent / name).is_file())
    yield from reference_flaws([document for _, document in found], settings)
    for place, document in found:
        if "template" in document.get("spec", {}):
            yield from hardening_flaws(place, document["spec"]["template"]["spec"])


def schema_flaws(place, document):
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"{place}, Kubernetes {version}: {'.'.join(map(str, error.path))}: {error.message}"


def reference_flaws(documents, settings):
    of_kind = lambda kind: [document for document in documents if document["kind"] == kind]  # noqa: E731
    pods = [document["spec"]["template"] for document in of_kind("Deployment") + of_kind("Job")]
    gateway = of_kind("Deployment")[0]["spec"]
    container = gateway["template"]["spec"]["containers"][0]
    ports = {port["name"] for port in container["ports"]}
    labels = [pod["metadata"]["labels"] for pod in pods]
    keys = {secret["metadata"]["name"]: set(secret["stringData"]) for secret in of_kind("Secret")}

    for kind in ("Service", "PodDisruptionBudget", "NetworkPolicy"):
        for document in of_kind(kind):
            spec = document["spec"]
            selector = spec["podSelector"] if kind == "NetworkPolicy" else spec["selector"]
            if not any(selects(selector.get("matchLabels", selector), each) for each in labels):
                yield f"the {kind} {document['metadata']['name']} selects no pod"
    for service in of_kind("Service"):
        yield from (f"the Service {service['metadata']['name']} leads to no port {port['targetPort']}"
                    for port in service["spec"]["ports"] if port["targetPort"] not in ports)
        if service["spec"]["type"] != "ClusterIP":
            yield f"the Service {service['metadata']['name']} is reachable from outside"
    for monitor in of_kind("ServiceMonitor"):
        chosen = [service for service in of_kind("Service")
                  if selects(monitor["spec"]["selector"]["matchLabels"], service["metadata"]["labels"])]
        offered = {port["name"] for service in chosen for port in service["spec"]["ports"]}
        yield from (f"the ServiceMonitor finds no port {endpoint['port']}" for endpoint in monitor["spec"]["endpoints"]
                    if endpoint["port"] not in offered)
        if any(service["metadata"]["labels"][monitor["spec"]["jobLabel"]] != "sluice" for service in chosen):
            yield "the ServiceMonitor does not call its job sluice"

    if len({pod["spec"]["containers"][0]["image"] for pod in pods}) != 1:
        yield "the gateway and the jobs have different images"
    known = set(re.findall(r"`(SLUICE_[A-Z_]+)`", settings.read_text()))
    named = {variable["name"] for pod in pods for variable in pod["spec"]["containers"][0].get("env", [])}
    named |= {name for document in of_kind("ConfigMap") for name in document["data"] if name.startswith("SLUICE_")}
    yield from (f"{name} is no setting of {settings.name}" for name in sorted(named - known))
    # An example is public. Both keys have 32 characters or more.
    yield from (f"the Secret {secret['metadata']['name']} has a {key} that a gateway takes" for secret in of_kind("Secret")
                for key in ("master-key", "bootstrap-admin-key") if len(secret["stringData"].get(key, "")) >= 32)
    for pod in pods:
        yield from secret_flaws(pod["spec"], keys, {each["metadata"]["name"] for each in of_kind("ConfigMap")})

    told = {variable["name"]: variable.get("value") for variable in container["env"]}
    drain = int(told["SLUICE_HTTP_DRAIN_DELAY"]) + int(told["SLUICE_HTTP_DRAIN_DEADLINE"])
    if gateway["template"]["spec"]["terminationGracePeriodSeconds"] < drain + 10:
        yield f"pods are killed before they have ended, which takes up to {drain + 10} seconds"
    probe = container["readinessProbe"]
    if int(told["SLUICE_HTTP_DRAIN_DELAY"]) < probe["periodSeconds"] * (probe["failureThreshold"] + 1):
        yield "listeners close before the probe has seen that the gateway ends"
    paths = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    if paths != {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}:
        yield f"the probes ask {paths}"


def secret_flaws(pod, keys, configurations):
    """Secrets and ConfigMaps that a pod names and no example has."""
    for volume in pod["volumes"]:
        if "secret" in volume:
            name = volume["secret"]["secretName"]
            wanted = {item["key"] for item in volume["secret"].get("items", [])}
            yield from (f"the Secret {name} has no {key}" for key in sorted(wanted - keys.get(name, set())))
            if name not in keys:
                yield f"there is no Secret {name}"
        elif volume["configMap"]["name"] not in configurations:
            yield f"there is no ConfigMap {volume['configMap']['name']}"
    container = pod["containers"][0]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    yield from (f"the volume {volume['name']} is not mounted" for volume in pod["volumes"] if volume["name"] not in mounted)
    for variable in container["env"]:
        source = variable.get("valueFrom", {}).get("secretKeyRef")
        if source and source["key"] not in keys.get(source["name"], set()):
            yield f"the Secret {source['name']} has no {source['key']}"


def hardening_flaws(place, pod):
    """What a pod may do that the program does not need."""
    context = pod["securityContext"]
    container = pod["containers"][0]
    expected = {
        "runs as root": context.get("runAsNonRoot") is True and context.get("runAsUser", 0) > 0,
        "has no profile of seccomp": context.get("seccompProfile") == {"type": "RuntimeDefault"},
        "gets a token of Kubernetes": pod.get("automountServiceAccountToken") is False,
        "may write its root file system": container["securityContext"].get("readOnlyRootFilesystem") is True,
        "may gain privileges": container["securityContext"].get("allowPrivilegeEscalation") is False,
        "has capabilities": container["securityContext"].get("capabilities") == {"drop": ["ALL"]},
        "may use all memory": "memory" in container["resources"].get("limits", {}),
    }
    yield from (f"{place} {flaw}" for flaw, holds in expected.items() if not holds)


def selects(selector, labels):
    return selector.items() <= labels.items()
