# SPDX-License-Identifier: Apache-2.0
"""Models to record: programs in PyTorch with random weights and input.

Each build(batch) sets a program up on the device and returns {workload: request}: a function
for one request. It returns a network's answer, the loss of one in training, or a decoder's
token, which is also the place of the next one. Input and weights stay in the device's memory.
"""
from typing import Callable, NamedTuple

DEVICE = "cuda"

ENCODER_LAYERS, ENCODER_HIDDEN, ENCODER_HEADS, ENCODER_SEQUENCE = 6, 512, 8, 128
LAYERS, HIDDEN, HEADS, VOCABULARY = 12, 768, 12, 32000
PROMPT = 128        # tokens that come at once
ROOM = 256          # places in the decoder's cache


class Model(NamedTuple):
    """@what has a text for each workload; a model that is not @graph always runs eagerly."""
    what: dict
    build: Callable
    batch: int = 1
    graph: bool = True
    precision: str = "half"


def network(name, side=224, **options):
    """torchvision's network of that name, as it answers."""
    def build(batch):
        import torch
        import torchvision
        with torch.device(DEVICE):
            net = getattr(torchvision.models, name)(weights=None, **options).eval().half()
            images = torch.randn(batch, 3, side, side).half()
        return {name: torch.no_grad()(lambda: net(images))}
    return Model({name: f"torchvision {name}"}, build)


def training(name):
    """torchvision's network of that name, in training: products in half precision, as is usual,
    weights in single."""
    def build(batch):
        import torch
        import torchvision
        with torch.device(DEVICE):
            net = getattr(torchvision.models, name)(weights=None).train()
            images = torch.randn(batch, 3, 224, 224)
            labels = torch.randint(1000, (batch,))
        descent = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)

        def step():
            with torch.autocast(DEVICE, dtype=torch.half):
                loss = torch.nn.functional.cross_entropy(net(images), labels)
            descent.zero_grad()
            loss.backward()
            descent.step()
            return loss.detach()
        return {f"train-{name}": step}
    return Model({f"train-{name}": f"torchvision {name} training"}, build, batch=8, graph=False,
                 precision="mixed")


def encoder(batch):
    import torch
    with torch.device(DEVICE):
        layer = torch.nn.TransformerEncoderLayer(ENCODER_HIDDEN, ENCODER_HEADS, batch_first=True)
        net = torch.nn.TransformerEncoder(layer, ENCODER_LAYERS, enable_nested_tensor=False)
        words = torch.randn(batch, ENCODER_SEQUENCE, ENCODER_HIDDEN).half()
    net = net.eval().half()
    return {"encoder6": torch.no_grad()(lambda: net(words))}


