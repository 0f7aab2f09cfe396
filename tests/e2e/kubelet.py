# SPDX-License-Identifier: Apache-2.0
"""A test's kubelet: it runs pods of one container by containerd's CRI. Each line of its input is
a pod as JSON, and the answer is the container's id. A line with an id ends that pod."""
import json
import os
import sys

import grpc
from grpc_tools import protoc

# The part of CRI's v1 that this needs.
PROTO = """
syntax = "proto3";
package runtime.v1;
message Name { string name = 1; string uid = 2; string namespace = 3; uint32 attempt = 4; }
message Spaces { int32 network = 1; int32 pid = 2; int32 ipc = 3; }
message Security { Spaces spaces = 1; }
message Linux { string cgroup_parent = 1; Security security = 2; }
message Sandbox {
  Name name = 1; string hostname = 2; string log_directory = 3;
  map<string, string> annotations = 7; Linux linux = 8;
}
message RunRequest { Sandbox config = 1; }
message RunReply { string id = 1; }
message ContainerName { string name = 1; uint32 attempt = 2; }
message Image { string image = 1; }
message Env { string key = 1; string value = 2; }
message Mount { string container_path = 1; string host_path = 2; bool readonly = 3; }
message Device { string name = 1; }
message Container {
  ContainerName name = 1; Image image = 2; repeated string command = 3;
  repeated Env envs = 6; repeated Mount mounts = 7; map<string, string> annotations = 10;
  string log_path = 11; repeated Device cdi_devices = 17;
}
message CreateRequest { string pod = 1; Container config = 2; Sandbox sandbox = 3; }
message Id { string id = 1; }
message Nothing {}
service RuntimeService {
  rpc RunPodSandbox(RunRequest) returns (RunReply);
  rpc CreateContainer(CreateRequest) returns (Id);
  rpc StartContainer(Id) returns (Nothing);
  rpc StopPodSandbox(Id) returns (Nothing);
  rpc RemovePodSandbox(Id) returns (Nothing);
}
"""
NODE = 2    # of Spaces: the network of the machine


def compiled(folder):
    with open(os.path.join(folder, "cri.proto"), "w") as f:
        f.write(PROTO)
    protoc.main(["protoc", f"-I{folder}", f"--python_out={folder}", f"--grpc_python_out={folder}",
                 f"{folder}/cri.proto"])
    sys.path.insert(0, folder)
    import cri_pb2
    import cri_pb2_grpc
    return cri_pb2, cri_pb2_grpc


def main():
    path, folder = sys.argv[1:]
    cri, services = compiled(folder)
    runtime = services.RuntimeServiceStub(grpc.insecure_channel(f"unix://{path}"))
    pods = {}
    for line in sys.stdin:
        pod = json.loads(line)
        if isinstance(pod, str):
            runtime.StopPodSandbox(cri.Id(id=pods[pod]))
            runtime.RemovePodSandbox(cri.Id(id=pods[pod]))
            print(flush=True)
            continue
        sandbox = cri.Sandbox(
            name=cri.Name(name=pod["name"], uid=pod["name"], namespace=pod["namespace"]),
            log_directory=folder, annotations=pod["annotations"],
            linux=cri.Linux(cgroup_parent=f"/kubepods/burstable/pod{pod['name']}",
                            security=cri.Security(spaces=cri.Spaces(network=NODE))))
        sandbox_id = runtime.RunPodSandbox(cri.RunRequest(config=sandbox)).id
        container = cri.Container(
            name=cri.ContainerName(name="main"), image=cri.Image(image=pod["image"]),
            command=pod["command"], log_path=f"{pod['name']}.log",
            cdi_devices=[cri.Device(name=name) for name in pod["devices"]],
            envs=[cri.Env(key=key, value=value) for key, value in pod["env"].items()],
            mounts=[cri.Mount(host_path=at, container_path=to) for at, to in pod["mounts"].items()])
        made = runtime.CreateContainer(cri.CreateRequest(pod=sandbox_id, config=container,
                                                         sandbox=sandbox))
        runtime.StartContainer(made)
        pods[made.id] = sandbox_id
        print(made.id, flush=True)


main()
