"""Three steps of a GPT in PyTorch: two layers of 256 channels and four heads, 16 of 512 tokens, AdamW. Prints losses, then seconds a step."""

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS, LENGTH, WIDTH, HEADS, LAYERS, STEPS = 512, 16, 256, 4, 2, 3
torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        parts = self.qkv(self.before(x)).view(LENGTH, 3, HEADS, WIDTH // HEADS).permute(1, 2, 0, 3)
        seen = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(seen.transpose(0, 1).reshape(LENGTH, WIDTH))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(TOKENS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.layers, self.last = nn.Sequential(*(Layer() for _ in range(LAYERS))), nn.LayerNorm(WIDTH)

    def forward(self, ids):
        x = self.tokens(ids) + self.places.weight
        return self.last(self.layers(x)) @ self.tokens.weight.T


net, ids = Gpt().cuda(), torch.randint(0, TOKENS, (LENGTH + 1,)).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
loss_of = torch.compile(lambda: F.cross_entropy(net(ids[:-1]), ids[1:]))
losses = []
for step in range(STEPS):
    if step == 1:
        # What the first step brings to the GPU, and allocates, is not counted.
        start = torch.cuda.Event(enable_timing=True)
        start.record()
    optimizer.zero_grad()
    losses.append(loss_of())
    losses[-1].backward()
    optimizer.step()
end = torch.cuda.Event(enable_timing=True)
end.record()
end.synchronize()
print(*(loss.item() for loss in losses))
print(start.elapsed_time(end) / 1e3 / (STEPS - 1))