def decoder(batch):
    """Token by token, each from those before. A cache of fixed size keeps their keys and values,
    so that a graph can be used again at the next place. At its end the place starts again."""
    import torch
    from torch.nn import functional

    def weights(*shape):
        return (0.02 * torch.randn(*shape, device=DEVICE)).half()

    def cache():
        return torch.zeros(batch, HEADS, ROOM, HIDDEN // HEADS, device=DEVICE).half()

    words, places = weights(VOCABULARY, HIDDEN), weights(ROOM, HIDDEN)
    layers = [(weights(3 * HIDDEN, HIDDEN), weights(HIDDEN, HIDDEN), weights(4 * HIDDEN, HIDDEN),
               weights(HIDDEN, 4 * HIDDEN), cache(), cache()) for _ in range(LAYERS)]
    room = torch.arange(ROOM, device=DEVICE)
    prompt = torch.randint(VOCABULARY, (batch, PROMPT), device=DEVICE)
    token = torch.zeros(batch, 1, dtype=torch.long, device=DEVICE)
    place = torch.zeros(1, dtype=torch.long, device=DEVICE)

    def norm(x):
        return functional.layer_norm(x, (HIDDEN,))

    def forward(tokens, at, reach):
        """The token after @tokens, which are at the places @at, of the cache's first @reach."""
        mask = room[:reach] <= at[:, None]
        x = words[tokens] + places[at]
        for qkv, out, up, down, keys, values in layers:
            q, k, v = functional.linear(norm(x), qkv).view(
                batch, -1, 3, HEADS, HIDDEN // HEADS).permute(2, 0, 3, 1, 4)
            keys.index_copy_(2, at, k)
            values.index_copy_(2, at, v)
            seen = functional.scaled_dot_product_attention(
                q, keys[:, :, :reach], values[:, :, :reach], attn_mask=mask)
            x = x + functional.linear(seen.transpose(1, 2).reshape(batch, -1, HIDDEN), out)
            x = x + functional.linear(functional.gelu(functional.linear(norm(x), up)), down)
        token.copy_(functional.linear(norm(x[:, -1:]), words).argmax(-1))

    @torch.no_grad()
    def prefill():
        forward(prompt, room[:PROMPT], PROMPT)
        place.fill_(PROMPT)
        return token

    @torch.no_grad()
    def step():
        forward(token, place, ROOM)
        place.add_(1).remainder_(ROOM)
        return token

    return {"decoder-prefill": prefill, "decoder-step": step}


def gpt2_medium(batch):
    """Hugging Face's GPT-2 medium, in its own decoding: its cache grows by a token each time."""
    import torch
    import transformers
    config = transformers.GPT2Config(n_embd=1024, n_layer=24, n_head=16)
    with torch.device(DEVICE):
        net = transformers.GPT2LMHeadModel(config).half().eval()
        prompt = torch.randint(config.vocab_size, (batch, PROMPT))
    last = {}

    def forward(tokens, cache):
        found = net(tokens, past_key_values=cache, use_cache=True)
        last.update(token=found.logits[:, -1:].argmax(-1), cache=found.past_key_values)
        return last["token"]

    return {"gpt2-prefill": torch.no_grad()(lambda: forward(prompt, None)),
            "gpt2-step": torch.no_grad()(lambda: forward(last["token"], last["cache"]))}


def train_llama(batch):
    """Hugging Face's Llama with 16 layers, hidden 1024, in training on sequences of 512."""
    import torch
    import transformers
    config = transformers.LlamaConfig(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=16, num_attention_heads=16,
        num_key_value_heads=16, vocab_size=VOCABULARY)
    with torch.device(DEVICE):
        net = transformers.LlamaForCausalLM(config).train()
        tokens = torch.randint(VOCABULARY, (batch, 512))
    descent = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)

    def step():
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = net(input_ids=tokens, labels=tokens).loss
        descent.zero_grad()
        loss.backward()
        descent.step()
        return loss.detach()
    return {"train-llama": step}


ENCODER = (f"transformer encoder, {ENCODER_LAYERS} layers, hidden {ENCODER_HIDDEN}, "
           f"{ENCODER_HEADS} heads, sequence {ENCODER_SEQUENCE}")
DECODER = f"transformer decoder, {LAYERS} layers, hidden {HIDDEN}, {HEADS} heads, "

MODELS = {
    "vgg19": network("vgg19"),
    "resnet18": network("resnet18"),
    "resnet34": network("resnet34"),
    "resnet50": network("resnet50"),
    "resnet152": network("resnet152"),
    "densenet121": network("densenet121"),
    "densenet201": network("densenet201"),
    "googlenet": network("googlenet", aux_logits=False, init_weights=False),
    "inception_v3": network("inception_v3", 299, aux_logits=False, init_weights=False),
    "mobilenet_v2": network("mobilenet_v2"),
    "squeezenet1_1": network("squeezenet1_1"),
    "encoder6": Model({"encoder6": ENCODER}, encoder),
    "train:resnet50": training("resnet50"),
    "train:resnet152": training("resnet152"),
    "train:vgg19": training("vgg19"),
    "train:llama": Model({"train-llama": "Llama training, 16 layers, hidden 1024, sequence 512"},
                         train_llama, batch=8, graph=False, precision="mixed"),
    "gpt2": Model({"gpt2-prefill": f"GPT-2 medium, {PROMPT} tokens at once",
                   "gpt2-step": "GPT-2 medium, a token"}, gpt2_medium, graph=False),
    "decoder": Model({"decoder-prefill": DECODER + f"{PROMPT} tokens at once",
                      "decoder-step": DECODER + f"a token, of a cache of {ROOM}"}, decoder),
}
